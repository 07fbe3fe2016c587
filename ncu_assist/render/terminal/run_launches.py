"""The launches of a run on a terminal, each with what the rules say of it alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ncu_assist.analysis.run_view import LaunchRow
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.style import Align, table

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_LAUNCHES = 20
NAME, GAP = 16, 2  # letters of a kernel's name at least, between two columns


def launches_text(rows: Sequence[LaunchRow], width: int) -> list[RenderableType]:
    """Return the launches, the longest first, each with what the rules say of it alone."""
    from rich.text import Text

    headings: tuple[tuple[str, Align], ...] = (
        ("launch", "left"), ("duration", "right"), ("grid", "right"), ("block", "right"), ("diagnosis", "left")
    )  # fmt: skip
    made = table(*headings)
    made.columns[0].no_wrap = True  # a name is cut at its end, never broken
    others = [_cells(row) for row in rows[:MOST_LAUNCHES]]
    cells = zip([name for name, _ in headings[1:]], *others, strict=True)
    left = width - sum(max(map(len, column)) + GAP for column in cells)
    for row, rest in zip(rows, others, strict=False):
        made.add_row(Text(one_line(row.launch.kernel, max(NAME, left))), *rest)
    more, idle = len(rows) - MOST_LAUNCHES, sum(not row.judged for row in rows)
    said = f"and {more} shorter launches" + (f"; {idle} were not judged one by one" if idle else "")
    return [made, Text(said)] if more > 0 else [made]


def _cells(row: LaunchRow) -> tuple[str, ...]:
    launch = row.launch
    took = duration(launch.duration_ns) if launch.duration_ns is not None else "-"
    return took, "x".join(map(str, launch.grid)), "x".join(map(str, launch.block)), _said(row)


def _said(row: LaunchRow) -> str:
    """Return the diagnosis of a launch alone; what binds it where it was not judged."""
    if row.launch.interrupted:
        return "interrupted"
    told = row.told.diagnosis if row.told else None
    if told and told.first:
        return "too few counters" if told.lacks_counters else told.first.finding.rule
    return row.bottleneck.name if row.bottleneck else "-"
