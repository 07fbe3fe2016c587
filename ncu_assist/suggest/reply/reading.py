"""A reply's text as data: one JSON object, bare, in a fence or amid prose, with the code in it or beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, NoReturn

import msgspec

from ncu_assist.store.draft_records import Claim, MetricPrediction, QuotedEvidence
from ncu_assist.suggest.reply.form import Edit, ParsedReply, UnusableReply

# Characters. The longest reply that makes sense is a file of SOURCE_LIMIT with as much thought before it.
REPLY_LIMIT = 1_000_000
MOST_SAID = 2_000  # characters of a sentence
MOST_LISTED = 50  # pieces of evidence, predictions, edits: more than the evidence table has rows
SLUG_LIMIT = 40  # characters: with vN_ and its suffix it stays a name that a table can show
_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)  # what some models show of themselves
KEYS = ("bottleneck", "change")  # by which the object is told from one in the code or the prose
MOST_TRIES = 200  # places where an object could start: code has few braces with a quote behind them
_START = re.compile(r'\{\s*"')
CUT = "its JSON ends in the middle, so the reply was cut off"
LANGUAGES = ("", "cuda", "cu", "cuh", "c", "cpp", "c++", "cxx", "cc", "python", "py", "python3", "triton")
_FENCE = re.compile(r"^ {0,3}(?P<ticks>`{3,}|~{3,})[ \t]*(?P<word>[^\s`]*)[^\n`]*$")
_MARKS = ("<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE")
_FORM = f"an edit is a line '{_MARKS[0]}', the old lines, '{_MARKS[1]}', the new lines, '{_MARKS[2]}'"


@dataclass(frozen=True)
class _Object:
    """The object as it is asked for; what else is in it is passed over."""

    bottleneck: str
    change: str
    evidence: tuple[QuotedEvidence | str, ...] = ()
    slug: str = ""
    predictions: tuple[MetricPrediction, ...] = ()
    expected_speedup: float | None = None
    source: str | None = None
    edits: tuple[Edit, ...] | None = None


def read_reply(text: str) -> ParsedReply:
    """Return a reply as data; nothing in it is run, obeyed or looked up.

    Raises UnusableReply, with the reason in plain words, for whatever leaves open which one file was meant: nothing,
    prose, JSON that is cut off or of another form, two files, a file and edits, neither; and for what is far too long.
    """
    if len(text) > REPLY_LIMIT:
        raise UnusableReply(f"it has {len(text):,} characters, and {REPLY_LIMIT:,} are the most that is read")
    text = _THOUGHT.sub("", text.removeprefix("\ufeff"))
    if not text.strip():
        raise UnusableReply("it is empty")
    value, rest = find_object(text)
    stated = _typed(value)
    source, edits = _one_form(stated, *code_of(rest))
    return ParsedReply(_claim(stated), source, edits)


def _typed(value: object) -> _Object:
    try:
        stated = msgspec.convert(value, type=_Object)
        msgspec.json.encode(stated)  # which fails for half a surrogate pair, that no file can hold
    except msgspec.ValidationError as error:
        raise UnusableReply(f"its JSON is not of the form asked for: {error}") from error
    except UnicodeEncodeError as error:
        raise UnusableReply("its JSON has characters that are none (lone surrogates)") from error
    sizes = (len(stated.evidence), len(stated.predictions), len(stated.edits or ()))
    if max(sizes) > MOST_LISTED:
        raise UnusableReply(f"its JSON lists {max(sizes)} things in one place, and {MOST_LISTED} are the most")
    numbers = (stated.expected_speedup, *(one.factor for one in stated.predictions))
    if not all(number is None or isfinite(number) for number in numbers):
        raise UnusableReply("its JSON has a number that is infinite")
    if not stated.change.strip():
        raise UnusableReply("its JSON does not say what is changed")
    return stated


def _one_form(
    stated: _Object, files: tuple[str, ...], changes: tuple[Edit, ...]
) -> tuple[str | None, tuple[Edit, ...]]:
    """Return the source or the edits that a reply gives; raises UnusableReply where that is not one of them, once."""
    given = [one for one in (stated.source, *files) if one and one.strip()]
    sources = list({one.strip(): one for one in reversed(given)}.values())  # one file said twice is one file
    edits = (*(stated.edits or ()), *changes)
    if len(sources) > 1:
        raise UnusableReply(f"it has {len(sources)} whole files, and does not say which one is meant")
    if sources and edits:
        raise UnusableReply("it has both a whole file and edits, where there must be one of the two")
    if not sources and not edits:
        raise UnusableReply("it has no code: neither a whole file nor edits")
    if len(edits) > MOST_LISTED:
        raise UnusableReply(f"it has {len(edits)} edits, and {MOST_LISTED} are the most; give the whole file")
    return (sources[0] if sources else None), edits


def _claim(stated: _Object) -> Claim:
    quoted = (one if isinstance(one, QuotedEvidence) else QuotedEvidence(one) for one in stated.evidence)
    return Claim(
        bottleneck=_short(stated.bottleneck),
        change=_short(stated.change),
        slug=slug_of(stated.slug) or slug_of(" ".join(stated.change.split()[:4])) or "draft",
        evidence=tuple(replace(one, id=_short(one.id)) for one in quoted),
        predictions=tuple(replace(one, metric=_short(one.metric)) for one in stated.predictions),
        expected_speedup=stated.expected_speedup,
    )


def _short(text: str) -> str:
    stripped = text.strip()
    return stripped if len(stripped) <= MOST_SAID else f"{stripped[: MOST_SAID - 1]}…"


def slug_of(text: str) -> str:
    """Return text as part of a file name: lower case, digits and underscores, at most SLUG_LIMIT; may be empty."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower())[:SLUG_LIMIT].strip("_")


def find_object(text: str) -> tuple[dict[str, Any], str]:
    """Return the one object of a reply, and the text without it.

    Raises UnusableReply for none, two, one that is cut off or is no JSON.
    """
    found: list[tuple[dict[str, Any], str]] = []
    problem, after = "", 0
    for place in list(_START.finditer(text))[:MOST_TRIES]:
        if place.start() < after:
            continue
        try:
            value, end = _DECODER.raw_decode(text, place.start())
        except (ValueError, RecursionError) as error:
            problem = problem or _json_problem(error, text, place.start())
            continue
        after = end
        if all(key in value for key in KEYS):
            found.append((value, text[: place.start()] + text[end:]))
    if len(found) > 1:
        raise UnusableReply(f"it has {len(found)} JSON objects that each claim a change, where there must be one")
    if not found:
        raise UnusableReply(problem or _nothing(text))
    return found[0]


def _json_problem(error: Exception, text: str, start: int) -> str:
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


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


# Not strict: models write line ends into strings as they are, and what is meant is plain.
_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)


def code_of(text: str) -> tuple[tuple[str, ...], tuple[Edit, ...]]:
    """Return the whole files in a reply's text, one each block, and its edits.

    A block is code where its language is one of ours or is not named; its content is never looked into but for edits.
    Raises UnusableReply for a block that is not closed.
    """
    edits, rest = _edits(text)
    sources = tuple(content for word, content in _blocks(rest) if word.lower() in LANGUAGES and content.strip())
    return sources, tuple(edits)


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield language and content of the fenced blocks; as in Markdown, only a fence as long as the first closes it."""
    ticks, word = "", ""
    lines: list[str] = []
    for line in text.split("\n"):
        fence = _FENCE.match(line.rstrip("\r"))
        if not ticks:
            if fence:
                ticks, word, lines = fence["ticks"], fence["word"], []
        elif fence and not fence["word"] and fence["ticks"].startswith(ticks):
            yield word, "".join(f"{one}\n" for one in lines)
            ticks = ""
        else:
            lines.append(line)
    if ticks and "".join(lines).strip():
        raise UnusableReply("its last block of code is not closed, so the reply was cut off")


def _edits(text: str) -> tuple[list[Edit], str]:
    """Return the edits of a text, and the text without them."""
    edits: list[Edit] = []
    rest: list[str] = []
    state = -1
    parts: tuple[list[str], list[str]] = ([], [])
    for line in text.split("\n"):
        mark = next((place for place, one in enumerate(_MARKS) if line.rstrip() == one), None)
        if mark is None or (mark == 1 and state != 0):
            (rest if state < 0 else parts[state]).append(line)
        elif mark != state + 1:
            raise UnusableReply(f"its edits are not in the form asked for: {_FORM}")
        elif mark < 2:
            state, parts = mark, parts if mark else ([], [])
        else:
            edits.append(Edit(*("".join(f"{one}\n" for one in part) for part in parts)))
            state = -1
    if state >= 0:
        raise UnusableReply("its last edit is not closed, so the reply was cut off")
    return edits, "\n".join(rest)
