"""Where in a reply the one JSON object stands, whatever stands around it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from ncu_assist.suggest.reply.records import UnusableReply

KEYS = ("bottleneck", "change")  # by which the object is told from one in the code or the prose
MOST_TRIES = 200  # places where an object could start: code has few braces with a quote behind them
_START = re.compile(r'\{\s*"')
CUT = "its JSON ends in the middle, so the reply was cut off"


@dataclass(frozen=True)
class Found:
    """The object, and the text of the reply without it."""

    value: dict[str, Any]
    rest: str


def find_object(text: str) -> Found:
    """Return the one object of a reply; raises UnusableReply for none, two, one that is cut off or is no JSON."""
    found: list[Found] = []
    problem, after = "", 0
    for place in list(_START.finditer(text))[:MOST_TRIES]:
        if place.start() < after:
            continue
        try:
            value, end = _DECODER.raw_decode(text, place.start())
        except (ValueError, RecursionError) as error:
            problem = problem or _problem(error, text, place.start())
            continue
        after = end
        if all(key in value for key in KEYS):
            found.append(Found(value, text[: place.start()] + text[end:]))
    if len(found) > 1:
        raise UnusableReply(f"it has {len(found)} JSON objects that each claim a change, where there must be one")
    if not found:
        raise UnusableReply(problem or _nothing(text))
    return found[0]


def _problem(error: Exception, text: str, start: int) -> str:
    """Return what is wrong with JSON that could be the object; empty where it never was one."""
    if not any(f'"{key}"' in text[start:] for key in KEYS):
        return ""
    if isinstance(error, RecursionError):
        return "its JSON is nested too deeply"
    if not isinstance(error, json.JSONDecodeError):
        return f"its JSON cannot be read: {error}"
    if error.msg.startswith("Unterminated") or error.pos >= len(text.rstrip().rstrip("`").rstrip()):
        return CUT
    return f"its JSON cannot be read: {error.msg} at line {error.lineno}"


def _nothing(text: str) -> str:
    stripped = text.strip()
    if stripped[:1] in "[{" and stripped[-1:] in "]}":
        return f"its JSON is not the object asked for: it lacks {' and '.join(map(repr, KEYS))}"
    if "```" in text:
        return "it has a block of code, but no JSON object that says what is changed and why"
    return "it is prose, with no JSON object and no code in it"


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


# Not strict: models write line ends into strings as they are, and what is meant is plain.
_DECODER = json.JSONDecoder(strict=False, parse_constant=_refused)
