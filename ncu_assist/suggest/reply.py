"""Parse a reply: one JSON object, bare, in a fence or within prose, with the code inside or next to it."""

from __future__ import annotations

import ast
import difflib
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import isfinite
from typing import Any, NoReturn

import msgspec

from ncu_assist.backends.cuda import split_parameters, without_comments
from ncu_assist.backends.torch_extension import TORCH_HEADER
from ncu_assist.errors import NcuAssistError, cut
from ncu_assist.quantity import number_of
from ncu_assist.sources import HEADER_COMMENT
from ncu_assist.spec import Kernel, python_tree
from ncu_assist.store.drafts import Claim, MetricPrediction, QuotedEvidence
from ncu_assist.suggest.evidence.records import EvidenceItem

_NUMBER = {"type": ["number", "null"]}


def _object_schema(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _described(description: str, kind: str = "string") -> dict[str, Any]:
    return {"type": kind, "description": description}


_QUOTED_SCHEMA = _object_schema(
    id=_described("id of a row of the evidence table, such as E3"),
    value={**_NUMBER, "description": "the number that you rely on, as it stands there; null for none"},
)
_PREDICTION = _object_schema(
    metric=_described("name of a metric as the evidence table has it"),
    direction={"type": "string", "enum": ["up", "down"]},
    factor={**_NUMBER, "description": "value after the change over value before; null where you cannot tell"},
)
_EDIT_SCHEMA = _object_schema(
    search=_described("lines of the current source, copied exactly; they must stand there exactly once"),
    replace=_described("what stands there instead"),
)
_STRINGS_OR_NULL = ["string", "null"]
REPLY_SCHEMA: dict[str, Any] = _object_schema(
    bottleneck=_described("what limits the kernel now, in one sentence"),
    evidence={"type": "array", "items": _QUOTED_SCHEMA, "description": "the rows that show it"},
    change=_described("the one change that you make, in one sentence"),
    slug=_described("two or three words for a file name, in snake_case"),
    predictions={"type": "array", "items": _PREDICTION, "description": "which metrics will move, and how"},
    expected_speedup={**_NUMBER, "description": "time before over time after; null where you cannot tell"},
    source={"type": _STRINGS_OR_NULL, "description": "the whole new file; null if you give edits"},
    edits={"type": ["array", "null"], "items": _EDIT_SCHEMA, "description": "null if you give the whole file"},
)


@dataclass(frozen=True)
class Edit:
    """One replacement: ``search`` occurs exactly once in the parent's source."""

    search: str
    replace: str


@dataclass(frozen=True)
class ParsedReply:
    """A parsed reply: either ``source``, the whole new file, or ``edits`` to the parent's file, never both."""

    claim: Claim
    source: str | None
    edits: tuple[Edit, ...]


class UnusableReply(NcuAssistError):
    """A reply that gives no draft. ``reason`` is for people, ``to_model`` is the answer to the model.

    ``said`` is extra detail for the model. Both texts may quote the reply: escape them before display.
    """

    exit_code = 3  # as for drafts that were all rejected

    def __init__(self, reason: str, said: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.to_model = f"Your reply could not be used: {reason}." + (f"\n{said}" if said else "")


class MismatchedEdit(UnusableReply):
    """An edit that does not apply; no edit of the reply was applied. ``to_model`` has the nearest lines."""


# The evidence shows three digits. Half a unit of the third is at most 0.5 % of a number; truncating instead of
# rounding is off by at most a whole unit, 1 %.
QUOTED_WITHIN = 0.01
PERCENT_WITHIN = 0.1  # points: percentages are shown with one decimal, so this is the unit for a small one
SANE_SPEEDUP = 1000.0  # times: no kernel that was fast enough to profile has a larger speed-up left


def flaws(claim: Claim, items: Mapping[str, EvidenceItem]) -> tuple[str, ...]:
    """Return the errors in a claim's citations and predictions, one sentence each; ``items`` are by id.

    A flaw shows a wrong belief of the model. It does not reject the draft: the measurement decides. The sentences quote
    the reply: escape them before display.
    """
    return (*_of_evidence(claim, items), *_of_predictions(claim, items), *_of_speedup(claim))


def item_of(metric: str, items: Mapping[str, EvidenceItem]) -> EvidenceItem | None:
    """Return the row that a prediction's metric names by label, ncu name or id; None if there is no such row."""
    wanted = metric.strip().lower()
    for item in items.values():
        if wanted in (item.metric.lower(), item.name.lower(), item.id.lower()):
            return item
    return None


def _of_evidence(claim: Claim, items: Mapping[str, EvidenceItem]) -> Iterator[str]:
    if not claim.evidence:
        yield "it cites no evidence"
    for quoted in claim.evidence:
        item = items.get(quoted.id)
        if item is None:
            yield f"it cites {quoted.id}, which is no row of the evidence"
        elif not _is_right(quoted, item):
            shown = f"{item.value:g} {item.unit}".strip()
            yield f"it quotes {quoted.value:g} for {item.id} ({item.metric}), which is {shown}"


def _is_right(quoted: QuotedEvidence, item: EvidenceItem) -> bool:
    if quoted.value is None:
        return True
    within = max(QUOTED_WITHIN * abs(item.value), PERCENT_WITHIN if item.unit == "%" else 0.0)
    return abs(quoted.value - item.value) <= within * (1 + 1e-9)  # 83.1 - 83.0 is not 0.1 in binary


def _of_predictions(claim: Claim, items: Mapping[str, EvidenceItem]) -> Iterator[str]:
    if not claim.predictions:
        yield "it predicts nothing that could be checked"
    said: dict[str, str] = {}
    for one in claim.predictions:
        item = item_of(one.metric, items)
        if item is None:
            yield f"it predicts '{one.metric}', which is no metric of the evidence"
            continue
        if said.setdefault(item.id, one.direction) != one.direction:
            yield f"it predicts that {item.metric} goes up and goes down"
        yield from _of_one(one, item)


def _of_one(one: MetricPrediction, item: EvidenceItem) -> Iterator[str]:
    if item.value == 0 and one.direction == "down":
        yield f"it predicts that {item.metric} goes down, which is 0 already"
    if one.factor is None:
        return
    if one.factor < 0:
        yield f"it predicts {item.metric} by a factor of {one.factor:g}, which is less than nothing"
    elif (one.factor <= 1) if one.direction == "up" else (one.factor >= 1):
        yield f"it predicts that {item.metric} goes {one.direction} by a factor of {one.factor:g}, which contradicts"


def _of_speedup(claim: Claim) -> Iterator[str]:
    expected = claim.expected_speedup
    if expected is None:
        return
    if not 0 < expected <= SANE_SPEEDUP:
        yield f"it expects a speed-up of {expected:g}x, which is none"
    elif expected < 1:
        yield f"it expects a speed-up of {expected:g}x, which is slower"


# Characters. The longest sensible reply is a file of SOURCE_LIMIT with as much reasoning before it.
REPLY_LIMIT = 1_000_000
MOST_SAID = 2_000  # characters of a sentence
MOST_LISTED = 50  # pieces of evidence, predictions, edits: more than the evidence table has rows
SLUG_LIMIT = 40  # characters: with vN_ and the suffix, the name still fits a table
THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)  # reasoning that some models print
KEYS = ("bottleneck", "change")  # distinguish the object from JSON in the code or prose
MOST_TRIES = 200  # places where an object could start: few braces in code are followed by a quote
_START = re.compile(r'\{\s*"')
CUT = "its JSON ends in the middle, so the reply was cut off"
LANGUAGES = ("", "cuda", "cu", "cuh", "c", "cpp", "c++", "cxx", "cc", "python", "py", "python3", "triton")
_FENCE = re.compile(r"^ {0,3}(?P<ticks>`{3,}|~{3,})[ \t]*(?P<word>[^\s`]*)[^\n`]*$")
_MARKS = ("<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE")
_FORM = f"an edit is a line '{_MARKS[0]}', the old lines, '{_MARKS[1]}', the new lines, '{_MARKS[2]}'"


@dataclass(frozen=True)
class _Object:
    """The requested object; other keys are ignored."""

    bottleneck: str
    change: str
    evidence: tuple[QuotedEvidence | str, ...] = ()
    slug: str = ""
    predictions: tuple[MetricPrediction, ...] = ()
    expected_speedup: float | None = None
    source: str | None = None
    edits: tuple[Edit, ...] | None = None


def read_reply(text: str) -> ParsedReply:
    """Parse a reply; nothing in it is executed, followed or looked up.

    Raises UnusableReply with a plain reason if it is unclear which one file was meant: an empty reply, prose only,
    truncated or wrong JSON, two files, a file and edits, or neither; also for a reply that is far too long.
    """
    if len(text) > REPLY_LIMIT:
        raise UnusableReply(f"it has {len(text):,} characters, and {REPLY_LIMIT:,} are the most that is read")
    text = THOUGHTS.sub("", text.removeprefix("\ufeff"))
    if not text.strip():
        raise UnusableReply("it is empty")
    value, rest = find_object(text)
    stated = _typed(value)
    source, edits = _one_form(stated, *code_of(rest))
    return ParsedReply(_claim(stated), source, edits)


def _typed(value: object) -> _Object:
    try:
        stated = msgspec.convert(value, type=_Object)
        msgspec.json.encode(stated)  # fails for half a surrogate pair, which no file can contain
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
    """Return the source or the edits of a reply; raises UnusableReply unless it gives exactly one of them."""
    given = [one for one in (stated.source, *files) if one and one.strip()]
    sources = list({one.strip(): one for one in reversed(given)}.values())  # the same file given twice counts once
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
    return cut(text.strip(), MOST_SAID)


def slug_of(text: str) -> str:
    """Return text as part of a file name: lower case, digits and underscores, at most SLUG_LIMIT; may be empty."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower())[:SLUG_LIMIT].strip("_")


def find_object(text: str) -> tuple[dict[str, Any], str]:
    """Return the one JSON object of a reply, and the text without it.

    Raises UnusableReply for no object, two objects, a truncated one, or invalid JSON.
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
    """Return what is wrong with JSON that may be the object; empty if the text was never meant as one."""
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


# Not strict: models put raw line ends into strings, and the meaning is clear.
_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)


def code_of(text: str) -> tuple[tuple[str, ...], tuple[Edit, ...]]:
    """Return the whole files in a reply's text, one per block, and its edits.

    A block is code if its language is supported or not named; its content is searched only for edits.
    Raises UnusableReply for a block that is not closed.
    """
    edits, rest = _edits(text)
    sources = tuple(content for word, content in _blocks(rest) if word.lower() in LANGUAGES and content.strip())
    return sources, tuple(edits)


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield language and content of the fenced blocks; as in Markdown, only an equally long fence closes one."""
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
    """Return the edits in a text, and the text without them."""
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


SOURCE_LIMIT = 256 * 1024  # bytes: the longest hand-written attention kernels are half that size
MOST_QUOTED = 2_000  # characters of an edit quoted back to the model
AROUND = 2  # lines shown before and after
MOST_SHOWN = 40  # lines
MOST_COMPARED, LONGEST = 2_000, 300  # lines, and characters of a line: a comparison costs the product of the lengths
_CODING = re.compile(r"\A(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)")
MOST_PLACES = 50  # occurrences of a name that are checked: a launcher is defined once and never called
# Line continuations, digraphs, and keywords of GCC and clang beyond ISO's. nvcc's dialects have trigraphs off.
_CONTINUED = re.compile(r"\\[ \t]*\r?\n")
_DIRECTIVE = re.compile(r"(?:#|%:)[ \t\v\f]*(?:include_next|include|import|embed)\b[ \t\v\f]*([^\n]*)")
_OPERAND = re.compile(r'"[^"]*"?|<[^>]*>?|\S*')
_OF_A_LIBRARY = re.compile(r"<(?!/)(?!.*\.\.)[\w./+-]+>")
_ANY_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)


def apply(reply: ParsedReply, parent_source: str, suffix: str, kernel: Kernel | None = None) -> str:
    """Return the draft's source, with line ends and final newline as in ``parent_source``, which is its bytes decoded.

    Edits must match the parent's source exactly, including spaces, and must not overlap. With ``kernel``, the entry
    point must have the signature that the harness calls. Raises MismatchedEdit for an edit that does not apply,
    UnusableReply for a source equal to the parent's, too long, not text, or of another signature. Nothing is applied
    in part.
    """
    parent = _with_plain_ends(parent_source)
    source = _with_plain_ends(reply.source) if reply.source is not None else _edited(parent, reply.edits)
    _check_text(source)
    source = source.rstrip("\n") + ("\n" if parent.endswith("\n") or not parent else "")
    if _code(source, suffix) == _code(parent, suffix):
        raise UnusableReply("it changes nothing of its parent's code")
    check_entry_point(source, parent, suffix, kernel)
    return source.replace("\n", "\r\n") if _has_windows_ends(parent_source) else source


def _edited(parent: str, edits: tuple[Edit, ...]) -> str:
    """Return the parent's source with all edits applied; each is searched for in the original text.

    A missing line end at the end of the file is added, so that the last line matches like any other.
    """
    whole = parent if parent.endswith("\n") else f"{parent}\n"
    spans = sorted(_span(edit, number, len(edits), whole) for number, edit in enumerate(edits, 1))
    result, end = [], 0
    for start, stop, number, replacement in spans:
        if start < end:
            raise MismatchedEdit(f"edit {number} changes lines that another edit changes too; nothing was applied")
        result += [whole[end:start], replacement]
        end = stop
    return "".join((*result, whole[end:]))


def _span(edit: Edit, number: int, count: int, whole: str) -> tuple[int, int, int, str]:
    """Return the span that an edit replaces; raises MismatchedEdit if it matches nowhere or more than once."""
    search, named = _with_plain_ends(edit.search), f"edit {number} of {count}"
    if not search.strip():
        raise MismatchedEdit(f"{named} looks for nothing; to add lines, look for the lines beside them")
    places = places_of(search, whole)
    if len(places) == 1:
        return places[0], places[0] + len(search), number, _with_plain_ends(edit.replace)
    looked = f"It looks for:\n{search[:MOST_QUOTED]}"
    if places:
        lines = ", ".join(str(whole.count("\n", 0, place) + 1) for place in places[:10])
        reason = f"{named} matches {len(places)} places, at lines {lines}; it must match one"
        raise MismatchedEdit(f"{reason}; nothing was applied", f"{looked}\nGive more of the lines around it.")
    near = nearest_lines(search, whole)
    said = f"The nearest lines of the source are:\n{near}" if near else "No line of the source is like it."
    raise MismatchedEdit(f"{named} matches nothing in the source; nothing was applied", f"{looked}\n{said}")


def _check_text(source: str) -> None:
    if "\0" in source:
        raise UnusableReply("its source has NUL bytes, which no source has")
    try:
        size = len(source.encode())
    except UnicodeEncodeError as error:
        raise UnusableReply("its source has characters that are none (lone surrogates)") from error
    if size > SOURCE_LIMIT:
        raise UnusableReply(f"its source has {size:,} bytes, and {SOURCE_LIMIT:,} are the most")


def _code(source: str, suffix: str) -> bytes:
    """Return a source without its top comment and without trailing spaces."""
    code = HEADER_COMMENT[suffix].sub(b"", source.encode("utf-8", "replace"), count=1)
    return b"\n".join(line.rstrip() for line in code.splitlines()).strip()


def _has_windows_ends(text: str) -> bool:
    return "\r\n" in text and text.count("\r\n") == text.count("\n")


def _with_plain_ends(text: str) -> str:
    """Replace \\r\\n with \\n in a text whose lines all end in \\r\\n; a text with both kinds stays as it is."""
    text = text.removeprefix("\ufeff")
    return text.replace("\r\n", "\n") if _has_windows_ends(text) else text


def nearest_lines(search: str, source: str) -> str:
    """Return the part of a source that shares most lines with ``search``, numbered from 1.

    Leading and trailing spaces are ignored: they are the most frequent mismatch. If no line is equal, return the
    surroundings of the line most like the longest one of ``search``; empty if no line is similar.
    """
    wanted, lines = search.splitlines(), source.splitlines()
    start = _nearest_start([line.strip() for line in wanted], [line.strip() for line in lines])
    if start is None:
        return ""
    first, last = max(0, start - AROUND), min(len(lines), start + min(len(wanted), MOST_SHOWN) + AROUND)
    return "\n".join(f"{number + 1:5}  {lines[number]}" for number in range(first, last))


def places_of(search: str, source: str) -> list[int]:
    """Return the offsets of a text, also overlapping ones; whole lines match only at the start of a line."""
    found, place = [], source.find(search)
    while place >= 0:
        if not search.endswith("\n") or place == 0 or source[place - 1] == "\n":
            found.append(place)
        place = source.find(search, place + 1)
    return found


def _nearest_start(wanted: Sequence[str], lines: Sequence[str]) -> int | None:
    """Return the line where ``wanted`` would start, by the most equal lines, else by one similar line."""
    votes: dict[int, int] = {}
    numbers: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        numbers.setdefault(line, []).append(number)
    for offset, line in enumerate(wanted):
        for number in numbers.get(line, ()) if len(line) > 2 else ():  # a lone brace matches everywhere
            votes[number - offset] = votes.get(number - offset, 0) + 1
    if votes:
        return max(0, max(votes, key=lambda start: (votes[start], -start)))
    longest = max(wanted, key=len, default="")
    known = [line for line in numbers if len(line) <= LONGEST][:MOST_COMPARED]
    alike = difflib.get_close_matches(longest, known, n=1, cutoff=0.4) if 0 < len(longest) <= LONGEST else []
    return max(0, numbers[alike[0]][0] - wanted.index(longest)) if alike else None


def check_entry_point(source: str, parent: str, suffix: str, kernel: Kernel | None) -> None:
    """Raise UnusableReply if a source is not valid Python, changes the parent's signature, or has no entry point.

    The entry point is checked only if ``kernel`` is given. This helps the author and is no protection: the sandbox
    controls what the source does when it runs.
    """
    if suffix == ".py":
        tree = _parsed(source)
        if kernel is not None:
            _check_python(tree, kernel)
        return
    if bool(TORCH_HEADER.search(source)) != bool(TORCH_HEADER.search(parent)):
        raise UnusableReply("it is called otherwise than its parent: one of the two is a torch extension")
    new = private_includes(source) - private_includes(parent)
    if new:
        raise UnusableReply(f"it includes a file of this machine that its parent does not: {min(new)}")
    if kernel is None:
        return
    if not TORCH_HEADER.search(source):
        _check_launcher(source, kernel)
    elif f'"{kernel.name}"' not in without_comments(source):
        raise UnusableReply(f"it binds no function '{kernel.name}', which is what is called")


def _parsed(source: str) -> ast.Module:
    coding = _CODING.match(source)
    if coding and coding[1].lower().replace("_", "-") not in ("utf-8", "utf8", "ascii"):
        raise UnusableReply(f"it is no UTF-8 by its own words: coding {coding[1]}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about odd escapes in strings, which are harmless here
            return python_tree(source)
    except SyntaxError as error:
        raise UnusableReply(f"its source is no Python: line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise UnusableReply("its source is no Python that can be read: it is nested too deeply") from error


def _check_python(tree: ast.Module, kernel: Kernel) -> None:
    wanted = (*kernel.inputs, *(output.name for output in kernel.outputs))
    named = [one for one in _top_level(tree.body) if _defined_name(one) == kernel.name]
    if not named:
        raise UnusableReply(f"it defines no function '{kernel.name}', which is what is called")
    last = named[-1]
    if isinstance(last, ast.AsyncFunctionDef | ast.ClassDef):
        raise UnusableReply(f"'{kernel.name}' is no plain function")
    if isinstance(last, ast.FunctionDef) and not _takes(last.args, len(wanted)):
        raise UnusableReply(
            f"'{kernel.name}' has another signature: it is called with {number_of(len(wanted), 'argument')}, "
            f"{', '.join(wanted)}"
        )


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the named definitions of a module, including those below ``if`` and ``try``."""
    for one in body:
        yield one
        for part in ("body", "orelse", "handlers", "finalbody") if isinstance(one, ast.If | ast.Try | ast.With) else ():
            for inner in getattr(one, part, []):
                yield from _top_level(inner.body if isinstance(inner, ast.ExceptHandler) else [inner])


def _defined_name(one: ast.stmt) -> str:
    if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return one.name
    if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
        return one.targets[0].id  # for example a compiled function: its signature is known only at run time
    return ""


def _takes(args: ast.arguments, count: int) -> bool:
    most = len(args.posonlyargs) + len(args.args)
    needs_words = any(default is None for default in args.kw_defaults)
    return most - len(args.defaults) <= count and (count <= most or args.vararg is not None) and not needs_words


def _check_launcher(source: str, kernel: Kernel) -> None:
    text = without_comments(source)
    found = launchers(text, kernel.name)
    if not found or 'extern "C"' not in " ".join(text.split()):
        form = f'extern "C" cudaError_t {kernel.name}(..., cudaStream_t stream)'
        raise UnusableReply(f"it defines no launcher '{kernel.name}', which is what is called: {form}")
    tensors = {*kernel.inputs, *(output.name for output in kernel.outputs)} - {*kernel.numbers}
    kinds = [*("*" if name in tensors else "integer" for name in kernel.arguments), "stream"]
    if not any(_fits(parameters, kinds) for parameters in found):
        raise UnusableReply(
            f"'{kernel.name}' has another signature: it is called with {number_of(len(kinds), 'argument')}, "
            f"{', '.join((*kernel.arguments, 'stream'))}, pointers for tensors, long long for integers"
        )


def _fits(parameters: tuple[str, ...], kinds: list[str]) -> bool:
    if len(parameters) != len(kinds):
        return False
    pairs = list(zip(parameters, kinds, strict=True))[:-1]
    return all(("*" in parameter or "[" in parameter) == (kind == "*") for parameter, kind in pairs)


def launchers(text: str, name: str) -> list[tuple[str, ...]]:
    """Return the parameters of each definition of function ``name``, that is a name, parameters and a body."""
    found = []
    for place in islice(re.finditer(rf"\b{re.escape(name)}\s*\(", text), MOST_PLACES):
        end = _closing(text, place.end())
        if end is not None and text[end + 1 :].lstrip()[:1] == "{":
            found.append(split_parameters(text[place.end() : end]))
    return found


def _closing(text: str, start: int) -> int | None:
    """Return the offset of the parenthesis that closes the one opened before ``start``; None if it is not closed."""
    depth = 1
    for place in re.finditer(r"[()]", text[start:]):
        depth += 1 if place[0] == "(" else -1
        if depth == 0:
            return start + place.start()
    return None


def private_includes(source: str) -> set[str]:
    """Return the quoted includes of a source that use an absolute path, a path upwards, or a macro.

    With such a path the compiler's messages could show a model any file that the compiler can read. Comments are
    skipped, but a comment within a string is not always recognized. Like ``check_entry_point``, this is no protection.
    """
    joined = _CONTINUED.sub("", source)
    readings = (joined, without_comments(joined), _ANY_COMMENT.sub(" ", joined))
    named = (_OPERAND.match(rest) for text in readings for rest in _DIRECTIVE.findall(text))
    return {one[0] for one in named if one and not _OF_A_LIBRARY.fullmatch(one[0])}
