"""Pictures for notebooks, drawn by matplotlib into axes: roofline, stalls, timeline, versions, trend.

The numbers are those of pages. matplotlib is imported when a picture is asked for, and needed for nothing else. Axes
that are given keep their style, and so do new ones where the user chose one. Else a picture has no background, as
nobody can ask a notebook whether it is light or dark, and a grey that both show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ncu_assist.analysis.history import History
from ncu_assist.analysis.ladder import KernelOutcome
from ncu_assist.analysis.launches import LaunchRow
from ncu_assist.analysis.roofline import RooflineNumbers, RooflinePoint, roofline_numbers
from ncu_assist.analysis.run_view import RunView
from ncu_assist.analysis.trend import Trend, TrendSeries
from ncu_assist.errors import EnvironmentProblem, UsageProblem, did_you_mean, known_names
from ncu_assist.ncu.catalogue.stalls import ISSUED
from ncu_assist.ncu.tables import SampledMetric
from ncu_assist.record import Launch
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.curves import PERCENT, drawn
from ncu_assist.render.html.run_counters import LEAST_STALL
from ncu_assist.render.words.launches import selection_words
from ncu_assist.render.words.terms import part_label, stall_name
from ncu_assist.render.words.trend import name_of
from ncu_assist.verdict.levels import FEWEST
from ncu_assist.versions import short_name

Axes = Any
OF_A_RUN = ("roofline", "stalls", "timeline")
INSTALL = "pip install 'ncu-assist[notebook]'"
INCH = 0.28  # of a bar and the gap to the next
NS_PER_US = 1e3
MOST_LINES = 4  # of a timeline
KERNEL = 60  # letters of a kernel in a title
# A contrast of 4 to white and of 5 to JupyterLab's dark #111. There a picture gets a light or a dark background where
# all digits along both axes are on one side of half light (_fetch_figure_metadata of matplotlib_inline): one is not.
INKS: dict[Any, str] = {"x": "#808080", "y": "#7f7f7f"}
STYLED: tuple[Any, ...] = (  # by which it is told whether the user chose a style
    *("figure.facecolor", "axes.facecolor", "axes.edgecolor", "axes.labelcolor"),
    *("text.color", "xtick.color", "ytick.color"),
)


def axes(given: Axes | None, height: float = 3.6, width: float = 7.0) -> Axes:
    """Return the axes to draw into, new ones unless some are given; raises EnvironmentProblem without matplotlib."""
    if given is not None:
        return given
    try:
        from matplotlib import pyplot, rcParams, rcParamsDefault
    except ImportError as error:
        raise EnvironmentProblem("plots are drawn by matplotlib, which is not installed", INSTALL) from error
    figure, made = pyplot.subplots(figsize=(width, height), layout="constrained")
    if all(rcParams[name] == rcParamsDefault[name] for name in STYLED):
        figure.set_facecolor("none")
        made.set_facecolor("none")
        for which, ink in INKS.items():
            made.tick_params(which, which="both", colors=ink)
        for text in (made.title, made.xaxis.label, made.yaxis.label):
            text.set_color(INKS["x"])
        made.spines[:].set_color(INKS["x"])
    return made


def _ink(ax: Axes) -> Any:
    """Return the colour of words and lines that can be read wherever the axes stand."""
    return ax.xaxis.label.get_color()


def _legend(ax: Axes, **options: Any) -> None:
    made = ax.legend(fontsize="small", labelcolor=_ink(ax), frameon=False, **options)
    made.get_title().set_color(_ink(ax))


BESIDE: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1)}  # of a legend


def plot_run(shown: RunView, kind: str, sampled: Sequence[SampledMetric], ax: Axes | None) -> Axes:
    """Draw one of ``OF_A_RUN``; raises UsageProblem for another kind and for what was not counted."""
    if kind not in OF_A_RUN:
        raise UsageProblem(f"a run has no plot '{kind}'; {did_you_mean(kind, OF_A_RUN)}", "plot('roofline')")
    if kind == "timeline":
        return _timeline(shown, sampled, ax)
    return _roofline(shown, ax) if kind == "roofline" else _stalls(shown, ax)


def _name(whole: RunView, drawn: Sequence[LaunchRow]) -> str:
    """Return what a run is called without which run it is, and what of it is drawn, for a title."""
    name = one_line(whole.reference.partition("@")[0].rpartition("/")[2] or whole.reference)
    name = one_line(whole.reference.partition("@")[0]) if whole.combined.workload else name
    own = [row.launch for row in drawn]
    on = f" on {one_line(whole.combined.workload)}" if whole.combined.workload else ""
    if len(own) == whole.profiled == 1:
        return f"{name}{on}: {one_line(own[0].kernel, KERNEL)}"
    return f"{name}{on}\n{selection_words(own, whole.profiled)}{_why(whole, own)}"


def _why(whole: RunView, drawn: Sequence[Launch]) -> str:
    """Return why these are drawn of several launches that were to be shown."""
    if len(drawn) >= len(whole.launches_shown):
        return ""
    is_focus = whole.focus is not None and [whole.focus.launch.index] == [one.index for one in drawn]
    return ": the one to look at first" if is_focus else ": the longest"


def _nothing(shown: RunView, what: str, hint: str) -> UsageProblem:
    return UsageProblem(f"{one_line(shown.reference)} has no {what} to draw", hint)


def _points(numbers: RooflineNumbers | None) -> list[RooflinePoint]:
    return [point for point in numbers.points if point.of_dram] if numbers else []


def _roofline(whole: RunView, ax: Axes | None) -> Axes:
    """Draw operations a second over operations a byte of DRAM, under the roofs of such a GPU."""
    shown = whole.counted
    numbers = roofline_numbers(shown)
    known = _points(numbers)
    if numbers is None or not known:
        what = "floating-point operations and DRAM bytes"
        alone = [row for row in whole.launches_shown if _points(roofline_numbers(whole.of_launch(row)))]
        others = list(dict.fromkeys(one_line(row.launch.kernel, KERNEL) for row in alone))
        if not others:
            raise _nothing(shown, what, "a kernel without arithmetic has none; else profile with --set full")
        which = selection_words([row.launch for row in shown.launches_shown], whole.profiled)
        said = known_names(others).replace("known:", "these have:")
        raise UsageProblem(f"{which}, has no {what}; {said}", f"run['{others[0]}'].plot('roofline')")
    ax = axes(ax)
    tops = [flat.per_second for flat in numbers.flats] or [max(point.per_second for point in known)]
    slopes = [slope for slope in numbers.slopes if slope.label.startswith("DRAM")]
    ridges = [top / slope.per_second for top in tops for slope in slopes]
    low = min([point.of_dram or 1.0 for point in known] + ridges) / 4
    high = max([point.of_dram or 1.0 for point in known] + ridges) * 4
    for slope in slopes:
        end = min(high, max(tops) / slope.per_second)
        style = "-" if slope.measured else "--"
        line = [low * slope.per_second, end * slope.per_second]
        ax.plot(
            [low, end],
            line,
            style,
            color="tab:gray",
            lw=1.2,
            label=f"{slope.label}: {slope.per_second / 1e12:.3g} TB/s",
        )
    for flat in numbers.flats:
        start = min((flat.per_second / slope.per_second for slope in slopes), default=low)
        style = "-" if flat.measured else "--"
        said = f"{flat.label}: {flat.per_second / 1e12:.3g} TFLOP/s"
        ax.plot([start, high], [flat.per_second] * 2, style, color="tab:blue", lw=1.2, label=said)
    for point in known:
        ax.plot(point.of_dram, point.per_second, "o", color="tab:red")
        at, said = (point.of_dram, point.per_second), point.precision.label
        ax.annotate(said, at, (6, -4), textcoords="offset points", color=_ink(ax))
    ax.set(xscale="log", yscale="log", xlabel="operations per byte of DRAM", ylabel="operations per second")
    ax.set_title(_name(whole, shown.launches_shown), fontsize="medium")
    is_assumed = not all(one.measured for one in numbers.roofs)
    _legend(ax, loc="lower right", title="dashed: assumed" if is_assumed else None)
    return ax


def _stalls(whole: RunView, ax: Axes | None) -> Axes:
    """Draw the states of warps, the largest at the top, in percent of all."""
    shown = whole.counted
    known = [(reason, share) for reason, share in shown.stalls.items() if share >= LEAST_STALL]
    if not known:
        raise _nothing(shown, "warp states", "profile with --set full")
    ax = axes(ax, 1 + INCH * len(known))
    names = [one_line(stall_name(reason, shown)) for reason, _ in known]
    colors = ["tab:green" if reason == ISSUED else "tab:blue" for reason, _ in known]
    drawn_bars = ax.barh(names[::-1], [share for _, share in known][::-1], color=colors[::-1])
    ax.bar_label(drawn_bars, fmt="%.1f", padding=3, fontsize="small", color=_ink(ax))
    ax.set(xlabel="stalled, percent of warp states", xlim=(0, 100))  # one scale: versions stand beside one another
    ax.set_title(_name(whole, shown.launches_shown), fontsize="medium")
    return ax


def _timeline(shown: RunView, sampled: Sequence[SampledMetric], ax: Axes | None) -> Axes:
    """Draw what ncu sampled while the longest launch ran, percent of peak over time."""
    row = next(iter(shown.launches_shown), None)
    launch = row.launch if row else None
    shares = [one for one in sampled if one.metric.endswith(PERCENT)]
    kept, last = drawn(shares, launch) if launch else ((), 0.0)
    if not kept:
        raise _nothing(shown, "samples over time", "ncu takes them from 2024.1 on, with --set full")
    ax = axes(ax)
    for one in kept[:MOST_LINES]:
        points = [(time, value) for time, value in zip(one.times_ns, one.values, strict=True) if time <= last]
        ax.plot(
            [time / NS_PER_US for time, _ in points],
            [value for _, value in points],
            lw=1.2,
            label=part_label(one.metric),
        )
    ax.set(xlabel="µs since the launch began", ylabel="percent of peak", ylim=(0, None))
    ax.set_title(_name(shown, [row] if row else []), fontsize="medium")
    _legend(ax, **BESIDE)
    return ax


FLOOR_STYLES = ("--", ":", "-.")  # of workloads, over bars of any colour
Bar = tuple[str, str, float]  # version, workload, nanoseconds


def plot_outcome(outcome: KernelOutcome, ax: Axes | None) -> Axes:
    """Draw the median of each version on each workload."""
    cells = [(one.version, cell) for one in outcome.versions for cell in outcome.cells(one)]
    timed = [
        (version, cell.workload, cell.row.timing.median_ns) for version, cell in cells if cell.row and cell.row.timing
    ]
    gpu = [outcome.newest.gpu] if outcome.newest and outcome.newest.gpu else []
    return _versions(", ".join([outcome.kernel, *gpu]), timed, {}, ax)


def plot_history(history: History, ax: Axes | None) -> Axes:
    """Draw the median of each version on the workload shown, and the floor."""
    cells = [(row.version, history.cell(row)) for row in history.rows]
    timed = [(version, str(cell.workload or ""), cell.time_ns) for version, cell in cells if cell.time_ns]
    floors = {str(cell.workload or ""): cell.floor.ns for _, cell in cells if cell.floor}
    return _versions(", ".join([history.kernel, *history.gpus]), timed, floors, ax)


def _versions(title: str, timed: Sequence[Bar], floors: dict[str, float], ax: Axes | None) -> Axes:
    if not timed:
        raise UsageProblem(f"no version of {one_line(title)} was timed", "ncu_assist.bench(KERNEL)")
    versions = list(dict.fromkeys(version for version, _, _ in timed))
    workloads = list(dict.fromkeys(workload for _, workload, _ in timed))
    ax = axes(ax, 1.2 + INCH * len(timed) + 0.1 * len(versions))
    from matplotlib.patheffects import withStroke

    for place, workload in enumerate(workloads):
        own = {version: ns for version, name, ns in timed if name == workload}
        at = [versions.index(version) + (place + 0.5) * 0.8 / len(workloads) - 0.4 for version in own]
        times = [ns / NS_PER_US for ns in own.values()]
        bars = ax.barh(at, times, 0.8 / len(workloads), label=workload, color=f"C{place}")
        ax.bar_label(bars, [_digits(time) for time in times], padding=3, fontsize="small", color=_ink(ax))
        if workload in floors:
            style = {"ls": FLOOR_STYLES[place % len(FLOOR_STYLES)], "lw": 1.5, "color": _ink(ax), "zorder": 3}
            line = ax.axvline(floors[workload] / NS_PER_US, label=f"floor of {workload}", **style)
            line.set_path_effects([withStroke(linewidth=3, foreground="white")])  # over bars as dark as it is
    ax.set_yticks(range(len(versions)), versions)
    ax.invert_yaxis()
    times = [ns for _, _, ns in timed]
    ax.set(xlabel="median, µs", xscale="log" if max(times) > 20 * min(times) else "linear")
    ax.margins(x=0.12 if ax.get_xscale() == "linear" else 0.2, y=0.01)  # room for the digits
    ax.set_title(one_line(title), fontsize="medium")
    if len(workloads) > 1 or floors:
        _legend(ax, **BESIDE)
    return ax


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 10_000 else f"{value:.4g}"


def plot_trend(trend: Trend, ax: Axes | None) -> Axes:
    """Draw the runs of each series over the first of it, with the levels that were found; of one run each the times."""
    ax = axes(ax)
    longest = max((len(series.points) for series in trend.series), default=0)
    draw = _levels_over_the_first if longest > 1 else _single_times
    for place, series in enumerate(trend.series):
        look = {"color": f"C{place % COLORS}", "marker": MARKERS[place // COLORS % len(MARKERS)]}
        draw(ax, place, series, look, DASHES[place // COLORS % len(DASHES)], _series_name(trend, series))
    low, high = ax.get_ylim()
    if longest < 2 * FEWEST:
        said = f"too few runs: a change is told from {2 * FEWEST} runs of a version on"
        said = said.replace("version", trend.by)
        ax.text(0.5, 0.9, said, transform=ax.transAxes, ha="center", fontsize="small", color=_ink(ax))
    if longest > 1:
        ax.set(xlabel="run, the oldest first", ylabel="percent over the first level", ylim=(min(low, -1), max(high, 1)))
        ax.xaxis.get_major_locator().set_params(integer=True)
    else:
        names = [_series_name(trend, series) for series in trend.series]
        ax.set_xticks(range(len(names)), names, rotation=30 if len(names) > MOST_UPRIGHT else 0)
        ax.set(xlim=(-0.5, len(names) - 0.5), ylabel="median of its only run, µs", ylim=(0, 1.25 * high))
    ax.set_title(f"{one_line(trend.kernel)} on {one_line(trend.workload)}", fontsize="medium")
    if len(trend.series) > 1 and longest > 1:
        _legend(ax, ncols=2)
    return ax


# After ten series the colours come again: other markers and dashes tell those apart.
COLORS, MARKERS, DASHES = 10, "os^DvPX", ("-", "--", ":", "-.")
MOST_UPRIGHT = 6  # names along an axis


def _series_name(trend: Trend, series: TrendSeries) -> str:
    """Return what a legend calls a series: the version in short, and its GPU where there are several."""
    if trend.by == "commit":
        return one_line(name_of(series))
    is_one_gpu = len({one.gpu for one in trend.series}) == 1
    return short_name(series.name) if is_one_gpu else f"{short_name(series.name)} on {one_line(series.gpu or '?')}"


def _single_times(ax: Axes, place: int, series: TrendSeries, look: dict[str, str], _dash: str, name: str) -> None:
    times = [one.timing.median_ns / NS_PER_US for one in series.points]
    ax.plot([place] * len(times), times, ls="", ms=4, label=name, **look)


def _levels_over_the_first(
    ax: Axes, _place: int, series: TrendSeries, look: dict[str, str], dash: str, name: str
) -> None:
    """Draw the dots, and a line through the levels: upright between two runs for a step, slanted for a creep."""
    times, found = series.levels_ns, series.levels
    points = [100 * (one.timing.median_ns / times[0] - 1) for one in series.points]
    ax.plot(range(len(points)), points, ls="", ms=3, **look)
    line: list[tuple[float, float]] = []
    for before, level in zip((None, *found.levels), found.levels, strict=False):
        if before is not None and found.is_step(before, level):
            line += [(level.first - 0.5, times[before.last]), (level.first - 0.5, times[level.first])]
        line += [(level.first, times[level.first]), (level.last, times[level.last])]
    drawn_at = [at for at, _ in line]
    ax.plot(drawn_at, [100 * (time / times[0] - 1) for _, time in line], dash, lw=1, color=look["color"])
    ax.plot([], [], dash, ms=3, lw=1, label=name, **look)  # the dots and the line in one entry of the legend
