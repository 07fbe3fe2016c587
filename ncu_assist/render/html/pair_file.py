"""One file of the side by side of a diff: rows with both texts, both times, and the change."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath

from ncu_assist.ncu.source_costs import Cost, FileCode
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.pair_rows import SIGNS, Aligned, Kind, aligned_rows, numbered_rows
from ncu_assist.render.html.pair_scale import PairScale
from ncu_assist.render.html.source_cut import cut_line, shown, size_of
from ncu_assist.render.html.source_file import NO_TEXT
from ncu_assist.render.html.source_heat import Heat

ROW_BYTES = 260  # of markup around two lines, about
NAME_LETTERS = 80
WHOLE = 250  # rows up to which files are shown whole


@dataclass(frozen=True)
class PairCell:
    """One side of a row; a line that moved says where it stands on the other side."""

    number: int
    text: str
    heat: Heat
    moved: str = ""


@dataclass(frozen=True)
class PairRow:
    """Both sides, the sign of what happened to the text, how the time changed and, in words, the excess.

    Without sides it is a gap; ``note`` says what is not shown.
    """

    before: PairCell | None = None
    after: PairCell | None = None
    kind: Kind = "same"
    change: str = ""
    tone: str = ""
    note: str = ""
    id: str = ""
    keys: tuple[tuple[bool, str, int], ...] = ()

    @property
    def sign(self) -> str:
        return SIGNS[self.kind]


@dataclass(frozen=True)
class PairFile:
    """Two files that belong together, or one that only one side has; names are empty where there is none."""

    id: str
    before: str
    after: str
    rows: tuple[PairRow, ...]
    times: tuple[str, str]
    note: str
    size: int


def pair_file(
    pair: tuple[FileCode | None, FileCode | None, Mapping[int, int]], slug: str, scale: PairScale, budget: int
) -> PairFile:
    """Return two files next to each other in at most so many bytes, about."""
    before, after, partners = pair
    work = _Work(before, after, slug, scale)
    rows = work.aligned(partners)
    hot = sorted((i for i, row in enumerate(rows) if work.is_hot(row)), key=lambda i: -work.weight_of(rows[i]))
    size = functools.cache(lambda i: ROW_BYTES + size_of(work.texts(rows[i])))
    regions = shown(len(rows), hot, size, budget, WHOLE if before and after else 0)
    names = [one_line(PurePath(file.name).name, NAME_LETTERS) if file else "" for file in (before, after)]
    told = {i for region in regions for i in region}
    lost = sum(i not in told for i in hot)
    return PairFile(
        f"pair-{slug}",
        names[0],
        names[1],
        tuple(work.rows(rows, regions)),
        work.times(),
        f"{lost} lines that changed or cost something are left out: too long." if lost else "",
        sum(map(size, told)),
    )


class _Work:
    """Two files on their way to rows."""

    def __init__(self, before: FileCode | None, after: FileCode | None, slug: str, scale: PairScale) -> None:
        self._files, self._slug, self._scale = (before, after), slug, scale
        self.costs = [{line.number: line.cost for line in file.lines} if file else {} for file in self._files]

    def aligned(self, partners: Mapping[int, int]) -> list[Aligned]:
        """Return the rows; of a file that one side does not have nothing was removed or added."""
        before, after = self._files
        if before and after and before.text is not None and after.text is not None:
            return aligned_rows(before.text, after.text, partners)
        numbers = [
            range(1, len(file.text) + 1) if file and file.text and not other else own
            for file, other, own in ((before, after, self.costs[0]), (after, before, self.costs[1]))
        ]
        return numbered_rows(*numbers)

    def times(self) -> tuple[str, str]:
        """Return the time of each file."""
        return self._time(0), self._time(1)

    def _time(self, side: int) -> str:
        file = self._files[side]
        value = self._scale.value(file.cost if file else None, bool(side))
        return f"{self._scale.text(value)} {self._scale.unit}" if value else ""

    def is_hot(self, row: Aligned) -> bool:
        return row.kind != "same" or any(cost and not cost.is_nothing for cost in self._both(row))

    def weight_of(self, row: Aligned) -> float:
        """Return how much a row matters: by its time on either side and the change of it."""
        before, after = self._values(row)
        return before + after + abs(after - before)

    def texts(self, row: Aligned) -> str:
        return self._text(0, row.before) + self._text(1, row.after)

    def rows(self, rows: list[Aligned], regions: list[range]) -> Iterator[PairRow]:
        for previous, region in pairwise([range(0), *regions]):
            yield from _gap(rows, previous.stop, region.start)
            yield from (self._row(rows[i]) for i in region)
        yield from _gap(rows, regions[-1].stop if regions else 0, len(rows))

    def _row(self, row: Aligned) -> PairRow:
        costs = self._both(row)
        change, tone = ("", "") if row.moved else self._scale.change(*costs)  # one that moved has its cost elsewhere
        place = f"pair-{self._slug}-{row.after}" if row.after else f"pair-before-{self._slug}-{row.before}"
        sides = zip((False, True), self._files, (row.before, row.after), strict=True)
        keys = tuple((is_candidate, file.name, line) for is_candidate, file, line in sides if file and line)
        cells = self._cell(row, 0), self._cell(row, 1)
        return PairRow(*cells, row.kind, change, tone, self._scale.excess_change(*costs), place, keys)

    def _cell(self, row: Aligned, side: int) -> PairCell | None:
        number = (row.before, row.after)[side]
        if number is None:
            return None
        moved = f"{'to' if side == 0 else 'from'} line {row.moved}" if row.moved else ""
        heat = self._scale.heat(self._both(row)[side], bool(side))
        return PairCell(number, self._text(side, number), heat, moved)

    def _both(self, row: Aligned) -> tuple[Cost | None, Cost | None]:
        before, after = self.costs
        return before.get(row.before or 0), after.get(row.after or 0)

    def _values(self, row: Aligned) -> tuple[float, float]:
        before, after = self._both(row)
        return self._scale.value(before, False), self._scale.value(after, True)

    def _text(self, side: int, number: int | None) -> str:
        file = self._files[side]
        if file is None or number is None:
            return ""
        return cut_line(file.text[number - 1]) if file.text and number <= len(file.text) else NO_TEXT


def _gap(rows: list[Aligned], start: int, stop: int) -> Iterator[PairRow]:
    if stop > start:
        kept = "unchanged and without cost" if all(row.kind == "same" for row in rows[start:stop]) else "not shown"
        yield PairRow(note=f"{stop - start} lines {kept}")
