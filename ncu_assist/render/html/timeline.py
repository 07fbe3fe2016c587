"""Charts of what ncu sampled while a kernel ran: how busy parts of the GPU were from moment to moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from statistics import mean, median

from ncu_assist.ncu.tables import SampledMetric
from ncu_assist.quantity import duration, quantity
from ncu_assist.record import Launch
from ncu_assist.render.html.charts import Axis, Shape, linear_axis
from ncu_assist.render.html.curves import BOTTOM, LEFT, RIGHT, TOP, CurveChart
from ncu_assist.render.words.terms import part_label

MOST_SAMPLED = 6  # metrics of a timeline
# Which are shown first, by the beginning of their names: is work there, do SMs issue, what is busy.
FIRST = (
    *("sm__cycles_active", "sm__inst_executed_realtime", "sm__pipe_tensor_cycles", "dramc__throughput"),
    *("lts__throughput", "l1tex__throughput", "lts__average_t_sector_hit_rate_realtime", "l1tex__t_sector_hit_rate"),
)
PERCENT = (".pct_of_peak_sustained_elapsed", ".pct")


def timeline_charts(sampled: Iterable[SampledMetric], launch: Launch) -> tuple[CurveChart, ...]:
    """Return how busy parts were while a launch ran; none where nothing was sampled.

    They end with the kernel: ncu samples for a while longer. Where its time is not known, with the last sample that
    counted something.
    """
    kept, last = drawn(sampled, launch)
    return tuple(_chart(one, last, place) for place, one in enumerate(kept))


def drawn(sampled: Iterable[SampledMetric], launch: Launch) -> tuple[list[SampledMetric], float]:
    """Return what is drawn of a launch, what matters most first, and the moment that it ends at."""
    own = charted([one for one in sampled if one.launch == launch.index])
    counted = [time for one in own for time, value in zip(one.times_ns, one.values, strict=True) if value]
    ends = [launch.duration_ns] if launch.duration_ns else counted
    return own, max(ends, default=0.0)


def charted(own: Iterable[SampledMetric]) -> list[SampledMetric]:
    """Return those of the metrics sampled of one launch that its page shows: of those that counted, FIRST before."""
    return sorted((one for one in own if any(one.values)), key=_rank)[:MOST_SAMPLED]


def _rank(one: SampledMetric) -> int:
    return next((place for place, start in enumerate(FIRST) if one.metric.startswith(start)), len(FIRST))


def _path(points: Sequence[tuple[int, int]]) -> str:
    """Return a line through points, each by its distance from the one before, in as few letters as can be."""
    drawn = "".join(f"M{across} {down}" for across, down in points[:1])
    last, level = "", 0
    for before, after in pairwise(points):
        across, down = after[0] - before[0], after[1] - before[1]
        if not down:  # level: drawn as one line, once it ends
            level += across
            continue
        drawn += f"h{level}" if level else ""
        last, level = "" if level else last, 0
        kind = "l" if across else "v"
        step = f"{across}{down if down < 0 else f' {down}'}" if across else f"{down}"
        drawn += f"{' ' if kind == last and not step.startswith('-') else '' if kind == last else kind}{step}"
        last = kind
    return drawn + (f"h{level}" if level else "")


def _by_pixel(kept: Sequence[tuple[float, float]], x: Axis) -> Iterator[tuple[int, float]]:
    """Yield what is drawn at each pixel: of several samples the least and the most, in their order."""
    for across, own in groupby(kept, key=lambda one: round(x.at(one[0]))):
        values = [value for _, value in own]
        ends = sorted({values.index(min(values)), values.index(max(values))})
        yield from ((across, values[place]) for place in ends)


def _chart(one: SampledMetric, last: float, place: int) -> CurveChart:
    kept = [(time, value) for time, value in zip(one.times_ns, one.values, strict=True) if time <= last]
    values = [value for _, value in kept]
    x = linear_axis([0.0, last], LEFT, RIGHT, duration)
    x = replace(x, ticks=x.ticks[:: max(1, len(x.ticks) // 3)])
    y = linear_axis([max(values)], BOTTOM, TOP)
    path = _path([(across, round(y.at(value))) for across, value in _by_pixel(kept, x)])
    unit = "%" if one.metric.endswith(PERCENT) else ""
    told = (("mean", mean(values)), ("median", median(values)), ("most", max(values)))
    said = ", ".join(f"{word} {quantity(value, unit)}" for word, value in told)
    words = f"{len(kept)} samples over {duration(last)}: {said}"
    title = part_label(one.metric) + (", per cycle active" if one.metric.endswith("per_cycle_active") else "")
    return CurveChart(f"timeline-{place}", title, words, x, y, "time", unit or "a sample", (Shape(path, "curve"),))
