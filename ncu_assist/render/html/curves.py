"""Small charts of one curve: how many warps would fit by what a block takes, and what was sampled as a kernel ran."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from statistics import mean, median

from ncu_assist.analysis.run_view import RunView
from ncu_assist.ncu.tables import SampledMetric
from ncu_assist.quantity import digits, duration, quantity
from ncu_assist.record import Launch
from ncu_assist.render.html.charts import Axis, Chart, ChartText, Shape, Tick, circle, line, linear_axis
from ncu_assist.render.words.launches import limits_of
from ncu_assist.render.words.terms import part_label
from ncu_assist.rules.low_occupancy import allowed_blocks
from ncu_assist.rules.model.occupancy import OccupancyCurve, Over, occupancy_curves

WIDTH, HEIGHT = 360, 210
LEFT, RIGHT, TOP, BOTTOM = 64.0, 330.0, 26.0, 162.0
NAMES: dict[Over, tuple[str, str]] = {
    "block_size": ("Threads a block", "threads"),
    "registers": ("Registers a thread", "registers"),
    "shared_memory": ("Shared memory a block", "byte"),
}


def occupancy_charts(shown: RunView) -> tuple[Chart, ...]:
    """Return how many warps an SM would hold with other blocks, registers or shared memory; none where not known."""
    results = shown.counted.results
    if results is None:
        return ()
    limited_by = limits_of(allowed_blocks(results.facts))[0]
    return tuple(_occupancy_chart(one, limited_by) for one in occupancy_curves(results.facts))


def occupancy_basis(shown: RunView) -> str:
    """Return by what limits the charts were drawn where the report does not say them; empty where it does."""
    results = shown.counted.results
    assumed = next((one.assumed for one in occupancy_curves(results.facts)), "") if results else ""
    return f"The report does not say what an SM holds: limits of compute capability {assumed}." if assumed else ""


def _occupancy_chart(curve: OccupancyCurve, limited_by: str) -> Chart:
    title, unit = NAMES[curve.over]
    text = (lambda value: quantity(value, "byte")) if unit == "byte" else digits
    x = linear_axis([point.value for point in curve.points], LEFT, RIGHT, text)
    x = replace(x, ticks=x.ticks[:: max(1, len(x.ticks) // 4)])
    y = _warps_axis(curve.most_warps)
    now = curve.here
    places = [(x.at(point.value), y.at(point.warps)) for point in curve.points]
    more = max(curve.points, key=lambda point: point.warps)  # of several the first
    best = [point.value for point in curve.points if point.warps == more.warps]
    own = " without the driver's" if curve.over == "shared_memory" else ""
    here = f"now {text(curve.now)}{own}: {now.warps} warps, limited by {limited_by or now.limiter}"
    ends = " to ".join(dict.fromkeys(map(text, (best[0], best[-1]))))
    most = f"; at most {more.warps}, at {ends}" if more.warps > now.warps else "; no other value gives more"
    fewer = [point for point in curve.points if point.value < curve.now and point.warps > now.warps]
    if fewer and curve.over != "block_size" and fewer[-1].warps < more.warps:
        most = f"; {fewer[-1].warps} at {text(fewer[-1].value)}{most}"
    at = (x.at(curve.now), y.at(now.warps))
    shapes = (
        Shape(_steps(places, down=curve.over != "block_size"), "curve"),
        Shape(line(at[0], TOP, at[0], BOTTOM), "leader"),
        Shape(circle(*at, 5), "point point-main", hint=here),
    )
    above = at[1] - 9 if at[1] > TOP + 20 else at[1] + 20  # at the top stands what the axis is of
    label = ChartText(f"now {now.warps}", min(at[0] + 8, RIGHT - 46), above, "start", "strong")
    about = f"occupancy-{curve.over}", title, here + most
    return Chart(*about, WIDTH, HEIGHT, shapes, (label,), x, y, title, "warps an SM")


def _warps_axis(most: int) -> Axis:
    """Return an axis that ends with what an SM can hold: no line of a number that no SM reaches."""
    bare = Axis("linear", 0.0, float(most), BOTTOM, TOP)
    return replace(bare, ticks=tuple(Tick(n, bare.at(n), digits(n)) for n in (most * part / 4 for part in range(5))))


def _steps(places: Sequence[tuple[float, float]], down: bool) -> str:
    """Return steps between places; ``down``: a value holds up to the one at its place, else from there on."""
    path = f"M{places[0][0]:g} {places[0][1]:g}"
    for (_, before), (x, y) in pairwise(places):
        corner = f"V{y:g}H{x:g}" if down else f"H{x:g}V{y:g}"
        path += corner if y != before else f"H{x:g}"
    return path


MOST_SAMPLED = 6  # metrics of a timeline
# Which are shown first, by the beginning of their names: is work there, do SMs issue, what is busy.
FIRST = (
    *("sm__cycles_active", "sm__inst_executed_realtime", "sm__pipe_tensor_cycles", "dramc__throughput"),
    *("lts__throughput", "l1tex__throughput", "lts__average_t_sector_hit_rate_realtime", "l1tex__t_sector_hit_rate"),
)
PERCENT = (".pct_of_peak_sustained_elapsed", ".pct")


def timeline_charts(sampled: Iterable[SampledMetric], launch: Launch) -> tuple[Chart, ...]:
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


def _chart(one: SampledMetric, last: float, place: int) -> Chart:
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
    about, shapes = (f"timeline-{place}", title, words), (Shape(path, "curve"),)
    return Chart(*about, WIDTH, HEIGHT, shapes, (), x, y, "time", unit or "a sample")
