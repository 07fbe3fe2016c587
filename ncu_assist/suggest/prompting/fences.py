"""Fences around text from kernels and people: longer than any run of backticks inside, so that none can close them."""

from __future__ import annotations

import re

from ncu_assist.render.escape import plain

SHORTEST = 3
TICKS = re.compile(r"`+")


def fenced(text: str, language: str = "text") -> str:
    """Return text in a fence that it cannot close."""
    longest = max((len(run) for run in TICKS.findall(text)), default=0)
    fence = "`" * max(SHORTEST, longest + 1)
    return f"{fence}{language}\n{plain(text)}\n{fence}"


def quoted(text: str) -> str:
    """Return a short text as code in a line, without the backticks in it."""
    return f"`{TICKS.sub(chr(39), plain(text))}`"
