"""How far GPUs differ, on a terminal: a line a GPU, a column a version, and below how far the GPUs are apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.analysis.spread import GpuSpread, SpreadRow
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.table import ABSENT, Cell, Column, Table
from ncu_assist.render.terminal.style import Style, printed, to_text
from ncu_assist.versions import short_name

if TYPE_CHECKING:
    from rich.console import RenderableType


def spread_text(spread: GpuSpread, style: Style | None = None) -> str:
    """Return the spread as text, workload by workload."""
    from rich.text import Text

    parts: list[RenderableType] = [Text(one_line(f"{spread.kernel} on {len(spread.gpus)} GPUs"), style="bold")]
    for workload in dict.fromkeys(row.workload for row in spread.rows):
        rows = [row for row in spread.rows if row.workload == workload]
        parts += [Text(""), Text(one_line(workload), style="bold"), printed(_table(spread, rows))]
    parts += [Text(one_line(failure), style="red") for failure in spread.failures]
    return to_text(parts, style)


def _table(spread: GpuSpread, rows: list[SpreadRow]) -> Table:
    columns = [Column("GPU"), Column("SM MHz", "right")]
    for number, row in enumerate(rows):
        columns.append(Column(short_name(row.version), "right"))
        if number:
            columns.append(Column(f"vs {short_name(rows[0].version)}", "right"))
    lines = []
    for index, gpu in enumerate(spread.gpus):
        clock = rows[0].clocks_mhz[index]
        cells = [gpu, f"{clock:.0f}" if clock else ABSENT]
        for number, row in enumerate(rows):
            median, verdict = row.medians_ns[index], row.verdicts[index]
            cells.append(duration(median) if median is not None else ABSENT)
            if number:
                factor = f"{verdict.speedup:.3f}x " if verdict is not None and verdict.speedup else ""
                cells.append(f"{factor}{verdict.words}" if verdict is not None else ABSENT)
        lines.append(tuple(Cell(one_line(cell)) for cell in cells))
    last = ["apart", ""]
    for number, row in enumerate(rows):
        last.append(_percent(row.apart))
        if number:
            last.append(_percent(row.factors_apart))
    caption = f"{spread.kernel} on {rows[0].workload}, GPU by GPU"
    return Table(f"spread-{rows[0].workload}", caption, tuple(columns), (*lines, tuple(Cell(cell) for cell in last)))


def _percent(value: float | None) -> str:
    return f"{100 * value:.2f} %" if value is not None else ABSENT
