"""The samples of a run over the rounds of its bench, and how they are spread."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.analysis.samples import TimedSamples
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.axis import Axis, linear_axis
from ncu_assist.render.html.drawing import Shape, Words
from ncu_assist.render.html.timing_drawing import (
    HEIGHT,
    LEFT,
    RIGHT,
    WIDTH,
    Samples,
    bins,
    dots,
    histogram,
    outside,
    summary,
    time_axis,
)

FLUSHES = {"read": "L2 flushed by reading", "memset": "L2 flushed by memset", "none": "L2 not flushed"}


@dataclass(frozen=True)
class TimingChart:
    """A timing chart ready to be drawn; ``missing`` instead of all else where nothing was timed."""

    says: tuple[str, ...] = ()
    x: Axis | None = None
    y: Axis | None = None
    shapes: tuple[Shape, ...] = ()
    words: tuple[Words, ...] = ()
    description: str = ""
    has_baseline: bool = False
    has_late: bool = False
    missing: str = ""
    collect: str = ""
    id: str = "timing-figure"
    width: int = WIDTH
    height: int = HEIGHT


def timing_chart(
    samples: TimedSamples | None, baseline: TimedSamples | None = None, collect: str = "ncu-assist bench KERNEL"
) -> TimingChart:
    """Return the chart of all samples; those of ``baseline`` are ghosts. ``collect`` is the command that takes some."""
    if samples is None or not samples.times_ns:
        return TimingChart(missing="No samples were taken.", collect=collect)
    sides = [_side(one) for one in (baseline, samples) if one and one.times_ns]
    x = linear_axis([*(max(one.at, default=0.0) for one in sides), 1.0], LEFT, RIGHT)
    y = time_axis(sides)
    shapes, words = list[Shape](), list[Words]()
    most = max(1, *(count for one in sides for count in bins(one, y)))
    for one in sides:
        ghost = one is not sides[-1]
        shapes += [*summary(one, y, ghost), *histogram(one, y, most, ghost), *dots(one, x, y, ghost)]
    words += outside(sides, y)
    told = tuple(_told(one) for one in (samples, baseline) if one)
    return TimingChart(
        says=told,
        x=x,
        y=y,
        shapes=tuple(shapes),
        words=tuple(words),
        description=" ".join(told),
        has_baseline=len(sides) > 1,
        has_late=any(samples.late) or bool(baseline and any(baseline.late)),
    )


def _side(one: TimedSamples) -> Samples:
    most = max(one.positions, default=0) + 1
    at = tuple(r + p / most for r, p in zip(one.rounds, one.positions, strict=True))
    return Samples(at, one.times_ns, one.late, (one.timing.q1_ns, one.timing.median_ns, one.timing.q3_ns))


def _told(one: TimedSamples) -> str:
    timing = one.timing
    late = f", {timing.dropped} late and left out" if timing.dropped else ""
    flush = FLUSHES.get(one.flush, f"flush {one_line(one.flush)}")
    return (
        f"{one_line(one.version)}: median {duration(timing.median_ns)}, half of the samples within "
        f"{duration(timing.q1_ns)} to {duration(timing.q3_ns)}; {timing.samples} samples{late}, "
        f"bench {one_line(timing.bench_id)}, {flush}."
    )
