"""The file that a reply means: its source, or its parent's with every edit applied, or none at all."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from ncu_assist.sources import HEADER_COMMENT
from ncu_assist.spec import Kernel
from ncu_assist.suggest.reply.entry_point import check_entry_point
from ncu_assist.suggest.reply.form import Edit, MismatchedEdit, ParsedReply, UnusableReply

SOURCE_LIMIT = 256 * 1024  # bytes: the longest hand-written attention kernels have half of that
MOST_QUOTED = 2_000  # characters of an edit that are told back
AROUND = 2  # lines shown before and after
MOST_SHOWN = 40  # lines
MOST_COMPARED, LONGEST = 2_000, 300  # lines, and letters of one: comparing two takes the product of their lengths


def apply(reply: ParsedReply, parent_source: str, suffix: str, kernel: Kernel | None = None) -> str:
    """Return the draft's source: line ends and the last one as in ``parent_source``, which is its bytes decoded.

    Edits are of the parent's source, each of a place of its own, spaces and all. With ``kernel`` the entry point must
    be as the harness calls it. Raises MismatchedEdit for an edit that does not apply, UnusableReply for a source that
    is the parent's, too long, no text, or of another signature; nothing is applied in part.
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
    """Return the parent's source with all edits applied; each is looked for in what the parent is, not what it becomes.

    A missing line end at the end of the file is filled in, so that the last line is found as any other.
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
    """Return where an edit applies; raises MismatchedEdit where that is no place, or several."""
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
    """Return a source without the comment at its top and without spaces at the ends of lines."""
    code = HEADER_COMMENT[suffix].sub(b"", source.encode("utf-8", "replace"), count=1)
    return b"\n".join(line.rstrip() for line in code.splitlines()).strip()


def _has_windows_ends(text: str) -> bool:
    return "\r\n" in text and text.count("\r\n") == text.count("\n")


def _with_plain_ends(text: str) -> str:
    """Return a text whose lines all end in \\r\\n with \\n alone; a text of both kinds stays as it is."""
    text = text.removeprefix("\ufeff")
    return text.replace("\r\n", "\n") if _has_windows_ends(text) else text


def nearest_lines(search: str, source: str) -> str:
    """Return the part of a source where most lines are those of ``search``, numbered from 1.

    Spaces at both ends are not compared: they are what goes wrong most often. Where no line is the same, it is the
    place of the line most like the longest one of ``search``; empty where none is like it.
    """
    wanted, lines = search.splitlines(), source.splitlines()
    start = _nearest_start([line.strip() for line in wanted], [line.strip() for line in lines])
    if start is None:
        return ""
    first, last = max(0, start - AROUND), min(len(lines), start + min(len(wanted), MOST_SHOWN) + AROUND)
    return "\n".join(f"{number + 1:5}  {lines[number]}" for number in range(first, last))


def places_of(search: str, source: str) -> list[int]:
    """Return the offsets at which a text stands, overlapping ones too; whole lines only at the start of a line."""
    found, place = [], source.find(search)
    while place >= 0:
        if not search.endswith("\n") or place == 0 or source[place - 1] == "\n":
            found.append(place)
        place = source.find(search, place + 1)
    return found


def _nearest_start(wanted: Sequence[str], lines: Sequence[str]) -> int | None:
    """Return the line at which what is wanted would start, by the most lines that are equal, else by one alike."""
    votes: dict[int, int] = {}
    numbers: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        numbers.setdefault(line, []).append(number)
    for offset, line in enumerate(wanted):
        for number in numbers.get(line, ()) if len(line) > 2 else ():  # a lone brace is everywhere
            votes[number - offset] = votes.get(number - offset, 0) + 1
    if votes:
        return max(0, max(votes, key=lambda start: (votes[start], -start)))
    longest = max(wanted, key=len, default="")
    known = [line for line in numbers if len(line) <= LONGEST][:MOST_COMPARED]
    alike = difflib.get_close_matches(longest, known, n=1, cutoff=0.4) if 0 < len(longest) <= LONGEST else []
    return max(0, numbers[alike[0]][0] - wanted.index(longest)) if alike else None
