"""Whether the text of a reply has the form that was asked for."""

from __future__ import annotations

import json
import re

from ncu_assist.suggest.model.records import Rung

THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)  # of servers that do not part them from the reply
FENCE = "```"


def without_thoughts(text: str) -> str:
    """Return ``text`` without the reasoning that some servers leave in front of it."""
    return THOUGHTS.sub("", text, count=1)


def rung_of(text: str, asked: Rung) -> Rung | None:
    """Return the rung that ``text`` was written for: the one asked for, or fences; None for neither."""
    if asked == "fences" or _is_object(text):
        return asked
    return "fences" if FENCE in text else None


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
