"""One file of a source view: lines with their heat, the SASS behind each, the cold ones left out where it is long."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, pairwise
from pathlib import PurePath

from markupsafe import Markup

from ncu_assist.analysis.run_view import RunView
from ncu_assist.ncu.code import Cost, FileCode, LineCode, SassInstruction
from ncu_assist.ncu.source.metrics import SAMPLES
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.colours import coloured
from ncu_assist.render.html.source_heat import (
    Heat,
    HeatColumn,
    cut_line,
    percent,
    shown_regions,
    size_of,
    stall_at,
    stall_name,
)
from ncu_assist.rules.model.places import Place

FindingLines = Mapping[str, tuple[Place, ...]]  # by rule the lines with most of what a finding wastes, the first first


def finding_lines(shown: RunView) -> FindingLines:
    """Return the lines of the findings that some lines are to blame for; none where the code was not read."""
    found = shown.results.diagnosis.findings if shown.results else ()
    return {one.finding.rule: one.places for one in found if one.places}


INSTRUCTIONS = "instructions"  # the column of how often one was executed
SASS_ROW_BYTES = 70  # of markup around an instruction, about
SAMPLES_WIDTH, COUNT_WIDTH, OFFSET_WIDTH = 7, 6, 6
CODE_WIDTH = 76  # letters up to the stall; a longer instruction pushes its own to the right
LEAST_TOLD = 0.001  # of all samples: below it the stall of an instruction is chance
SASS_TITLE = f"{'samples':>{SAMPLES_WIDTH}} {'instr.':>{COUNT_WIDTH}} {'offset':>{OFFSET_WIDTH}}  SASS"


@dataclass(frozen=True)
class SassRow:
    """An instruction: its share of samples and counted executions in columns, the code, its stall, its excess."""

    samples: Heat
    code: str
    stall: str = ""
    excess: tuple[Heat, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Sass:
    """Instructions as rows; ``left_out`` of them are not shown, for there are too many."""

    rows: tuple[SassRow, ...]
    count: int
    left_out: int
    size: int  # bytes in the page, about

    @property
    def title(self) -> str:
        return f"{self.count} instruction{'' if self.count == 1 else 's'}"


def sass_of(instructions: Sequence[SassInstruction], columns: Sequence[HeatColumn], budget: int) -> Sass:
    """Return instructions as rows within so many bytes: all of them, else those around the hot ones."""
    known = {column.key: column for column in columns}

    @cache
    def row(i: int) -> SassRow:
        return _sass_row(instructions[i], known)

    @cache
    def weight(i: int) -> int:
        return SASS_ROW_BYTES + max(size_of(row(i).code), CODE_WIDTH if row(i).stall or row(i).excess else 0)

    order = sorted(
        range(len(instructions)), key=lambda i: (-instructions[i].cost.samples, -instructions[i].cost.instructions)
    )
    hot = [i for i in order if instructions[i].cost.samples] or order
    regions = shown_regions(len(instructions), hot, weight, budget)
    chosen = [i for region in regions for i in region]
    rows = dict(zip(chosen, _aligned_columns([row(i) for i in chosen]), strict=True))
    kept: list[SassRow] = []
    of_several = len({one.kernel for one in instructions}) > 1  # a line can be part of several kernels
    for before, region in pairwise([range(0), *regions]):
        kept += _sass_gap(region.start - before.stop)
        kept += _with_kernels(rows, instructions, region) if of_several else [rows[i] for i in region]
    kept += _sass_gap(len(instructions) - regions[-1].stop) if regions else []
    return Sass(tuple(kept), len(instructions), len(instructions) - len(chosen), sum(map(weight, chosen)))


def _aligned_columns(rows: Sequence[SassRow]) -> list[SassRow]:
    """Return rows whose excess or stall begins in the same column, but for code of unusual length."""
    width = max((len(row.code) for row in rows if len(row.code) <= CODE_WIDTH), default=0)
    return [replace(row, code=row.code.ljust(width)) if row.stall or row.excess else row for row in rows]


def _sass_gap(count: int) -> list[SassRow]:
    return [SassRow(Heat(), note=f"… {count} instructions with few or no samples", code="")] if count else []


def _with_kernels(rows: Mapping[int, SassRow], instructions: Sequence[SassInstruction], region: range) -> list[SassRow]:
    """Return rows with the name of the kernel above where another one begins."""
    found: list[SassRow] = []
    for i in region:
        if i == region.start or instructions[i].kernel != instructions[i - 1].kernel:
            found.append(SassRow(Heat(), code="", note=f"in {one_line(instructions[i].kernel, 100)}:"))
        found.append(rows[i])
    return found


def _sass_row(one: SassInstruction, columns: Mapping[str, HeatColumn]) -> SassRow:
    samples = percent(one.cost.samples) if one.cost.samples else ""
    heat = columns[SAMPLES].heat(one.cost).level if samples and SAMPLES in columns else 0
    counted = columns[INSTRUCTIONS].heat(one.cost).text if INSTRUCTIONS in columns else ""
    code = cut_line(" ".join(one.sass.split())) if one.sass else "(no code in the report)"
    text = f" {counted:>{COUNT_WIDTH}} {f'{one.offset:04x}':>{OFFSET_WIDTH}}  {code}"
    stall = stall_name(one.cost.waits[0][0]) if one.cost.waits and one.cost.samples >= LEAST_TOLD else ""
    return SassRow(Heat(f"{samples:>{SAMPLES_WIDTH}}", heat), text, stall, tuple(_excess_cells(one.cost, columns)))


def _excess_cells(cost: Cost, columns: Mapping[str, HeatColumn]) -> list[Heat]:
    excess = (column for key, column in columns.items() if key.endswith("excessive"))
    cells = ((column.term.label.lower(), column.heat(cost)) for column in excess)
    return [Heat(f"{cell.text} {name}", cell.level) for name, cell in cells if cell.text]


ROW_BYTES = 110  # of markup around a line without cost, about
HOT_ROW_BYTES = 400
NAME_LETTERS = 120
STALLS, SECOND_FROM = 2, 0.15  # reasons shown of a line, and the share from which the second says something
MARKED_FROM = 0.1  # of what a finding wastes: a line with less is no place to begin
AROUND, LEAST_FOLD = 5, 4  # lines around heat that are not folded; cold lines that are folded together
OPEN_FROM = 0.05  # of all samples: a file with less is folded
HOT_FROM = 0.02  # of all samples
NOT_IN_SLUG = re.compile(r"[^A-Za-z0-9_]+")
NO_TEXT = "(its text is not in the report)"


@dataclass(frozen=True)
class SourceRow:
    """A line: ``cells`` are its heat, in the order of the columns. ``marks`` are findings that name it.

    ``code`` is its text in colours, as HTML. ``hot`` is its share of all samples where keys lead to it, as one of the
    hot lines, else 0. Without a number it is a gap: ``text`` says what is not shown there.
    """

    number: int
    text: str
    code: Markup | None = None
    hot: float = 0.0
    id: str = ""
    cells: tuple[Heat, ...] = ()
    stalls: str = ""
    marks: tuple[str, ...] = ()
    sass: Sass | None = None


@dataclass(frozen=True)
class SourceBlock:
    """Lines that follow one another; ``cold`` says which lines those are that a page folds, empty for hot ones."""

    rows: tuple[SourceRow, ...]
    cold: str = ""


@dataclass(frozen=True)
class SourceFileView:
    """A file; ``path`` is its name in the report, ``is_kept``: the text is that of the run's source folder.

    ``is_open``: it is not folded, as a file with few of the samples is.
    """

    id: str
    name: str
    path: str
    share: str
    rows: tuple[SourceRow, ...]
    has_text: bool
    notes: tuple[str, ...]
    source_bytes: int
    sass_bytes: int
    is_kept: bool = False
    is_open: bool = True

    @property
    def blocks(self) -> tuple[SourceBlock, ...]:
        """The lines around heat, and between them the cold ones."""
        warm = [row.number for row in self.rows if row.marks or any(cell.level > 1 for cell in row.cells)]
        near = {number + step for number in warm for step in range(-AROUND, AROUND + 1)}
        some = [(not warm or not row.number or row.number in near, row) for row in self.rows]
        runs = [(is_near, tuple(row for _, row in own)) for is_near, own in groupby(some, key=lambda one: one[0])]
        return tuple(SourceBlock(own, "" if is_near or len(own) < LEAST_FOLD else _lines(own)) for is_near, own in runs)


def _lines(rows: Sequence[SourceRow]) -> str:
    return f"lines {rows[0].number:,} to {rows[-1].number:,}, cold"


def source_file(
    one: FileCode, slug: str, columns: Sequence[HeatColumn], found: FindingLines, budgets: tuple[int, int]
) -> SourceFileView:
    """Return a file whose source and SASS take at most so many bytes each, about."""
    work = _FileRows(one, slug, columns, _marks(one.name, found))
    regions = work.regions(budgets[0])
    work.fold([line for line in work.hottest if any(line.number - 1 in region for region in regions)], budgets[1])
    rows = tuple(work.rows(regions))
    return SourceFileView(
        id=f"file-{slug}",
        name=one_line(PurePath(one.name).name, NAME_LETTERS),
        path=one.name,
        share=percent(one.cost.samples),
        rows=rows,
        has_text=one.text is not None,
        notes=tuple(work.notes(regions)),
        source_bytes=sum(work.weight(i) for region in regions for i in region),
        sass_bytes=work.sass_bytes,
        is_open=one.cost.samples >= OPEN_FROM or not one.cost.samples,
    )


def slugs(names: Iterable[str]) -> list[str]:
    """Return what files are called in ids of the page: the last part of each name, unique."""
    found: list[str] = []
    for name in names:
        base = NOT_IN_SLUG.sub("-", PurePath(name).name).strip("-")[:60] or "file"
        number = sum(each == base or each.startswith(f"{base}.") for each in found)
        found.append(f"{base}.{number + 1}" if number else base)
    return found


def stalls_text(cost: Cost, text: str) -> str:
    """Return the stall reasons of a line with this text: long scoreboard 82 %, wait 12 %."""
    kept = [one for place, one in enumerate(cost.waits) if place == 0 or one[1] >= SECOND_FROM]
    return ", ".join(f"{stall_at(reason, text)} {100 * share:.0f} %" for reason, share in kept[:STALLS])


def _marks(file: str, found: FindingLines) -> dict[int, tuple[str, ...]]:
    marks: dict[int, list[str]] = {}
    for rule, places in found.items():
        for place in places:
            if place.file == file and place.line is not None and place.share >= MARKED_FROM:
                marks.setdefault(place.line, []).append(rule)
    return {line: tuple(dict.fromkeys(rules)) for line, rules in marks.items()}


class _FileRows:
    """The lines of one file on their way to rows. Regions count from 0, lines from 1."""

    def __init__(
        self, one: FileCode, slug: str, columns: Sequence[HeatColumn], marks: dict[int, tuple[str, ...]]
    ) -> None:
        self._one, self._slug, self._columns, self._marks = one, slug, columns, marks
        self._lines = {line.number: line for line in one.lines}
        self._sass: dict[int, Sass] = {}
        self._weights: dict[int, int] = {}
        self.sass_bytes = 0
        self.hottest = sorted((line for line in one.lines if not line.cost.is_nothing), key=_by_cost)

    def regions(self, budget: int) -> list[range]:
        """Return which lines are shown: of a file without text those alone that cost something."""
        hot = [line.number - 1 for line in self.hottest] + [line - 1 for line in self._marks]
        last = max([len(self._one.text or ()), *(line.number for line in self._one.lines)])
        if self._one.text is None:
            return [range(line, line + 1) for line in sorted(set(hot))]
        return shown_regions(last, hot, self.weight, budget)

    def weight(self, place: int) -> int:
        """Return the bytes of a line, counted from 0, without its SASS."""
        if place not in self._weights:
            markup = HOT_ROW_BYTES if place + 1 in self._lines else ROW_BYTES
            self._weights[place] = markup + size_of(self._text(place + 1))
        return self._weights[place]

    def fold(self, lines: Sequence[LineCode], budget: int) -> None:
        """Make the SASS of lines, the hottest first, as long as it fits."""
        for line in lines:
            made = sass_of(line.instructions, self._columns, budget)
            if not made.rows:
                return
            budget -= made.size
            self.sass_bytes += made.size
            self._sass[line.number] = made

    def rows(self, regions: Sequence[range]) -> Iterable[SourceRow]:
        for before, region in pairwise([range(0), *regions]):
            yield from self._gap(before.stop, region.start)
            texts = [self._text(place + 1) for place in region]
            yield from map(self._row, (place + 1 for place in region), coloured(self._one.name, texts))
        yield from self._gap(regions[-1].stop if regions else 0, len(self._one.text or ()))

    def notes(self, regions: Sequence[range]) -> Iterable[str]:
        results = {place for region in regions for place in region}
        lost = sum(line.number - 1 not in results for line in self.hottest)
        if lost:
            yield f"{lost} of {len(self.hottest)} lines with cost, those with fewest samples, are left out: too long."
        bare = sum(line.number not in self._sass for line in self.hottest) - lost
        if bare:
            yield f"The SASS of {bare} lines with few samples is left out: too long."

    def _gap(self, start: int, stop: int) -> Iterable[SourceRow]:
        if self._one.text is not None and stop > start:
            yield SourceRow(0, f"lines {start + 1:,} to {stop:,} are not shown")

    def _row(self, number: int, code: Markup) -> SourceRow:
        line, marks = self._lines.get(number), self._marks.get(number, ())
        bare = SourceRow(number, self._text(number), code, id=f"line-{self._slug}-{number}", marks=marks)
        if line is None:
            return bare
        return replace(
            bare,
            hot=line.cost.samples if line.cost.samples >= HOT_FROM else 0.0,
            cells=tuple(column.heat(line.cost) for column in self._columns),
            stalls=stalls_text(line.cost, self._text(number) if self._one.text else ""),
            sass=self._sass.get(number),
        )

    def _text(self, number: int) -> str:
        if self._one.text is None:
            return NO_TEXT
        return cut_line(self._one.text[number - 1]) if number <= len(self._one.text) else NO_TEXT


def _by_cost(line: LineCode) -> tuple[float, float, int]:
    return -line.cost.samples, -line.cost.instructions, line.number
