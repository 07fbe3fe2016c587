"""Where a reader of a source view begins: the hottest lines, and the lines of findings, each a link to its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from ncu_assist.ncu.source_costs import Cost, FileCode, LineCode, SourceCosts
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.finding_lines import FindingLines
from ncu_assist.render.html.head import Link
from ncu_assist.render.html.source_file import stalls_text
from ncu_assist.render.html.source_heat import HOTTEST_FROM, HeatColumn
from ncu_assist.render.html.table import Cell, Column, Table, number

HOTTEST = 5
LEAST = 0.01  # of all samples
CODE_LETTERS = 300
NAME_LETTERS = 60
Href = Callable[[str | None, int | None], str]


@dataclass(frozen=True)
class Jump:
    """A link to a line and its share of what a finding is about."""

    link: Link
    share: str


@dataclass(frozen=True)
class FindingJumps:
    """The lines of a finding, by its rule."""

    rule: str
    jumps: tuple[Jump, ...]


def hot_lines(costs: SourceCosts, columns: Sequence[HeatColumn], href: Href) -> Table:
    """Return the lines with most samples, then those whose excess is no trifle, with everything they cost."""
    heads = [Column(c.term.label, "right", "number", c.term) for c in columns]
    rows = tuple(_row(file, line, columns, href) for file, line in _hottest(costs, columns))
    titles = (Column("line"), *heads, Column("top stalls"))
    return Table("hot-lines", "Hottest source lines", titles, rows).without_empty()


def finding_jumps(found: Sequence[FindingLines], href: Href) -> tuple[FindingJumps, ...]:
    """Return links to the lines of findings; without those whose code has no lines."""
    made = []
    for one in found:
        jumps = [Jump(_link(p.file, p.line, href), f"{100 * p.share:.0f} %") for p in one.places if p.file and p.line]
        made += [FindingJumps(one.rule, tuple(jumps))] if jumps else []
    return tuple(made)


def _hottest(costs: SourceCosts, columns: Sequence[HeatColumn]) -> list[tuple[FileCode, LineCode]]:
    lines = [(file, line) for file in costs.files for line in file.lines]
    chosen: list[tuple[FileCode, LineCode]] = []
    for column in columns:
        if column.key == "instructions":
            continue
        least = (LEAST if column.in_percent else HOTTEST_FROM) * column.whole
        ranked = sorted(lines, key=lambda one: (-column.of(one[1].cost), one[1].number))[:HOTTEST]
        chosen += [one for one in ranked if column.of(one[1].cost) >= least and one not in chosen]
    return chosen


def _row(file: FileCode, line: LineCode, columns: Sequence[HeatColumn], href: Href) -> tuple[Cell, ...]:
    text = file.text[line.number - 1] if file.text and line.number <= len(file.text) else ""
    link = _link(file.name, line.number, href)
    first = Cell(link.text, link=link, note=one_line(text, CODE_LETTERS))
    return (first, *(_cell(line.cost, column) for column in columns), Cell(stalls_text(line.cost, text) or "-"))


def _cell(cost: Cost, column: HeatColumn) -> Cell:
    heat = column.heat(cost)
    if not heat.text:
        return Cell()
    made = number(heat.text, column.of(cost))
    return Cell(made.text, made.key, heat=heat.level)


def _link(file: str, line: int, href: Href) -> Link:
    return Link(f"{one_line(PurePath(file).name, NAME_LETTERS)}:{line}", href(file, line))
