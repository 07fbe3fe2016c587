"""The rows of a raw page, cell by cell.

ncu quotes every cell but escapes nothing inside: a name may hold quotes, commas and line ends, so no CSV parser reads
these rows. A row is taken apart from both ends: names stand in the middle, and no cell behind them holds a quote.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import combinations, pairwise

from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.ncu.csv_page.text import AGAIN, EXPORT, QUOTE, SEPARATOR, Table

PUSH_POP = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
START_END = "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
KERNEL, BLOCK, GRID = "Kernel Name", "Block Size", "Grid Size"
NAMES = (PUSH_POP, START_END, KERNEL)  # columns whose cells may hold anything, side by side
BEFORE_NAMES = ("ID", "Process ID", "Process Name", "Host Name")
AFTER_NAMES = ("Kernel Time", "Context", "Stream", BLOCK, GRID, "Device", "CC")
REQUIRED = ("ID", KERNEL, BLOCK, GRID)
RANGES_CELL = re.compile(r'(?:\s*(?:\d+\s+)?"".*""\s*)?', re.DOTALL)
DIMENSIONS = re.compile(r"\((\d{1,10}), *(\d{1,10}), *(\d{1,10})\)", re.ASCII)
MOST_PIECES = 20  # of the ranges in one row, where their names hold "," themselves; beyond, the row counts as damaged


@dataclass(frozen=True)
class Layout:
    """Which column of a raw page is what: facts by name, then metrics from ``first_metric`` on."""

    columns: tuple[str, ...]
    facts: dict[str, int]
    names: range  # of the columns in NAMES
    first_metric: int

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the names of the metric columns, in the order of the file."""
        return self.columns[self.first_metric :]


def layout(table: Table, name: str) -> Layout:
    """Return the layout of a table; raises UsageProblem when it is no raw page, DamagedData for a name that repeats."""
    columns = table.header
    if len(set(columns)) < len(columns):
        twice = Counter(columns).most_common(1)[0][0]
        raise DamagedData(f"{name} is damaged: it has the column {twice} more than once", AGAIN)
    known = {*BEFORE_NAMES, *NAMES, *AFTER_NAMES}
    facts = {each: place for place, each in enumerate(columns) if each in known}
    strange = [each for each in REQUIRED if each not in facts]
    if strange:
        raise UsageProblem(f"{name} is no raw page as ncu writes it now: it has no column {strange[0]!r}", AGAIN)
    first_metric = max(facts.values()) + 1
    strange = [each for each in columns[:first_metric] if each not in facts]
    strange += [each for each in columns[first_metric:] if not each or " " in each]
    if strange:
        raise UsageProblem(f"{name} is no raw page: its column {strange[0]!r} is no metric", f"export one: {EXPORT}")
    places = [facts[each] for each in NAMES if each in facts]
    return Layout(columns, facts, range(places[0], places[-1] + 1), first_metric)


def cells(row: str, where: Layout, name: str) -> list[str]:
    """Return the cells of a row; raises DamagedData when it is cut or has not one for each column."""
    launch = f"the row of launch {row[1:].split(QUOTE, 1)[0]}"
    if row[-1] != QUOTE:
        raise DamagedData(f"{name} is damaged: {launch} ends inside a cell", AGAIN)
    pieces = row[1:-1].split(SEPARATOR)
    if len(pieces) > len(where.columns):
        pieces = _joined(pieces, where) or pieces
    if len(pieces) != len(where.columns) or not _stands(pieces, where):
        raise DamagedData(
            f"{name} is damaged: the cells of {launch} do not fit the columns of the table "
            f"({len(pieces)} cells, {len(where.columns)} columns)",
            AGAIN,
        )
    return pieces


def dimensions(cell: str) -> tuple[int, int, int]:
    """Return the three numbers of a size such as '(256, 1, 1)'; zeros where there is none, as for a range."""
    found = DIMENSIONS.fullmatch(cell)
    return (int(found[1]), int(found[2]), int(found[3])) if found else (0, 0, 0)


def _stands(pieces: list[str], where: Layout) -> bool:
    """Tell whether each cell stands in its column: the sizes do, and no quote is left behind the names."""
    sizes = (pieces[where.facts[BLOCK]], pieces[where.facts[GRID]])
    return all(not size or DIMENSIONS.fullmatch(size) for size in sizes) and not any(
        QUOTE in cell for cell in pieces[where.names.stop :]
    )


def _joined(pieces: list[str], where: Layout) -> list[str]:
    """Return a row's pieces with those put together that a range was split into; none unless exactly one way fits."""
    begin, end = where.names.start, len(pieces) - (len(where.columns) - where.names.stop) - 1
    middle, cells_of_ranges = pieces[begin:end], len(where.names) - 1
    if len(middle) > MOST_PIECES or not cells_of_ranges or any(map(DIMENSIONS.fullmatch, middle)):
        return []  # the sizes of a launch among them: two rows whose line end was lost
    ways = [
        [*pieces[:begin], *ranges, *pieces[end:]]
        for cuts in combinations(range(1, len(middle)), cells_of_ranges - 1)
        if all(map(RANGES_CELL.fullmatch, ranges := _merged(middle, cuts)))
    ]
    return ways[0] if len(ways) == 1 else []


def _merged(pieces: list[str], cuts: tuple[int, ...]) -> list[str]:
    bounds = (0, *cuts, len(pieces))
    return [SEPARATOR.join(pieces[a:b]) for a, b in pairwise(bounds)]
