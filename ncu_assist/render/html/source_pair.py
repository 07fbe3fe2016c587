"""The source of both sides of a diff next to each other, with the time of each line and how it changed."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePath

from markupsafe import Markup

from ncu_assist.analysis.diff.lines import Aligned, Place, RowKind, aligned, aligned_rows, base_name, numbered_rows
from ncu_assist.analysis.run_view import RunView
from ncu_assist.ncu.code import Cost, FileCode, SourceCosts, source_costs
from ncu_assist.ncu.line_sums import LineCost, LineSums
from ncu_assist.ncu.source.tables import with_instruction
from ncu_assist.quantity import quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.charts import heat_level
from ncu_assist.render.html.sass_view import SassPairRow, sass_pair
from ncu_assist.render.html.source_file import NO_TEXT, coloured, slugs, stalls_text
from ncu_assist.render.html.source_heat import HOTTEST_FROM, Heat, cut_line, shown_regions, size_of
from ncu_assist.render.html.source_view import collect_lines
from ncu_assist.render.table import Link
from ncu_assist.render.words.why import BARRIER

SIGNS: dict[RowKind, str] = {"same": "", "changed": "~", "removed": "-", "added": "+", "replaced": "-+"}
MEANINGS: dict[RowKind, str] = {
    "changed": "line changed", "removed": "line removed", "added": "line added", "replaced": "replaced by another",
}  # fmt: skip


# Of the longer side: a line that changed by less is not marked, for samples and durations wander (analysis.diff.lines).
LEAST_CHANGE = 0.01
EXCESS_FROM = 0.02  # of the larger sum: an excess that changed by less is not told
MILLISECONDS_FROM = 1e7  # ns
EXCESSES = (("sectors_excessive", "excess sectors"), ("wavefronts_excessive", "excess wavefronts"))


@dataclass(frozen=True)
class PairScale:
    """What a cost comes to on each side: time, or samples in percent where a duration is not known."""

    factors: tuple[float, float]
    unit: str
    divisor: float
    most: float
    excess: Mapping[str, float]

    @classmethod
    def of(cls, durations_ns: tuple[float | None, float | None], sides: tuple[SourceCosts, SourceCosts]) -> PairScale:
        """Return the scale of both sides together."""
        before, after = durations_ns
        factors = (before, after) if before and after else (100.0, 100.0)
        unit, divisor = ("µs", 1e3) if max(factors) < MILLISECONDS_FROM else ("ms", 1e6)
        hottest = [
            max((line.cost.samples for file in side.files for line in file.lines), default=0.0) * factor
            for side, factor in zip(sides, factors, strict=True)
        ]
        excess = {name: max(side.totals.get(name, 0.0) for side in sides) for name, _ in EXCESSES}
        most = max(*hottest, HOTTEST_FROM * max(factors))
        return cls(factors, *((unit, divisor) if before and after else ("%", 1.0)), most, excess)

    def heat(self, cost: Cost | None, is_candidate: bool) -> Heat:
        value = self.value(cost, is_candidate)
        return Heat(self.text(value), heat_level(value, self.most)) if value else Heat()

    def value(self, cost: Cost | None, is_candidate: bool) -> float:
        return cost.samples * self.factors[is_candidate] if cost else 0.0

    def text(self, value: float) -> str:
        scaled = value / self.divisor
        return "<0.1" if scaled < 0.05 else f"{scaled:.1f}" if scaled < 99.95 else f"{scaled:,.0f}"

    def change(self, before: Cost | None, after: Cost | None) -> tuple[str, str]:
        """Return how the time of a line changed, with its tone; nothing for what is no more than noise."""
        delta = self.value(after, True) - self.value(before, False)
        if abs(delta) < LEAST_CHANGE * max(self.factors):
            return "", ""
        sign = "▲ +" if delta > 0 else "▼ -"
        return f"{sign}{self.text(abs(delta))}", "bad" if delta > 0 else "good"

    def excess_change(self, before: Cost | None, after: Cost | None) -> str:
        """Return how the excess of a line changed, in words: 33.0 M → 0 excess sectors."""
        told = []
        for name, words in EXCESSES:
            ends = [float(getattr(cost, name)) if cost else 0.0 for cost in (before, after)]
            if abs(ends[1] - ends[0]) > EXCESS_FROM * self.excess[name]:
                told.append(f"{' → '.join(quantity(value, '') for value in ends)} {words}")
        return ", ".join(told)


MOST_SASS = 6  # lines whose SASS is shown
CODE_LETTERS = 160  # of such a line


@dataclass(frozen=True)
class PairSass:
    """The instructions of a line whose time changed, side by side, with how it changed: by ``size``."""

    line: Link
    code: str
    change: str
    tone: str
    counts: tuple[int, int]
    rows: tuple[SassPairRow, ...]
    size: float

    @property
    def left_out(self) -> int:
        return sum(self.counts) - sum((before is not None) + (after is not None) for before, after, _ in self.rows)


ROW_BYTES = 260  # of markup around two lines, about
FILE_LETTERS = 80
SHOWN_WHOLE = 250  # rows up to which files are shown whole


@dataclass(frozen=True)
class PairCell:
    """One side of a row, ``code`` its text in colours; a line that moved says where it stands on the other side.

    ``waited`` is what its warps were stalled for.
    """

    number: int
    code: Markup
    heat: Heat
    moved: str = ""
    waited: str = ""


@dataclass(frozen=True)
class PairRow:
    """Both sides, the sign of what happened to the text, how the time changed and, in words, the excess.

    Without sides it is a gap; ``note`` says what is not shown. ``lines`` are what both cost, in time.
    """

    before: PairCell | None = None
    after: PairCell | None = None
    kind: RowKind = "same"
    change: str = ""
    tone: str = ""
    note: str = ""
    id: str = ""
    keys: tuple[tuple[bool, str, int], ...] = ()
    lines: tuple[LineCost | None, LineCost | None] = (None, None)

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
    sass: tuple[PairSass, ...] = ()


def pair_file(
    pair: tuple[FileCode | None, FileCode | None, Mapping[int, int]], slug: str, scale: PairScale, budget: int
) -> PairFile:
    """Return two files next to each other in at most so many bytes, about."""
    before, after, partners = pair
    work = _FilePair(before, after, slug, scale)
    rows = work.aligned(partners)
    hot = sorted((i for i, row in enumerate(rows) if work.is_hot(row)), key=lambda i: -work.weight_of(rows[i]))
    size = functools.cache(lambda i: ROW_BYTES + size_of(work.texts(rows[i])))
    regions = shown_regions(len(rows), hot, size, budget, SHOWN_WHOLE if before and after else 0)
    names = work.name(0), work.name(1)
    told = {i for region in regions for i in region}
    lost = sum(i not in told for i in hot)
    return PairFile(
        f"pair-{slug}",
        names[0],
        names[1],
        tuple(work.rows(rows, regions)),
        (work.time(0), work.time(1)),
        f"{lost} lines that changed or cost something are left out: too long." if lost else "",
        sum(map(size, told)),
        tuple(work.sass(rows[i] for i in sorted(told))),
    )


class _FilePair:
    """Two files on their way to rows."""

    def __init__(self, before: FileCode | None, after: FileCode | None, slug: str, scale: PairScale) -> None:
        self._files, self._slug, self._scale = (before, after), slug, scale
        self._lines = [{line.number: line for line in file.lines} if file else {} for file in self._files]
        self._holds: dict[int, dict[int, tuple[float, int]]] = {}
        self.costs = [{number: line.cost for number, line in own.items()} for own in self._lines]

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

    def time(self, side: int) -> str:
        file = self._files[side]
        value = self._scale.value(file.cost if file else None, bool(side))
        return f"{self._scale.text(value)} {self._scale.unit}" if value else ""

    def is_hot(self, row: Aligned) -> bool:
        return row.kind != "same" or any(cost and not cost.is_nothing for cost in self._both(row))

    def weight_of(self, row: Aligned) -> float:
        """Return how much a row matters: by its time on either side and the change of it."""
        costs = self._both(row)
        before, after = self._scale.value(costs[0], False), self._scale.value(costs[1], True)
        return before + after + abs(after - before)

    def texts(self, row: Aligned) -> str:
        return self._text(0, row.before) + self._text(1, row.after)

    def rows(self, rows: list[Aligned], regions: list[range]) -> Iterator[PairRow]:
        for previous, region in pairwise([range(0), *regions]):
            yield from _gap(rows, previous.stop, region.start)
            shown = [rows[i] for i in region]
            codes = self._codes(0, [row.before for row in shown]), self._codes(1, [row.after for row in shown])
            yield from (self._row(row, codes) for row in shown)
        yield from _gap(rows, regions[-1].stop if regions else 0, len(rows))

    def _codes(self, side: int, numbers: Iterable[int | None]) -> dict[int, Markup]:
        """Return these lines of a side in colours, by number: those of one region follow one another."""
        own, file = sorted(number for number in numbers if number is not None), self._files[side]
        texts = [self._text(side, number) for number in own]
        return dict(zip(own, coloured(file.name, texts) if file else (), strict=True))

    def _row(self, row: Aligned, codes: tuple[dict[int, Markup], dict[int, Markup]]) -> PairRow:
        costs = self._both(row)
        change, tone = ("", "") if row.moved else self._scale.change(*costs)  # one that moved has its cost elsewhere
        place = self._place(row)
        sides = zip((False, True), self._files, (row.before, row.after), strict=True)
        keys = tuple((is_candidate, file.name, line) for is_candidate, file, line in sides if file and line)
        cells = self._cell(row, 0, codes[0]), self._cell(row, 1, codes[1])
        lines = self._line(0, row.before), self._line(1, row.after)
        return PairRow(*cells, row.kind, change, tone, self._scale.excess_change(*costs), place, keys, lines)

    def _line(self, side: int, number: int | None) -> LineCost | None:
        """Return what a line costs, with the waits at its barrier that were sampled at the instructions behind it."""
        file = self._files[side]
        if file is None or number is None:
            return None
        cost = self.costs[side].get(number) or Cost()
        return LineCost(
            file.name,
            number,
            file.text[number - 1] if file.text and number <= len(file.text) else None,
            self._scale.value(cost, bool(side)) + self._held(side).get(number, (0.0, 0))[0],
            cost.samples,
            stall=cost.waits[0][0] if cost.waits else None,
            sectors_excessive=cost.sectors_excessive,
            wavefronts_excessive=cost.wavefronts_excessive,
            instructions=cost.instructions,
        )

    def _held(self, side: int) -> dict[int, tuple[float, int]]:
        """Return the time that each barrier held warps that were sampled at other lines, and the first of these."""
        if side not in self._holds:
            found: dict[int, tuple[float, int]] = {}
            for number, line in self._lines[side].items():
                waits = line.cost.waits
                if line.barrier and line.barrier[0] == self.name_of(side) and waits and waits[0][0] == BARRIER:
                    time, first = found.get(line.barrier[1], (0.0, number))
                    found[line.barrier[1]] = time + self._scale.value(line.cost, bool(side)), first
            self._holds[side] = found
        return self._holds[side]

    def name_of(self, side: int) -> str:
        file = self._files[side]
        return file.name if file else ""

    def sass(self, rows: Iterable[Aligned]) -> Iterator[PairSass]:
        """Yield the SASS of each of these rows whose time changed, of one that moved where it stands now."""
        for row in rows:
            if row.moved and not row.after:
                continue
            numbers = (row.before or row.moved or 0, row.after or 0)
            lines = [own.get(number) for own, number in zip(self._lines, numbers, strict=True)]
            costs = [line.cost if line else None for line in lines]
            change, tone = self._scale.change(*costs)
            both = [line.instructions if line else () for line in lines]
            if change and any(both):
                last = bool(row.after)
                file = self._files[last]
                texts = file.text or () if file else ()
                yield PairSass(
                    Link(f"{self.name(last)}:{numbers[last]}", f"#{self._place(row)}"),
                    one_line(with_instruction(texts, numbers[last]).strip(), CODE_LETTERS),
                    f"{change} {self._scale.unit}",
                    tone,
                    (len(both[0]), len(both[1])),
                    sass_pair(both[0], both[1], self._scale.heat),
                    abs(self._scale.value(costs[1], True) - self._scale.value(costs[0], False)),
                )

    def name(self, side: int) -> str:
        file = self._files[side]
        return one_line(PurePath(file.name).name, FILE_LETTERS) if file else ""

    def _place(self, row: Aligned) -> str:
        return f"pair-{self._slug}-{row.after}" if row.after else f"pair-before-{self._slug}-{row.before}"

    def _cell(self, row: Aligned, side: int, codes: Mapping[int, Markup]) -> PairCell | None:
        number = (row.before, row.after)[side]
        if number is None:
            return None
        moved = f"{'to' if side == 0 else 'from'} line {row.moved}" if row.moved else ""
        heat = self._scale.heat(self._both(row)[side], bool(side))
        return PairCell(number, codes[number], heat, moved, self._waited(side, number))

    def _waited(self, side: int, number: int) -> str:
        """Return what warps at a line of some time waited for, or where those that its barrier held were sampled."""
        line, file = self._lines[side].get(number), self._files[side]
        if file is None:
            return ""
        least = LEAST_CHANGE * self._scale.factors[side]
        if line and self._scale.value(line.cost, bool(side)) >= least:
            return stalls_text(line, self._text(side, number) if file.text else "", file.name)
        held, first = self._held(side).get(number, (0.0, 0))
        return f"{self._scale.text(held)} {self._scale.unit} sampled at :{first}" if held >= least else ""

    def _both(self, row: Aligned) -> tuple[Cost | None, Cost | None]:
        before, after = self.costs
        return before.get(row.before or 0), after.get(row.after or 0)

    def _text(self, side: int, number: int | None) -> str:
        file = self._files[side]
        if file is None or number is None:
            return ""
        return cut_line(file.text[number - 1]) if file.text and number <= len(file.text) else NO_TEXT


def _gap(rows: list[Aligned], start: int, stop: int) -> Iterator[PairRow]:
    if stop > start:
        kept = "unchanged and without cost" if all(row.kind == "same" for row in rows[start:stop]) else "not shown"
        yield PairRow(note=f"{stop - start} lines {kept}")


FILE_BYTES = 700_000  # of all files together: half of what a source view may take, for there is no SASS
NAME_LETTERS = 60


@dataclass(frozen=True)
class SourcePair:
    """Everything that the macro ``source_pair`` writes; ``missing`` is why there is nothing to align:

    what the other side has then stands alone.
    """

    names: tuple[str, str] = ("", "")
    unit: str = ""
    files: tuple[PairFile, ...] = ()
    notes: tuple[str, ...] = ()
    missing: tuple[str, str] | None = None
    _places: dict[tuple[bool, str, int], str] = field(default_factory=dict, repr=False)
    _rows: dict[tuple[bool, str, int], PairRow] = field(default_factory=dict, repr=False)

    @property
    def sass(self) -> list[PairSass]:
        """The lines whose time changed most, with their instructions."""
        return sorted((one for file in self.files for one in file.sass), key=lambda one: -one.size)[:MOST_SASS]

    @property
    def signs(self) -> list[tuple[str, str]]:
        """The signs that rows have, with what they mean."""
        kinds = {row.kind for file in self.files if file.before and file.after for row in file.rows}
        return [(sign, MEANINGS[kind]) for kind, sign in SIGNS.items() if kind in kinds and sign]

    def href(self, place: Place | None, is_candidate: bool) -> str:
        """Return the link to a line of one side; empty where the page does not show it."""
        found = self._places.get((is_candidate, *place)) if place else None
        return f"#{found}" if found else ""

    def row(self, place: Place | None, is_candidate: bool) -> PairRow | None:
        """Return the row of a line that the page shows, where costs are times."""
        return self._rows.get((is_candidate, *place)) if place and self.unit != "%" else None


def source_pair(baseline: RunView, candidate: RunView) -> SourcePair:
    """Return the sources of two runs whose lines were read, aligned by their texts."""
    sides = _SourceSide.of(baseline), _SourceSide.of(candidate)
    names = sides[0].name, sides[1].name
    lacking = [side for side in sides if not side.costs.files]
    missing = None
    if lacking:
        why = "; ".join(f"{side.name}: {side.note}" for side in lacking)
        missing = f"There is nothing to align: {why}.", lacking[0].collect
    if len(lacking) == len(sides):
        return SourcePair(names, missing=missing)
    scale = PairScale.of((sides[0].duration_ns, sides[1].duration_ns), (sides[0].costs, sides[1].costs))
    pairs = _file_pairs(*sides)
    names_of = [next(file.name for file in (after, before) if file) for before, after, _ in pairs]
    files, budget = [], FILE_BYTES
    for one, slug in zip(pairs, slugs(names_of), strict=True):
        made = pair_file(one, slug, scale, budget)
        budget -= made.size
        files.append(made)
    rows = {key: row for file in files for row in file.rows for key in row.keys}
    places = {key: row.id for key, row in rows.items()}
    return SourcePair(names, scale.unit, tuple(files), _unlined_notes(sides), missing, places, rows)


@dataclass(frozen=True)
class _SourceSide:
    """One run: its name, its costs, the time of its launches, None where it is not known."""

    name: str
    own: str | None
    costs: SourceCosts
    duration_ns: float | None
    note: str
    collect: str

    @classmethod
    def of(cls, shown: RunView) -> _SourceSide:
        close, run = shown.close, shown.run
        name = one_line(run.version, NAME_LETTERS)
        why = (close.spots.note if close.spots else "") or close.note or "its source lines were not read"
        if close.code is None:
            return cls(name, None, SourceCosts({}, (), ()), None, why, collect_lines(shown))
        code = close.code.of([one.index for one in shown.combined.launches]) if shown.combined.launches else close.code
        costs = source_costs(code, close.texts)
        own = next((file.name for file in costs.files if base_name(file.name).startswith(f"{run.version}.")), None)
        return cls(name, own, costs, shown.combined.duration_ns, why, "")

    def lines(self) -> LineSums:
        """Return the side as the alignment takes it."""
        texts = {file.name: "\n".join(_bare(file.text)) for file in self.costs.files if file.text is not None}
        lines = [
            LineCost(file.name, line.number, None, line.cost.samples * (self.duration_ns or 1.0), line.cost.samples)
            for file in self.costs.files
            for line in file.lines
        ]
        return LineSums(tuple(lines), texts, self.own, self.duration_ns or 0.0)

    def file(self, name: str) -> FileCode:
        return next(file for file in self.costs.files if file.name == name)


def _file_pairs(
    baseline: _SourceSide, candidate: _SourceSide
) -> list[tuple[FileCode | None, FileCode | None, dict[int, int]]]:
    """Return the files that belong together with their partners by line, then those that only one side has."""
    found: dict[tuple[str, str], dict[int, int]] = {}
    for (before, line), (after, other) in aligned(baseline.lines(), candidate.lines()).items():
        found.setdefault((before, after), {})[line] = other
    pairs: list[tuple[FileCode | None, FileCode | None, dict[int, int]]] = [
        (baseline.file(before), candidate.file(after), lines) for (before, after), lines in found.items()
    ]
    taken = {before for before, _ in found}, {after for _, after in found}
    pairs += [(file, None, {}) for file in baseline.costs.files if file.name not in taken[0]]
    pairs += [(None, file, {}) for file in candidate.costs.files if file.name not in taken[1]]
    return sorted(pairs, key=lambda one: -max(file.cost.samples for file in one[:2] if file))


def _bare(text: Sequence[str]) -> list[str]:
    """Return lines without what Python, but no compiler, takes for the end of one."""
    return [" ".join(line.splitlines()) for line in text]


def _unlined_notes(sides: tuple[_SourceSide, _SourceSide]) -> tuple[str, ...]:
    notes = []
    for side in sides:
        share = sum(function.cost.samples for function in side.costs.functions)
        if share >= 0.005:
            notes.append(f"{side.name}: {100 * share:.0f} % of its samples are in code without source lines.")
    return tuple(notes)
