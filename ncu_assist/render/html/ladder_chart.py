"""The ladder as drawings: times on a log axis, all workloads as small charts, rates and sweeps as bars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ncu_assist.analysis.history import History, HistoryCell, Sweep, VersionRow
from ncu_assist.analysis.records import ArchivedRun
from ncu_assist.analysis.run_view import WorkloadRow
from ncu_assist.analysis.yardstick import COPY, OPERATIONS, Yardstick, measure_of
from ncu_assist.quantity import duration, quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.charts import GAP, TEXT_WIDTH, Axis, Bar, Bars, log_axis
from ncu_assist.render.table import NO_LINKS, RunLinks, Term
from ncu_assist.render.words.floors import l2_words
from ncu_assist.render.words.history import SWEPT, bound_by, point_time, sweep_title, time_of
from ncu_assist.render.words.history_tables import other_parent
from ncu_assist.render.words.terms import against, verdict_tone
from ncu_assist.rules.model.resources import HOST_LINK
from ncu_assist.versions import short_name

ROW, TOP, LINE = 32, 30, 18  # units of a row, of a heading above the rows, of the text of a line across them
PLOT, PLOT_END, STEPS = 214, 640, 726  # where the axis starts and ends, and steps start, as in ladder_times.html.j2
NARROW, NARROW_PLOT, NARROW_ROW = 340, (26, 312), 44  # of the drawing for narrow screens: its width, axis, and a row
ASIDE, TIME_ROOM = 12, 82  # of a time from its dot, and what it takes with that
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

KINDS = {  # a colour in words
    "dram": "DRAM",
    "l2": "L2, or memory as a whole",
    "l1": "L1 and shared memory",
    "sm": "the SM: its issue slots and pipes, tensor cores among them",
    "link": "the link to the host",
    "latency": "latency: no unit is busy enough",
}


Line = tuple[str, float, str, str]  # name, time in ns, kind, page


@dataclass(frozen=True)
class ChartLine:
    """A line across the drawing: the floor, what is timed beside, a library or the baseline.

    Its text stands beside its upper end, each in a row of its own, ``anchor`` at its ``start`` or at its ``end``;
    ``href`` is the page of the run that it is of, empty for none; ``look`` the class of the line.
    """

    x: float
    text: str
    text_x: float
    text_y: float
    anchor: str
    look: str
    href: str = ""


@dataclass(frozen=True)
class ChartRow:
    """One version: where it stands, its words, and its dot, which it lacks without a time.

    ``shape`` is that of its dot. ``href`` is the page of its run, ``diff`` that which compares it with its parent;
    empty where there is none. ``busy`` is the part of the time that the unit which binds it is busy, of 1.
    """

    y: float
    name: str
    dot: float | None
    time: str
    time_x: float
    anchor: str
    tone: str
    shape: str
    step: str
    band: str
    bound: str
    busy: float = 0.0
    href: str = ""
    diff: str = ""


@dataclass(frozen=True)
class LadderChart:
    """The drawing; ``path`` goes from the dot of each version to that of its parent, where both have a time.

    Versions of libraries are lines, and no part of it. ``bands`` are the colours of what binds, each with its name;
    ``narrow`` is the same for a narrow screen.
    """

    title: str
    description: str
    height: float
    top: float
    bottom: float
    axis: Axis
    label: str
    marks: tuple[ChartLine, ...]
    rows: tuple[ChartRow, ...]
    path: str
    bands: tuple[tuple[str, str], ...] = ()
    narrow: LadderChart | None = None


def ladder_chart(history: History, baseline: ArchivedRun | None, links: RunLinks = NO_LINKS) -> LadderChart:
    """Return the drawing of the workload shown; the lines are the floor, what was timed beside it, and libraries."""
    every = [(row, history.cell(row)) for row in history.rows]
    own = [(row, cell) for row, cell in every if not row.is_peer]
    cells = own if any(cell.time_ns for _, cell in own) else every
    peers = [one for one in every if one not in cells]
    lines = [*_reference_lines(every, baseline, history.shown), *_peer_lines(peers, links)]
    wide = _drawn(history, cells, lines, links, is_narrow=False)
    return replace(wide, narrow=_drawn(history, cells, lines, links, is_narrow=True))


def _drawn(
    history: History,
    cells: list[tuple[VersionRow, HistoryCell]],
    lines: list[Line],
    links: RunLinks,
    *,
    is_narrow: bool,
) -> LadderChart:
    """Return the drawing; a narrow one has the name and the step of a version above its dot, and not what binds it."""
    (start, end), height = (NARROW_PLOT, NARROW_ROW) if is_narrow else ((PLOT, PLOT_END), ROW)
    times = [cell.time_ns for _, cell in cells if cell.time_ns]
    axis = log_axis([*times, *(value for _, value, _, _ in lines)], start, end, duration)
    top = (0 if is_narrow else TOP) + LINE * len(lines)
    dots = _placed_dots([axis.at(cell.time_ns) if cell.time_ns else None for _, cell in cells], start)
    if is_narrow:
        dots = [(dot, dot is not None and dot + TIME_ROOM > NARROW) for dot, _ in dots]
    middle = 0.74 if is_narrow else 0.5  # of a row, where its dot is
    rows = tuple(
        _chart_row(row, cell, top + height * (place + middle), *dots[place], start, links, history)
        for place, (row, cell) in enumerate(cells)
    )
    bottom = top + height * max(len(rows), 1) + (8 if is_narrow else 0)
    on = f" on {one_line(history.shown)}" if history.shown else ""
    return LadderChart(
        title=f"Time of each version{on}, its step{'' if is_narrow else ', and what binds it'}",
        description=_description(cells, lines),
        height=bottom + 46,
        top=top,
        bottom=bottom,
        axis=axis,
        label="median time, log scale" if history.shown else "time under ncu, log scale",
        marks=tuple(_chart_lines(lines, axis, NARROW if is_narrow else STEPS)),
        rows=tuple(replace(one, name=_beside_step(one)) for one in rows) if is_narrow else rows,
        path=_steps_path(cells, rows),
        bands=tuple(sorted({(row.band, KINDS[row.band]) for row in rows if row.band})),
    )


def _beside_step(row: ChartRow) -> str:
    """Return the name of a version as it fits before its step, in a narrow drawing."""
    room = int(NARROW / TEXT_WIDTH) - len(row.step) - 2
    return row.name if len(row.name) <= room else short_name(row.name)


def _steps_path(cells: Sequence[tuple[VersionRow, HistoryCell]], rows: Sequence[ChartRow]) -> str:
    """Return a line from each dot to that of the version that it is compared with, where that is drawn."""
    dots = {row.version: drawn for (row, _), drawn in zip(cells, rows, strict=True) if drawn.dot is not None}
    pairs = ((dots.get(cell.before or ""), dots.get(row.version)) for row, cell in cells)
    ends = (((a.dot, a.y), (b.dot, b.y)) for a, b in pairs if a and b and a.dot is not None and b.dot is not None)
    return "".join(path_of([before, after]) for before, after in ends)


def path_of(points: list[tuple[float, float]]) -> str:
    """Return the path of a line through these points; empty for fewer than two."""
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points) if len(points) > 1 else ""


def _reference_lines(
    cells: list[tuple[VersionRow, HistoryCell]], baseline: ArchivedRun | None, workload: str | None
) -> Iterator[Line]:
    """Yield the floor, the yardstick as it was measured last where that is another, and a baseline of one's own."""
    floors = [cell.floor for _, cell in cells if cell.floor]
    measure = measure_of(cell for _, cell in cells)
    if floors:
        assumed = ", assumed" if floors[-1].assumed else ""
        yield f"floor{assumed}", floors[-1].ns, "floor", ""
    beside = [found for _, cell in cells if (found := cell.yardstick_ns)]
    if beside and not (floors and measure is OPERATIONS):
        yield measure.name, beside[-1], "beside", ""
    timing = baseline.run.timing(workload) if baseline and workload else None
    peers = {row.version for row, _ in cells if row.is_peer}
    if baseline and timing and baseline.run.version not in peers:
        yield f"{BASELINE} {one_line(baseline.run.version, LETTERS)}", timing.median_ns, "base", ""


def _peer_lines(peers: Iterable[tuple[VersionRow, HistoryCell]], links: RunLinks) -> Iterator[Line]:
    """Yield the libraries with a time, the fastest first."""
    for row, cell in sorted(peers, key=lambda one: one[1].time_ns or 0.0):
        if cell.time_ns and not cell.failed:
            yield one_line(row.version, LETTERS), cell.time_ns, "peer", links.of(cell.stored) if cell.stored else ""


LOOKS = {"floor": "ceiling", "beside": "curve-ghost", "base": "curve-ghost"}
PEER_LOOKS = ("peer", "peer peer2", "peer peer3")  # dashes that tell libraries apart, the fastest first
BESIDE = 6  # units of a text from its line


def _chart_lines(lines: Iterable[Line], axis: Axis, end: float) -> Iterator[ChartLine]:
    """Yield the lines, each with its text to the right of it, or to the left where there is no room before ``end``."""
    peers = 0
    for place, (name, value, kind, href) in enumerate(lines):
        text, at = f"{name} {duration(value)}", axis.at(value)
        wide = len(text) * TEXT_WIDTH
        fits = at + BESIDE + wide <= end or at - BESIDE < wide
        look = LOOKS.get(kind, PEER_LOOKS[min(peers, len(PEER_LOOKS) - 1)])
        peers += kind == "peer"
        text_x = round(max(min(at + BESIDE, end - wide), 2.0) if fits else at - BESIDE, 2)
        yield ChartLine(at, text, text_x, 14.0 + LINE * place, "start" if fits else "end", look, href)


def _chart_row(
    row: VersionRow,
    cell: HistoryCell,
    y: float,
    dot: float | None,
    left: bool,
    start: float,
    links: RunLinks,
    history: History,
) -> ChartRow:
    time = time_of(row, cell)
    beside = start + 8 if dot is None else dot - ASIDE if left else dot + ASIDE
    return ChartRow(
        y=y,
        name=one_line(row.version, LETTERS),
        dot=dot,
        time=f"✕ {time}" if dot is None and cell.failed else time,
        time_x=round(beside, 2),
        anchor="end" if left and dot is not None else "start",
        tone="bad" if cell.failed else tone_of(cell),
        shape="bad" if cell.failed else shape_of(cell),
        step=_step(row, cell, history) if cell.verdict else "",
        band=BANDS.get(cell.bottleneck.group, "latency") if cell.bottleneck else "",
        bound=bound_by(cell) if cell.bottleneck else "",
        busy=round(min(cell.bottleneck.percent / 100, 1.0), 3) if cell.bottleneck else 0.0,
        href=links.of(cell.stored) if cell.stored else "",
        diff=links.diff(row.before, row.version) if row.before and cell.verdict else "",
    )


STEP_LETTERS = 26  # of a step, with which version it is against: what is longer says that in the table below


def _step(row: VersionRow, cell: HistoryCell, history: History) -> str:
    said = against(cell.verdict)
    whole = f"{said} {other_parent(row, history)}".rstrip()
    return whole if len(whole) <= STEP_LETTERS else said


def _placed_dots(dots: list[float | None], start: float) -> list[tuple[float | None, bool]]:
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
        found.append((dot, turns and dot - TIME_ROOM > start))
    return found


def tone_of(cell: HistoryCell) -> str:
    """Return the tone of a step: that of the verdict against the version before."""
    return verdict_tone(cell.verdict) if cell.verdict else "plain"


def shape_of(cell: HistoryCell) -> str:
    """Return the shape of a dot: its tone, and ``up`` or ``down`` for what its clock alone made faster or slower."""
    if cell.verdict is not None and cell.verdict.by_clock:
        return {"faster": "up", "slower": "down"}[cell.verdict.verdict]
    return tone_of(cell)


def _description(cells: list[tuple[VersionRow, HistoryCell]], lines: list[Line]) -> str:
    said = [f"{name}: {duration(value)}" for name, value, _, _ in lines]
    return "; ".join([*said, *(f"{one_line(row.version)}: {time_of(row, cell)}" for row, cell in cells)])


SMALL_WIDTH, SMALL_TOP, SMALL_BOTTOM, SMALL_LEFT, SMALL_RIGHT = 284, 12, 150, 62, 278  # as in ladder_times.html.j2
MOST_CHARTS = 24  # drawings: the table below has all workloads
DOT, WIDE_AS = 4.5, 2.6  # the radius of a dot, and how many of it one needs: of many versions dots are smaller
SMALL_LETTERS = 12  # of a version below its dot


@dataclass(frozen=True)
class SmallChart:
    """One workload: the time of each version of one's own as a dot with its shape, names below.

    ``floor`` is the height of the line of what was timed beside, ``library`` that of the fastest library; None where
    none was timed.
    """

    id: str
    title: str
    description: str
    axis: Axis
    dots: tuple[tuple[float, float, str, str], ...]  # x, y, shape, version and time by hover
    names: tuple[tuple[float, str], ...]  # x, text
    path: str
    floor: float | None
    library: float | None = None
    radius: float = DOT


def small_charts(history: History) -> tuple[SmallChart, ...]:
    """Return a drawing of each workload on which anything was timed, as many as are of use."""
    charts = (_small_chart(history, place) for place in history.places)
    return tuple(one for one in charts if one is not None)[:MOST_CHARTS]


def _small_chart(history: History, place: int) -> SmallChart | None:
    every = [(row, row.cells[place]) for row in history.rows if row.cells and row.cells[place].served]
    own = [(row, cell) for row, cell in every if not row.is_peer]
    cells = own if any(cell.time_ns for _, cell in own) else every
    peers = [cell.time_ns for row, cell in every if (row, cell) not in cells and cell.time_ns and not cell.failed]
    timed = [(number, row, cell) for number, (row, cell) in enumerate(cells) if cell.time_ns]
    if not timed:
        return None
    beside = measure_of(cell for _, _, cell in timed).name
    copies = [found for _, _, cell in timed if (found := cell.yardstick_ns)]
    drawn = [*(cell.time_ns or 0.0 for _, _, cell in timed), *copies[-1:], *peers]
    axis = log_axis(drawn, SMALL_BOTTOM, SMALL_TOP, duration)
    step = (SMALL_RIGHT - SMALL_LEFT - 24) / max(len(cells) - 1, 1)
    dots = tuple(
        (round(SMALL_LEFT + 12 + step * number, 2), axis.at(cell.time_ns or 0.0), shape_of(cell), said)
        for (number, _, cell), said in zip(timed, _small_description(timed, {}), strict=True)
    )
    return SmallChart(
        id=f"workload-{place}",
        title=one_line(history.workloads[place] or history.kernel),
        description="; ".join(_small_description(timed, {beside: copies[-1:], "fastest library": sorted(peers)[:1]})),
        axis=axis,
        dots=dots,
        names=_small_names([row for row, _ in cells], step),
        path="".join(path_of(part) for part in _without_new_starts(history, timed, dots)),
        floor=axis.at(copies[-1]) if copies else None,
        library=axis.at(min(peers)) if peers else None,
        radius=round(min(DOT, step / WIDE_AS), 2),
    )


def _without_new_starts(
    history: History,
    timed: Iterable[tuple[int, VersionRow, HistoryCell]],
    dots: Iterable[tuple[float, float, str, str]],
) -> list[list[tuple[float, float]]]:
    """Return the dots that a line joins: a version that is compared with a library's own starts another line."""
    peers = {row.version for row in history.all_rows if row.is_peer}
    parts: list[list[tuple[float, float]]] = [[]]
    for (_, row, cell), (x, y, *_) in zip(timed, dots, strict=True):
        if (cell.before or row.before) in peers:
            parts.append([])
        parts[-1].append((x, y))
    return parts


def _small_description(
    timed: list[tuple[int, VersionRow, HistoryCell]], beside: Mapping[str, Sequence[float]]
) -> Iterator[str]:
    yield from (f"{name}: {duration(value)}" for name, known in beside.items() for value in known)
    yield from (f"{one_line(row.version)}: {duration(cell.time_ns or 0.0)}" for _, row, cell in timed)


def _small_names(rows: list[VersionRow], step: float) -> tuple[tuple[float, str], ...]:
    """Return every n-th name, with the smallest n whose texts do not touch."""
    texts = [one_line(short_name(row.version), SMALL_LETTERS) for row in rows]
    widest = max(len(text) for text in texts) * TEXT_WIDTH + GAP
    stride = max(1, -int(-widest // step)) if len(texts) > 1 else 1
    return tuple(
        (round(_within(SMALL_LEFT + 12 + step * number, text), 2), text)
        for number, text in enumerate(texts)
        if number % stride == 0
    )


def _within(x: float, text: str) -> float:
    """Return the place of a text that its half does not stick out of the drawing."""
    half = len(text) * TEXT_WIDTH / 2
    return min(max(x, half + 2), SMALL_WIDTH - half - 2)


BAR_ROOM = 1.05  # to the right of what is fastest, so that the line of the copy stays in sight
BAR_LETTERS = 40
EFFECTIVE = "Each input read once and each output written once, divided by the median"
NEEDED = "The operations of kernel.toml divided by the median"
CROSSED = "The bytes that must come from the host, divided by the median"


def bandwidth_bars(history: History) -> Bars | None:
    """Return the bars of the workload shown, full width being a little more than the fastest; None without any."""
    rows = [(row, history.cell(row).share_of(history.yardstick), history.cell(row).row) for row in history.rows]
    known = [(row, share, rates) for row, share, rates in rows if rates and share]
    if not known:
        return None
    full = BAR_ROOM * max(1.0, *(share for _, share, _ in known))
    bars = tuple(_rate_bar(row, share, _rate(rates, history.yardstick), full) for row, share, rates in known)
    on = f" on {one_line(history.shown)}" if history.shown else ""
    measure, why = history.yardstick, l2_words(known[0][2])
    line = f"the line is {measure.what}, 100 %"
    if measure is OPERATIONS:
        return Bars(f"Operations a second of each version{on}", bars, f"{NEEDED}; {line}")
    if why:
        return Bars(f"Each version against {measure.what}{on}", bars, f"{line}; no bandwidth: {why}")
    return Bars(
        f"Effective bandwidth of each version{on}", bars, f"{EFFECTIVE if measure is COPY else CROSSED}; {line}"
    )


def _rate(row: WorkloadRow, measure: Yardstick) -> str:
    if measure is OPERATIONS:
        return quantity(row.flops_per_second, "flop/s") if row.flops_per_second else ""
    return quantity(row.bytes_per_second, "byte/s") if row.bytes_per_second else ""


def _rate_bar(row: VersionRow, reached: float, rate: str, full: float) -> Bar:
    text = f"{rate} · {100 * reached:.0f} %" if rate else f"{100 * reached:.0f} %"
    return Bar(Term(one_line(row.version, BAR_LETTERS)), reached / full, text, ceiling=1.0 / full)


def sweep_bars(sweeps: Iterable[Sweep]) -> tuple[Bars, ...]:
    """Return the bars of each sweep, the shorter the faster, with the line of what was timed beside it."""
    return tuple(_sweep_bars(sweep) for sweep in sweeps if any(cell.time_ns for _, cell in sweep.points))


def _sweep_bars(sweep: Sweep) -> Bars:
    cells = [cell for _, cell in sweep.points if cell.time_ns]
    beside = [found for cell in cells if (found := cell.yardstick_ns)]
    full = BAR_ROOM * max(*(cell.time_ns or 0.0 for cell in cells), *beside, 1.0)
    line = f"; the line is {sweep.yardstick.what}" if beside else ""
    bars = tuple(_point_bar(f"{sweep.axis} {value}", cell, full, sweep.yardstick) for value, cell in sweep.points)
    return Bars(one_line(sweep_title(sweep)), bars, f"the shorter the faster{line}; {SWEPT}")


def _point_bar(name: str, cell: HistoryCell, full: float, known: Yardstick) -> Bar:
    share, beside = cell.share_of(known), cell.yardstick_ns
    text = point_time(cell) + (f" · {100 * share:.0f} % {known.title}" if share else "")
    taken = cell.time_ns / full if cell.time_ns else None
    return Bar(
        Term(one_line(name)), taken, text, ceiling=beside / full if beside else None, tone="bad" if cell.failed else ""
    )
