"""The file that a reply means: its source, or its parent's with every edit applied, or none at all."""

from __future__ import annotations

from ncu_assist.spec import HEADER_COMMENT, Kernel
from ncu_assist.suggest.reply.entry_point import check_entry_point
from ncu_assist.suggest.reply.nearest import nearest_lines, places_of
from ncu_assist.suggest.reply.records import Edit, MismatchedEdit, Reply, UnusableReply

SOURCE_LIMIT = 256 * 1024  # bytes: the longest hand-written attention kernels have half of that
MOST_QUOTED = 2_000  # characters of an edit that are told back


def apply(reply: Reply, parent_source: str, suffix: str, kernel: Kernel | None = None) -> str:
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
