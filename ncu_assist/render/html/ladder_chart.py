"""The ladder as a drawing: a row a version with its time on a log axis, its step, and what binds it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ncu_assist.analysis.history import HistoryCell, HistoryTable, VersionRow
from ncu_assist.analysis.records import ArchivedRun
from ncu_assist.analysis.yardstick import measure_of
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.history_words import against, bound_by, time_of
from ncu_assist.render.html.axis import TEXT_WIDTH, Axis, log_axis
from ncu_assist.render.html.badge import verdict_tone
from ncu_assist.rules.model.resources import HOST_LINK

ROW, TOP, LINE = 32, 30, 18  # units of a row, of a heading above the rows, of the text of a line across them
PLOT, PLOT_END, STEPS = 214, 640, 726  # where the axis starts and ends, and steps start, as in ladder.html.j2
ASIDE, ROOM = 12, 82  # of a time from its dot, and what it takes with that
NEAR, FAR = 8, 40  # how far a neighbour lies beside a dot: hardly, clearly
BASELINE = "baseline"
LETTERS = 24  # of a name beside the drawing
# what a kernel is bound by, in few kinds: each has a colour, a hatch is not needed as each says its name
BANDS = {
    "DRAM": "dram",
    "L2": "l2",
    "L1": "l1",
    "shared memory": "l1",
    "memory": "l2",
    "SM": "sm",
    HOST_LINK: "link",
    "latency": "latency",
}


@dataclass(frozen=True)
class Mark:
    """A line across the drawing: the floor or the baseline. ``text_y`` keeps the texts of two lines apart."""

    x: float
    text: str
    text_x: float
    text_y: float
    kind: str


@dataclass(frozen=True)
class Row:
    """One version: where it stands, its words, and its dot, which it lacks without a time."""

    y: float
    name: str
    dot: float | None
    time: str
    time_x: float
    anchor: str
    tone: str
    step: str
    band: str
    bound: str


@dataclass(frozen=True)
class LadderChart:
    """The drawing; ``path`` goes from dot to dot, past versions without a time."""

    title: str
    description: str
    height: float
    top: float
    bottom: float
    axis: Axis
    label: str
    marks: tuple[Mark, ...]
    rows: tuple[Row, ...]
    path: str
    has_times: bool
    has_bands: bool
    has_steps: bool


def ladder_chart(shown: HistoryTable, baseline: ArchivedRun | None) -> LadderChart:
    """Return the drawing of the workload shown; the lines are what was timed beside it and the baseline."""
    cells = [(rung, shown.cell(rung)) for rung in shown.rungs]
    lines = dict(_lines(cells, baseline, shown.shown))
    times = [cell.time_ns for _, cell in cells if cell.time_ns]
    axis = log_axis([*times, *lines.values()], PLOT, PLOT_END, duration)
    top = TOP + LINE * len(lines)
    dots = _placed([axis.at(cell.time_ns) if cell.time_ns else None for _, cell in cells])
    rows = tuple(_row(rung, cell, top + ROW * (place + 0.5), dots[place]) for place, (rung, cell) in enumerate(cells))
    bottom = top + ROW * max(len(rows), 1)
    on = f" on {one_line(shown.shown)}" if shown.shown else ""
    return LadderChart(
        title=f"Time of each version{on}, its step, and what binds it",
        description=_description(cells, lines),
        height=bottom + 46,
        top=top,
        bottom=bottom,
        axis=axis,
        label="median time, log scale" if shown.shown else "time under ncu, log scale",
        marks=tuple(_mark(name, value, axis, place) for place, (name, value) in enumerate(lines.items())),
        rows=rows,
        path=path_of([(row.dot, row.y) for row in rows if row.dot is not None]),
        has_times=bool(times),
        has_bands=any(row.bound for row in rows),
        has_steps=any(row.step for row in rows),
    )


def path_of(points: list[tuple[float, float]]) -> str:
    """Return the path of a line through these points; empty for fewer than two."""
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points) if len(points) > 1 else ""


def cut(text: str, letters: int = LETTERS) -> str:
    """Return a name as it fits beside a drawing, its end left out where it does not."""
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def _lines(
    cells: list[tuple[VersionRow, HistoryCell]], baseline: ArchivedRun | None, workload: str | None
) -> Iterator[tuple[str, float]]:
    """Yield the times of the yardstick, as it was measured last, and of the baseline, each with its name."""
    beside = [found for _, cell in cells if (found := cell.beside_ns)]
    if beside:
        yield measure_of(cell for _, cell in cells).name, beside[-1]
    timing = baseline.run.timing(workload) if baseline and workload else None
    if baseline and timing:
        yield f"{BASELINE} {cut(one_line(baseline.run.version))}", timing.median_ns


def _mark(name: str, value: float, axis: Axis, place: int) -> Mark:
    kind = "base" if name.startswith(BASELINE) else "floor"
    text = f"{name} {duration(value)}"
    half, at = len(text) * TEXT_WIDTH / 2, axis.at(value)
    middle = min(max(at, PLOT + half), STEPS - half)
    return Mark(at, text, round(middle, 2), 14.0 + LINE * place, kind)


def _row(rung: VersionRow, cell: HistoryCell, y: float, places: tuple[float | None, bool]) -> Row:
    dot, left = places
    time = time_of(rung, cell)
    beside = PLOT + 8 if dot is None else dot - ASIDE if left else dot + ASIDE
    return Row(
        y=y,
        name=cut(one_line(rung.version)),
        dot=dot,
        time=f"✕ {time}" if dot is None and cell.failed else time,
        time_x=round(beside, 2),
        anchor="end" if left and dot is not None else "start",
        tone="bad" if cell.failed else tone_of(cell),
        step=against(cell.verdict) if cell.verdict else "",
        band=BANDS.get(cell.bottleneck.group, "latency") if cell.bottleneck else "",
        bound=bound_by(cell) if cell.bottleneck else "",
    )


def _placed(dots: list[float | None]) -> list[tuple[float | None, bool]]:
    """Return each dot, and whether its time stands to its left: there where the line runs to the right both ways."""
    drawn = [dot for dot in dots if dot is not None]
    found: list[tuple[float | None, bool]] = []
    for dot in dots:
        if dot is None:
            found.append((None, False))
            continue
        place = sum(one is not None for one, _ in found)
        beside = [*drawn[max(place - 1, 0) : place], *drawn[place + 1 : place + 2]]
        turns = bool(beside) and all(other > dot - NEAR for other in beside) and any(o > dot + FAR for o in beside)
        found.append((dot, turns and dot - ROOM > PLOT))
    return found


def tone_of(cell: HistoryCell) -> str:
    """Return the tone of a dot: that of the verdict against the version before."""
    return verdict_tone(cell.verdict) if cell.verdict else "plain"


def _description(cells: list[tuple[VersionRow, HistoryCell]], lines: dict[str, float]) -> str:
    said = [f"{name}: {duration(value)}" for name, value in lines.items()]
    return "; ".join([*said, *(f"{one_line(rung.version)}: {time_of(rung, cell)}" for rung, cell in cells)])
