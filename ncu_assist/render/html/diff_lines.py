"""The source lines whose cost changed between two runs, and those where most of the time is left, as tables."""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose

from ncu_assist.analysis.diff.lines import LineChange, LineChanges, LineCost, base_name
from ncu_assist.quantity import duration, quantity
from ncu_assist.render.diff_facts import DiffFacts
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.head import Link
from ncu_assist.render.html.source_pair import SourcePair
from ncu_assist.render.html.table import Cell, Column, Table
from ncu_assist.render.html.term import Term

CODE = 300  # letters of a line: it wraps
WORDS = {"appeared": "new", "vanished": "gone", "moved": "", "not-read": "not read"}
TIME = Term("time", meaning="share of the warp samples at the line times the duration under ncu")
EXCESS = Term("excess", meaning="sectors of global memory and wavefronts of shared memory beyond what was asked for")
WAITED = Term("waited for", meaning="the reason that most warps at the line were stalled for")


@dataclass(frozen=True)
class LinesPart:
    """The lines: what changed, what is left, and why a side has none."""

    changed: Table
    left: Table
    notes: tuple[str, ...]


def lines_part(facts: DiffFacts, pair: SourcePair) -> LinesPart | None:
    """Return the lines of a diff, with links into the sources side by side; None where they were not read."""
    diff, both = facts.diff, facts.names
    if diff.lines is None:
        return None
    said: dict[str, list[str]] = {}
    for name, note in zip(both, diff.lines.notes, strict=True):
        said.setdefault(note, []).append(name)
    notes = tuple(f"{' and '.join(dict.fromkeys(some))}: {one_line(note)}" for note, some in said.items() if note)
    notes = () if pair.missing else notes  # which says it too
    return LinesPart(changed_table(diff.lines, both, pair), _left(diff.lines, both[1], pair), notes)


def changed_table(lines: LineChanges, both: tuple[str, str], pair: SourcePair) -> Table:
    """Return the lines whose cost changed, and those that a side did not read."""
    columns = (
        Column("line", order=""),
        Column(f"time, {both[0]}", "right", ""),
        Column(both[1], "right", ""),
        Column(f"excess, {both[0]}", "right", "", Term(f"excess, {both[0]}", "", EXCESS.meaning)),
        Column(both[1], "right", ""),
        Column("", order=""),
    )
    rows = tuple(_change(one, pair) for one in lines.changes)
    return Table("changed-lines", "Lines whose cost changed, what explains most first", columns, rows)


def _change(change: LineChange, pair: SourcePair) -> tuple[Cell, ...]:
    before, after = change.baseline, change.candidate
    costly = [one for one in (before, after) if one and (one.ns or one.excess)]
    href = pair.href(after.place, True) if after else ""
    href = href or (pair.href(before.place, False) if before else "")
    worse = change.direction > 0
    excess = _excess(before), _excess(after)
    word = WORDS[change.kind] or ("more" if worse else "less")
    if change.kind == "not-read":
        times = _time(before if before in costly else None), _time(after if after in costly else None)
        name = _place(_name(costly[0]), href, change.text)
        unread = Cell(WORDS[change.kind])
        return name, *(unread if cell == Cell() else cell for cell in times), Cell(), Cell(), unread
    return (
        _place(" → ".join(dict.fromkeys(map(_name, costly))), href, change.text),
        _time(before),
        _time(after),
        *(Cell() if excess == ("0", "0") else Cell(text) for text in excess),
        Cell(f"{'▲' if worse else '▼'} {word}", tone="bad" if worse else "good"),
    )


def _place(name: str, href: str, text: str | None) -> Cell:
    shown = one_line(name)
    return Cell(shown, link=Link(shown, href) if href else None, note=one_line(text or "", CODE))


def _name(line: LineCost) -> str:
    return f"{base_name(line.file)}:{line.line}"


def _left(lines: LineChanges, name: str, pair: SourcePair) -> Table:
    columns = (
        Column("line", order=""),
        Column(f"time, {name}", "right", "", Term(f"time, {name}", "", TIME.meaning)),
        Column("of all", "right", ""),
        Column("excess", "right", "", EXCESS),
        Column("waited for", order="", term=WAITED),
    )
    rows = tuple(_costly(one, pair) for one in lines.left)
    return Table("left-lines", f"Where the time of {name} goes now", columns, rows)


def _costly(line: LineCost, pair: SourcePair) -> tuple[Cell, ...]:
    excess = _excess(line)
    return (
        _place(_name(line), pair.href(line.place, True), line.text),
        _time(line),
        Cell(f"{100 * line.share:.0f} %"),
        Cell() if excess == "0" else Cell(excess),
        Cell(one_line((line.stall or "-").replace("_", " "))),
    )


def _time(line: LineCost | None) -> Cell:
    return Cell() if line is None else Cell("0" if isclose(line.ns, 0) else duration(line.ns))


def _excess(line: LineCost | None) -> str:
    return quantity(line.excess, "") if line else "0"
