"""Sweeps of a ladder as bars: the time of one version by the value of one integer of its workloads."""

from __future__ import annotations

from collections.abc import Iterable

from ncu_assist.analysis.history import HistoryCell, SweepRow
from ncu_assist.analysis.yardstick import Yardstick
from ncu_assist.render.escape import one_line
from ncu_assist.render.history_words import SWEPT, point_time, sweep_title
from ncu_assist.render.html.bars import Bar, Bars
from ncu_assist.render.html.term import Term

ROOM = 1.05  # to the right of what takes longest


def sweep_bars(sweeps: Iterable[SweepRow]) -> tuple[Bars, ...]:
    """Return the bars of each sweep, the shorter the faster, with the line of what was timed beside it."""
    return tuple(_bars(sweep) for sweep in sweeps if sweep.timed)


def _bars(sweep: SweepRow) -> Bars:
    cells = [cell for _, cell in sweep.timed]
    beside = [found for cell in cells if (found := cell.beside_ns)]
    full = ROOM * max(*(cell.time_ns or 0.0 for cell in cells), *beside, 1.0)
    line = f"; the line is {sweep.yardstick.what}" if beside else ""
    bars = tuple(_bar(f"{sweep.axis} {value}", cell, full, sweep.yardstick) for value, cell in sweep.points)
    return Bars(one_line(sweep_title(sweep)), bars, f"the shorter the faster{line}; {SWEPT}")


def _bar(name: str, cell: HistoryCell, full: float, known: Yardstick) -> Bar:
    share, beside = cell.share_of(known), cell.beside_ns
    text = point_time(cell) + (f" · {100 * share:.0f} % {known.title}" if share else "")
    taken = cell.time_ns / full if cell.time_ns else None
    return Bar(
        Term(one_line(name)), taken, text, ceiling=beside / full if beside else None, tone="bad" if cell.failed else ""
    )
