"""SASS as lines of text with heat: what stands in the fold of a source line, or alone where code has no lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ncu_assist.ncu.source.metrics import SAMPLES
from ncu_assist.ncu.source_costs import Cost, Instruction
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.source_cut import cut_line, shown, size_of
from ncu_assist.render.html.source_heat import Heat, HeatColumn, percent, stall_name

ROW_BYTES = 70  # of markup around an instruction, about
SAMPLES_WIDTH, COUNT_WIDTH, OFFSET_WIDTH = 7, 6, 6
CODE_WIDTH = 76  # letters up to the stall; a longer instruction pushes its own to the right
LEAST_TOLD = 0.001  # of all samples: below it the stall of an instruction is chance
TITLE = f"{'samples':>{SAMPLES_WIDTH}} {'instr.':>{COUNT_WIDTH}} {'offset':>{OFFSET_WIDTH}}  SASS"


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


def sass_of(instructions: Sequence[Instruction], columns: Sequence[HeatColumn], budget: int) -> Sass:
    """Return instructions as rows within so many bytes: all of them, else those around the hot ones."""
    rows = _even([_row(one, columns) for one in instructions])
    weights = [ROW_BYTES + size_of(row.code) for row in rows]
    order = sorted(range(len(rows)), key=lambda i: (-instructions[i].cost.samples, -instructions[i].cost.instructions))
    hot = [i for i in order if instructions[i].cost.samples] or order
    regions = shown(len(rows), hot, weights.__getitem__, budget)
    kept: list[SassRow] = []
    of_several = len({one.kernel for one in instructions}) > 1  # a line can be part of several kernels
    for before, region in pairwise([range(0), *regions]):
        kept += _gap(region.start - before.stop)
        kept += _with_kernels(rows, instructions, region) if of_several else [rows[i] for i in region]
    kept += _gap(len(rows) - regions[-1].stop) if regions else []
    left_out = len(rows) - sum(map(len, regions))
    size = sum(weights[i] for region in regions for i in region)
    return Sass(tuple(kept), len(rows), left_out, size)


def _even(rows: Sequence[SassRow]) -> list[SassRow]:
    """Return rows whose excess or stall begins in the same column, but for code of unusual length."""
    width = max((len(row.code) for row in rows if len(row.code) <= CODE_WIDTH), default=0)
    return [replace(row, code=row.code.ljust(width)) if row.stall or row.excess else row for row in rows]


def _gap(count: int) -> list[SassRow]:
    return [SassRow(Heat(), note=f"… {count} instructions with few or no samples", code="")] if count else []


def _with_kernels(rows: Sequence[SassRow], instructions: Sequence[Instruction], region: range) -> list[SassRow]:
    """Return rows with the name of the kernel above where another one begins."""
    found: list[SassRow] = []
    for i in region:
        if i == region.start or instructions[i].kernel != instructions[i - 1].kernel:
            found.append(SassRow(Heat(), code="", note=f"in {one_line(instructions[i].kernel, 100)}:"))
        found.append(rows[i])
    return found


def _row(one: Instruction, columns: Sequence[HeatColumn]) -> SassRow:
    samples = percent(one.cost.samples) if one.cost.samples else ""
    heat = next((column.heat(one.cost).level for column in columns if column.key == SAMPLES), 0)
    counted = next((column.heat(one.cost).text for column in columns if column.key == "instructions"), "")
    code = cut_line(" ".join(one.sass.split())) if one.sass else "(no code in the report)"
    text = f" {counted:>{COUNT_WIDTH}} {f'{one.offset:04x}':>{OFFSET_WIDTH}}  {code}"
    stall = stall_name(one.cost.waits[0][0]) if one.cost.waits and one.cost.samples >= LEAST_TOLD else ""
    return SassRow(Heat(f"{samples:>{SAMPLES_WIDTH}}", heat), text, stall, tuple(_excess(one.cost, columns)))


def _excess(cost: Cost, columns: Sequence[HeatColumn]) -> list[Heat]:
    cells = ((column.term.label.lower(), column.heat(cost)) for column in columns if column.key.endswith("excessive"))
    return [Heat(f"{cell.text} {name}", cell.level) for name, cell in cells if cell.text]
