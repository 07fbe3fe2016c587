"""Sweeps of a ladder as bars: the time of one version by the value of one integer of its workloads."""

from __future__ import annotations

from collections.abc import Iterable

from ncu_assist.render.escape import one_line
from ncu_assist.render.history import Cell, Swept
from ncu_assist.render.history_words import SWEPT, point_time, sweep_title
from ncu_assist.render.html.bars import Bar, Bars
from ncu_assist.render.html.term import Term

ROOM = 1.05  # to the right of what takes longest


def sweep_bars(sweeps: Iterable[Swept]) -> tuple[Bars, ...]:
    """Return the bars of each sweep, the shorter the faster, with the line of a device copy of the same bytes."""
    return tuple(_bars(sweep) for sweep in sweeps if sweep.timed)


def _bars(sweep: Swept) -> Bars:
    cells = [cell for _, cell in sweep.timed]
    copies = [cell.timing.copy_ns for cell in cells if cell.timing and cell.timing.copy_ns]
    full = ROOM * max(*(cell.time_ns or 0.0 for cell in cells), *copies, 1.0)
    line = "; the line is a device copy of the same bytes" if copies else ""
    bars = tuple(_bar(f"{sweep.axis} {value}", cell, full) for value, cell in sweep.points)
    return Bars(one_line(sweep_title(sweep)), bars, f"the shorter the faster{line}; {SWEPT}")


def _bar(name: str, cell: Cell, full: float) -> Bar:
    share, copy = cell.share_of_copy, cell.timing.copy_ns if cell.timing else None
    text = point_time(cell) + (f" · {100 * share:.0f} % of copy" if share else "")
    taken = cell.time_ns / full if cell.time_ns else None
    return Bar(
        Term(one_line(name)), taken, text, ceiling=copy / full if copy else None, tone="bad" if cell.failed else ""
    )
