"""A reply's text as data: one JSON object, bare, in a fence or amid prose, with the code in it or beside it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite
from typing import Literal

import msgspec

from ncu_assist.drafts.records import Claim, Prediction, Quoted
from ncu_assist.suggest.reply.blocks import Code, code_of
from ncu_assist.suggest.reply.finding import find_object
from ncu_assist.suggest.reply.records import Edit, Reply, UnusableReply

# Characters. The longest reply that makes sense is a file of SOURCE_LIMIT with as much thought before it.
REPLY_LIMIT = 1_000_000
MOST_SAID = 2_000  # characters of a sentence
MOST_LISTED = 50  # pieces of evidence, predictions, edits: more than the evidence table has rows
SLUG_LIMIT = 40  # characters: with vN_ and its suffix it stays a name that a table can show
_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)  # what some models show of themselves


@dataclass(frozen=True)
class _Quoted:
    id: str
    value: float | None = None


@dataclass(frozen=True)
class _Predicted:
    metric: str
    direction: Literal["up", "down"]
    factor: float | None = None


@dataclass(frozen=True)
class _Object:
    """The object as it is asked for; what else is in it is passed over."""

    bottleneck: str
    change: str
    evidence: tuple[_Quoted | str, ...] = ()
    slug: str = ""
    predictions: tuple[_Predicted, ...] = ()
    expected_speedup: float | None = None
    source: str | None = None
    edits: tuple[Edit, ...] | None = None


def read_reply(text: str) -> Reply:
    """Return a reply as data; nothing in it is run, obeyed or looked up.

    Raises UnusableReply, with the reason in plain words, for whatever leaves open which one file was meant: nothing,
    prose, JSON that is cut off or of another form, two files, a file and edits, neither; and for what is far too long.
    """
    if len(text) > REPLY_LIMIT:
        raise UnusableReply(f"it has {len(text):,} characters, and {REPLY_LIMIT:,} are the most that is read")
    text = _THOUGHT.sub("", text.removeprefix("\ufeff"))
    if not text.strip():
        raise UnusableReply("it is empty")
    found = find_object(text)
    stated = _typed(found.value)
    code = code_of(found.rest)
    source, edits = _one_form(stated, code)
    return Reply(_claim(stated), source, edits)


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


def _one_form(stated: _Object, code: Code) -> tuple[str | None, tuple[Edit, ...]]:
    """Return the source or the edits that a reply gives; raises UnusableReply where that is not one of them, once."""
    given = [one for one in (stated.source, *code.sources) if one and one.strip()]
    sources = list({one.strip(): one for one in reversed(given)}.values())  # one file said twice is one file
    edits = (*(stated.edits or ()), *code.edits)
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
    quoted = (one if isinstance(one, _Quoted) else _Quoted(one) for one in stated.evidence)
    return Claim(
        bottleneck=_short(stated.bottleneck),
        change=_short(stated.change),
        slug=slug_of(stated.slug) or slug_of(" ".join(stated.change.split()[:4])) or "draft",
        evidence=tuple(Quoted(_short(one.id), one.value) for one in quoted),
        predictions=tuple(Prediction(_short(p.metric), p.direction, p.factor) for p in stated.predictions),
        expected_speedup=stated.expected_speedup,
    )


def _short(text: str) -> str:
    stripped = text.strip()
    return stripped if len(stripped) <= MOST_SAID else f"{stripped[: MOST_SAID - 1]}…"


def slug_of(text: str) -> str:
    """Return text as part of a file name: lower case, digits and underscores, at most SLUG_LIMIT; may be empty."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower())[:SLUG_LIMIT].strip("_")
