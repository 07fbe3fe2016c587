"""The samples of a run over the rounds of its bench, and how they are spread: where each stands, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, log10

from ncu_assist.analysis.diff.timing import TimedSamples
from ncu_assist.quantity import DIGITS, duration
from ncu_assist.record import Timing
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.charts import (
    LINE_GAP,
    Axis,
    Chart,
    ChartSection,
    ChartText,
    Shape,
    Tick,
    line,
    linear_axis,
    log_axis,
    round_step,
)

WIDTH, HEIGHT = 1130, 330
LEFT, RIGHT, TOP, BOTTOM = 88.0, 860.0, 44.0, 278.0
HISTOGRAM_LEFT, HISTOGRAM_RIGHT = 884.0, 1112.0  # of the histogram
BINS = 26
MOST_RANGES = (
    4.0  # interquartile ranges beyond the quartiles: what lies farther is drawn at the edge, else it squeezes the rest
)
LEAST_SPAN = 0.02  # of the median: less is no more than the timer resolves of a short kernel
APART = 3.0  # medians this far apart share a logarithmic axis


@dataclass(frozen=True)
class SampleSeries:
    """One side: when, in rounds, how long, which were late, and the quartiles of the others."""

    at: tuple[float, ...]
    times_ns: tuple[float, ...]
    late: tuple[bool, ...]
    quartiles: tuple[float, float, float]

    @property
    def kept(self) -> list[float]:
        return [time for time, late in zip(self.times_ns, self.late, strict=True) if not late]


def time_axis(sides: Sequence[SampleSeries]) -> Axis:
    """Return the axis of times: around the samples, not from 0, as what matters is how they differ."""
    ends = [_axis_ends(one) for one in sides]
    low, high = min(one[0] for one in ends), max(one[1] for one in ends)
    medians = [one.quartiles[1] for one in sides]
    if low > 0 and max(medians) > APART * min(medians):
        return log_axis((low, high), BOTTOM, TOP, text=duration)
    step = round_step((high - low) / 8)
    first, last = floor(low / step), ceil(high / step)
    bare = Axis("linear", first * step, last * step, BOTTOM, TOP)
    every = max(1, ceil(LINE_GAP * (last - first) / (BOTTOM - TOP)))
    ticks = tuple(Tick(n * step, bare.at(n * step), _tick_text(n * step, step)) for n in range(first, last + 1, every))
    return replace(bare, ticks=ticks)


def _axis_ends(one: SampleSeries) -> tuple[float, float]:
    q1, middle, q3 = one.quartiles
    far = MOST_RANGES * max(q3 - q1, LEAST_SPAN * middle / MOST_RANGES)
    times = one.kept or list(one.times_ns)
    return max(min(times), q1 - far), min(max(times), q3 + far) if max(times) > q3 else q3 + far


def _tick_text(nanoseconds: float, step: float) -> str:
    """Return a time with as many places as tell two ticks apart."""
    scale, unit = next(((s, u) for s, u in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")) if nanoseconds >= s), (1.0, "ns"))
    places = max(0, -floor(log10(step / scale) + 1e-9))
    if places and f"{step / scale:.{places}f}" != f"{step / scale:.{places + 1}f}".rstrip("0"):
        places += f"{step / scale:.{places + 1}f}"[-1] != "0"
    return f"{nanoseconds / scale:.{places}f} {unit}"


def dots(one: SampleSeries, x: Axis, y: Axis, ghost: bool = False) -> list[Shape]:
    """Return the samples as dots in one path, late ones as crosses."""
    kind = " timing-before" if ghost else ""
    spots = [(x.at(a), y.at(t), late) for a, t, late in zip(one.at, one.times_ns, one.late, strict=True)]
    kept = "".join(f"M{a:.1f} {t:.1f}h0" for a, t, late in spots if not late)
    crosses = "".join(f"M{a - 4:.1f} {t - 4:.1f}l8 8m0 -8l-8 8" for a, t, late in spots if late)
    made = [Shape(kept, f"timing-dots{kind}")] if kept else []
    return [*made, *([Shape(crosses, "timing-late")] if crosses else [])]


def summary(one: SampleSeries, y: Axis, ghost: bool = False) -> list[Shape]:
    """Return the band from the first to the third quartile, and the median."""
    low, middle, high = (y.at(value) for value in one.quartiles)
    band = f"M{LEFT:g} {low:g}H{HISTOGRAM_RIGHT:g}V{min(high, low - 1):g}H{LEFT:g}Z"
    end = " timing-before" if ghost else ""
    return [Shape(band, f"timing-band{end}"), Shape(line(LEFT, middle, HISTOGRAM_RIGHT, middle), f"timing-median{end}")]


def histogram(one: SampleSeries, y: Axis, most: int, ghost: bool = False) -> list[Shape]:
    """Return how many samples lie in each part of the axis, as bars from the left, those of a ghost paler."""
    counts = bins(one, y)
    each = (y.start - y.end) / BINS
    wide = [(HISTOGRAM_RIGHT - HISTOGRAM_LEFT) * count / most for count in counts]
    bars = "".join(
        f"M{HISTOGRAM_LEFT:g} {y.start - i * each:.2f}h{w:.1f}v{-(each - 1):.2f}h{-w:.1f}Z"
        for i, w in enumerate(wide)
        if w
    )
    return [Shape(bars, "timing-bars-before" if ghost else "mark")] if bars else []


def bins(one: SampleSeries, y: Axis) -> list[int]:
    """Return the number of samples that were not late in each of equal parts of the axis, from below."""
    counts = [0] * BINS
    for time in one.kept:
        share = (y.start - y.at(time)) / (y.start - y.end)
        counts[min(BINS - 1, int(share * BINS))] += 1
    return counts


def outside(sides: Sequence[SampleSeries], y: Axis) -> list[ChartText]:
    """Return how many samples lie beyond the axis, and stand at its edge."""
    times = [time for one in sides for time in one.times_ns]
    above, below = sum(time > y.high for time in times), sum(time < y.low for time in times)
    made = []
    if above:
        most = duration(max(times))
        made.append(ChartText(f"▲ {above} above, up to {most}, at the edge", RIGHT - 4, TOP - 10, "end"))
    if below:
        made.append(ChartText(f"▼ {below} below, down to {duration(min(times))}", RIGHT - 4, BOTTOM - 6, "end"))
    return made


FLUSHES = {"read": "L2 flushed by reading", "memset": "L2 flushed by memset", "none": "L2 not flushed"}


def timing_chart(
    samples: TimedSamples | None,
    baseline: TimedSamples | None = None,
    collect: str = "ncu-assist bench KERNEL",
    before_is: str = "the baseline",
    why: str = "",
) -> ChartSection:
    """Return the chart of all samples; those of ``baseline``, called ``before_is``, are ghosts.

    ``collect`` is the command that takes some, which does not help where it is known ``why`` there are none to use.
    """
    if samples is None or not samples.times_ns:
        return ChartSection(missing=why or "No samples were taken.", collect="" if why else collect)
    sides = [_series(one) for one in (baseline, samples) if one and one.times_ns]
    x = linear_axis([*(max(one.at, default=0.0) for one in sides), 1.0], LEFT, RIGHT)
    y = time_axis(sides)
    shapes, words = list[Shape](), list[ChartText]()
    most = max(1, *(count for one in sides for count in bins(one, y)))
    for one in sides:
        ghost = one is not sides[-1]
        shapes += [*summary(one, y, ghost), *histogram(one, y, most, ghost), *dots(one, x, y, ghost)]
    words += outside(sides, y)
    told = tuple(_sentence(one) for one in (baseline, samples) if one)
    has_late = any(samples.late) or bool(baseline and any(baseline.late))
    chart = Chart(
        "timing-figure",
        "Samples by round",
        " ".join(told),
        WIDTH,
        HEIGHT,
        tuple(shapes),
        tuple(words),
        x,
        y,
        "Round of the bench",
        "Time of a call",
        legend="● a sample, at its position in the round"
        + (" · × late, left out" if has_late else "")
        + " · line: median · band: first to third quartile · bars: number of samples with this time"
        + (f" · grey: {before_is}" if len(sides) > 1 else ""),
    )
    return ChartSection(told, chart)


def _series(one: TimedSamples) -> SampleSeries:
    most = max(one.positions, default=0) + 1
    at = tuple(r + p / most for r, p in zip(one.rounds, one.positions, strict=True))
    return SampleSeries(at, one.times_ns, one.late, (one.timing.q1_ns, one.timing.median_ns, one.timing.q3_ns))


def middle_half(timing: Timing) -> str:
    """Return the quartiles with as many digits as tell them apart, up to two more than elsewhere."""
    for more in (DIGITS, DIGITS + 1, DIGITS + 2):
        ends = duration(timing.q1_ns, more), duration(timing.q3_ns, more)
        if ends[0] != ends[1]:
            break
    (first, unit), (_, last) = ends[0].split(), ends[1].split()
    return f"{first if unit == last else ends[0]} to {ends[1]}"


def _sentence(one: TimedSamples) -> str:
    timing = one.timing
    late = f", {timing.dropped} late and left out" if timing.dropped else ""
    flush = FLUSHES.get(one.flush, f"flush {one_line(one.flush)}")
    return (
        f"{one_line(one.version)}: median {duration(timing.median_ns)}, half of the samples within "
        f"{middle_half(timing)}; {timing.samples} samples{late}, "
        f"bench {one_line(timing.bench_id)}, {flush}."
    )
