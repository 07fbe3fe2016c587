"""The page of a trend: what changed, and for each series a chart of its runs with their levels, and a table of them."""

from __future__ import annotations

from collections.abc import Iterator

from ncu_assist.analysis.trend import Trend, TrendChange, TrendPoint, TrendSeries
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.charts import Anchor, Axis, Chart, ChartText, Shape, line, linear_axis
from ncu_assist.render.html.page import Head, PageSection, page, provenance, table_section
from ncu_assist.render.html.timing_chart import (
    BOTTOM,
    HEIGHT,
    HISTOGRAM_RIGHT,
    LEFT,
    TOP,
    WIDTH,
    SampleSeries,
    dots,
    time_axis,
)
from ncu_assist.render.table import Cell, Column, Table, number
from ncu_assist.render.words.history import MOST_SAID
from ncu_assist.render.words.trend import (
    DIGITS,
    changes,
    counters_table,
    name_of,
    percent,
    series_table,
    trend_notes,
    trend_title,
)
from ncu_assist.render.words.trend import trend_provenance as measured

FEWEST_DRAWN = 2
BANDS = 2  # standard deviations between runs that the band reaches on either side of a level
LEGEND = "● a run · line: level without the noise · band: two standard deviations between runs of the same code"
CLEAR = 10  # of the dot that a change is marked at
MANY = 12  # runs from which a table scrolls in a box of its own
RUN_COLUMNS = (
    Column("run"),
    Column("time", "right", "number"),
    Column("level", "right", "number"),
    Column("SM clock", "right", "number"),
    Column("commit"),
    Column("driver"),
    Column("nvcc"),
    Column("torch"),
)


def trend_html(trend: Trend) -> str:
    """Return the page; the same archive gives the same bytes."""
    return page(_head(trend), tuple(_sections(trend)))


def _head(trend: Trend) -> Head:
    return Head(
        title=one_line(trend_title(trend)),
        subtitle=one_line(measured(trend)),
        crumbs=(),
        provenance=provenance([point.stored for point in trend.points]),
    )


def _sections(trend: Trend) -> Iterator[PageSection]:
    told = tuple(one_line(note, MOST_SAID) for note in trend_notes(trend))
    yield table_section("series", "All series", series_table(trend), legend=told)
    said = [
        (change.is_slower, one_line(text, MOST_SAID), tuple(one_line(detail, MOST_SAID) for detail in details))
        for change, text, details in changes(trend)
    ]
    yield PageSection("changes", "Changes", said, "trend_changes.html.j2")
    for place, series in enumerate(trend.series):
        if len(series.points) >= FEWEST_DRAWN:
            name = one_line(name_of(series))
            model = {"chart": trend_chart(series, f"trend-{place}"), "table": runs_table(series, f"runs-{place}")}
            yield PageSection(f"of-{place}", name, model, "trend_series.html.j2", one_line(series.gpu or ""))
    if trend.metrics:
        yield table_section("counters", "Counters", counters_table(trend))


def trend_chart(series: TrendSeries, id: str) -> Chart:
    """Return the chart: a dot a run, a line for each level or slope, a band for what runs of one code differ by."""
    times = tuple(point.timing.median_ns for point in series.points)
    ordered = sorted(times)
    quartiles = tuple(ordered[int(share * (len(ordered) - 1))] for share in (0.25, 0.5, 0.75))
    drawn = SampleSeries(
        tuple(range(1, len(times) + 1)), times, (False,) * len(times), (quartiles[0], quartiles[1], quartiles[2])
    )
    x, y = linear_axis([*drawn.at], LEFT, HISTOGRAM_RIGHT), time_axis([drawn])
    shapes = [*_levels(series, x, y), *dots(drawn, x, y)]
    words = tuple(_mark(series, change, x, y) for change in series.changes)
    said = [f"{len(times)} runs from {duration(times[0], DIGITS)} to {duration(times[-1], DIGITS)}"]
    said += [
        f"{change.kind} of {percent(change.change)} on {change.after.run.created[:10]}" for change in series.changes
    ]
    return Chart(
        id,
        title=f"{one_line(name_of(series))} over its runs",
        description="; ".join(said),
        x=x,
        y=y,
        x_label="Run, the oldest first",
        y_label="Time of a call",
        shapes=tuple(shapes),
        words=words,
        width=WIDTH,
        height=HEIGHT,
        legend=LEGEND,
    )


def _levels(series: TrendSeries, x: Axis, y: Axis) -> Iterator[Shape]:
    times, reach = series.levels_ns, BANDS * series.levels.run_to_run
    for level in series.levels.levels:
        left, right = x.at(level.first + 0.6), x.at(level.last + 1.4)
        first, last = times[level.first], times[level.last]
        upper, lower = (tuple(y.at(time * (1 + sign * reach)) for time in (first, last)) for sign in (1, -1))
        band = f"M{left:g} {upper[0]:g}L{right:g} {upper[1]:g}V{lower[1]:g}L{left:g} {lower[0]:g}Z"
        yield Shape(band, "timing-band")
        yield Shape(line(left, y.at(first), right, y.at(last)), "timing-median")


def _mark(series: TrendSeries, change: TrendChange, x: Axis, y: Axis) -> ChartText:
    place = series.points.index(change.after)
    sign, tone = ("▼", "said-bad") if change.is_slower else ("▲", "said-good")
    text = f"{sign} {percent(change.change)}"
    at = x.at(place + 1)
    anchor: Anchor = "end" if at > (LEFT + HISTOGRAM_RIGHT) / 2 else "start"
    return ChartText(
        text,
        at + (-CLEAR if anchor == "end" else CLEAR),
        max(TOP + 12, min(BOTTOM - 4, y.at(series.levels_ns[place]) - 14)),
        anchor,
        tone,
    )


def runs_table(series: TrendSeries, id: str) -> Table:
    """Return a row a run, the newest first: a long table shows its first rows."""
    rows = tuple(_row(point, level) for point, level in zip(series.points, series.levels_ns, strict=True))[::-1]
    return Table(id, "Its runs", RUN_COLUMNS, rows, tall=len(rows) > MANY).without_empty()


def _row(point: TrendPoint, level_ns: float) -> tuple[Cell, ...]:
    run, median, clock = point.run, point.timing.median_ns, point.timing.sm_clock_mhz
    texts = (
        run.commit.short if run.commit else "",
        (run.device.driver if run.device else "") or "",
        run.toolchain.nvcc or "",
        run.toolchain.torch or "",
    )
    return (
        Cell(one_line(point.reference)),
        number(duration(median, DIGITS), median),
        number(duration(level_ns, DIGITS), level_ns),
        number(f"{clock:.0f} MHz", clock) if clock else Cell(),
        *(Cell(one_line(text)) if text else Cell() for text in texts),
    )
