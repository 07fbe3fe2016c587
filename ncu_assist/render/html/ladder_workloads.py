"""All workloads of a ladder as small drawings: the time of each version on a log axis, the floor, the baseline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ncu_assist.analysis.history import HistoryCell, HistoryTable, VersionRow
from ncu_assist.analysis.yardstick import measure_of
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.axis import GAP, TEXT_WIDTH, Axis, log_axis
from ncu_assist.render.html.ladder_chart import cut, path_of, tone_of
from ncu_assist.versions import short_name

WIDTH, TOP, BOTTOM, LEFT, RIGHT = 284, 12, 150, 62, 278  # as in ladder.html.j2
MOST = 24  # drawings: the table below has all workloads
LETTERS = 12  # of a version below its dot


@dataclass(frozen=True)
class Dot:
    """A version's time, coloured by its verdict against the version before."""

    x: float
    y: float
    tone: str


@dataclass(frozen=True)
class Name:
    """The name of a version below the drawing."""

    x: float
    text: str


@dataclass(frozen=True)
class SmallChart:
    """One workload; ``floor`` is the height of the line of a device copy, None where none was timed."""

    id: str
    title: str
    description: str
    axis: Axis
    dots: tuple[Dot, ...]
    names: tuple[Name, ...]
    path: str
    floor: float | None


def small_charts(shown: HistoryTable) -> tuple[SmallChart, ...]:
    """Return a drawing of each workload on which anything was timed, as many as are of use."""
    charts = (_chart(shown, place) for place in shown.places)
    return tuple(one for one in charts if one is not None)[:MOST]


def _chart(shown: HistoryTable, place: int) -> SmallChart | None:
    cells = [(rung, rung.cells[place]) for rung in shown.rungs if rung.cells and rung.cells[place].served]
    timed = [(number, rung, cell) for number, (rung, cell) in enumerate(cells) if cell.time_ns]
    if not timed:
        return None
    beside = measure_of(cell for _, _, cell in timed).name
    copies = [found for _, _, cell in timed if (found := cell.beside_ns)]
    axis = log_axis([*(cell.time_ns or 0.0 for _, _, cell in timed), *copies[-1:]], BOTTOM, TOP, duration)
    step = (RIGHT - LEFT - 24) / max(len(cells) - 1, 1)
    dots = tuple(
        Dot(round(LEFT + 12 + step * number, 2), axis.at(cell.time_ns or 0.0), tone_of(cell))
        for number, _, cell in timed
    )
    return SmallChart(
        id=f"workload-{place}",
        title=one_line(shown.workloads[place] or shown.kernel),
        description="; ".join(_said(timed, beside, copies[-1] if copies else None)),
        axis=axis,
        dots=dots,
        names=_names([rung for rung, _ in cells], step),
        path=path_of([(dot.x, dot.y) for dot in dots]),
        floor=axis.at(copies[-1]) if copies else None,
    )


def _said(timed: list[tuple[int, VersionRow, HistoryCell]], beside: str, beside_ns: float | None) -> Iterator[str]:
    if beside_ns is not None:
        yield f"{beside}: {duration(beside_ns)}"
    yield from (f"{one_line(rung.version)}: {duration(cell.time_ns or 0.0)}" for _, rung, cell in timed)


def _names(rungs: list[VersionRow], step: float) -> tuple[Name, ...]:
    """Return every n-th name, with the smallest n whose texts do not touch."""
    texts = [cut(one_line(short_name(rung.version)), LETTERS) for rung in rungs]
    widest = max(len(text) for text in texts) * TEXT_WIDTH + GAP
    stride = max(1, -int(-widest // step)) if len(texts) > 1 else 1
    return tuple(
        Name(round(_within(LEFT + 12 + step * number, text), 2), text)
        for number, text in enumerate(texts)
        if number % stride == 0
    )


def _within(x: float, text: str) -> float:
    """Return the place of a text that its half does not stick out of the drawing."""
    half = len(text) * TEXT_WIDTH / 2
    return min(max(x, half + 2), WIDTH - half - 2)
