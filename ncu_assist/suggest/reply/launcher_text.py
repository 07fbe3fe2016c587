"""A CUDA source as text: without its comments, and the parameters of a function that it defines."""

from __future__ import annotations

import re
from itertools import islice

# What is not closed goes on to the end: looking for it again from each later place would take the square of the time.
_COMMENT = re.compile(r'//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)|("(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?)', re.DOTALL)
MOST_PLACES = 50  # at which a name is looked at: a launcher is defined once and called nowhere
_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}


def without_comments(source: str) -> str:
    """Return a source with a space for each comment; what looks like one in a string stays."""
    return _COMMENT.sub(lambda found: found[1] or " ", source)


def launchers(text: str, name: str) -> list[tuple[str, ...]]:
    """Return the parameters of each definition of a function: its name, parameters, and a body behind them."""
    found = []
    for place in islice(re.finditer(rf"\b{re.escape(name)}\s*\(", text), MOST_PLACES):
        end = _closing(text, place.end())
        if end is not None and text[end + 1 :].lstrip()[:1] == "{":
            found.append(_parts(text[place.end() : end]))
    return found


def _closing(text: str, start: int) -> int | None:
    """Return where the parenthesis that was opened before ``start`` is closed; None where it is not."""
    depth = 1
    for place in re.finditer(r"[()]", text[start:]):
        depth += 1 if place[0] == "(" else -1
        if depth == 0:
            return start + place.start()
    return None


def _parts(parameters: str) -> tuple[str, ...]:
    """Return a list of parameters at its outer commas."""
    parts, depth = [""], 0
    for letter in parameters:
        depth += (letter in _PAIRS) - (letter in _PAIRS.values())
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    stripped = tuple(part.strip() for part in parts)
    return () if stripped in (("",), ("void",)) else stripped
