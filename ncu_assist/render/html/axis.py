"""Axes of charts: from values to places in the drawing, with round ticks whose texts do not touch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, floor, isfinite, log10
from typing import Literal

from ncu_assist.quantity import digits

TEXT_WIDTH = 7.6  # of one letter of a tick in the drawing's units, at the 13 of style.css, rounded up
GAP = 10.0  # between the texts of two ticks
LINE_GAP = 22.0  # between two ticks of a vertical axis
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
WANTED = 6  # ticks of a linear axis, about
LOG_STEPS = ((1, 2, 5), (1, 3), (1,))  # within a decade, the more the better
Text = Callable[[float], str]


@dataclass(frozen=True)
class Tick:
    """A marked value: its place in the drawing and its text."""

    value: float
    at: float
    text: str


@dataclass(frozen=True)
class Axis:
    """Values ``low`` to ``high`` on places ``start`` to ``end``; a vertical axis has its end above, at a smaller y."""

    kind: Literal["linear", "log"]
    low: float
    high: float
    start: float
    end: float
    ticks: tuple[Tick, ...] = ()

    def at(self, value: float) -> float:
        """Return the place of a value, held within the axis; of 0 and less on a log axis its start."""
        if self.kind == "log":
            share = (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low)) if value > 0 else 0.0
        else:
            share = (value - self.low) / (self.high - self.low)
        return round(self.start + min(max(share, 0.0), 1.0) * (self.end - self.start), 2)

    def holds(self, value: float) -> bool:
        """Tell whether a value lies on the axis."""
        return self.low <= value <= self.high


def linear_axis(values: Iterable[float], start: float, end: float, text: Text = digits) -> Axis:
    """Return a linear axis from 0, or the least value where that is negative, to a round number above the largest.

    Without values it goes from 0 to 1.
    """
    known = [value for value in values if isfinite(value)]
    low, high = min([0.0, *known]), max([0.0, *known])
    high = high if high > low else low + 1.0
    step = _step((high - low) / WANTED)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    bare = Axis("linear", first * step, last * step, start, end)
    ticks = tuple(_tick(bare, n * step, text) for n in range(first, last + 1))
    return replace(bare, ticks=_thinned(ticks, bare))


def log_axis(values: Iterable[float], start: float, end: float, text: Text = digits) -> Axis:
    """Return a logarithmic axis around all values above 0, with ends of 1, 2 or 5 times a power of ten.

    Without such values it goes from 1 to 10.
    """
    known = [value for value in values if isfinite(value) and value > 0] or [1.0, 10.0]
    low, high = _round_log(min(known), down=True), _round_log(max(known), down=False)
    bare = Axis("log", low, high if high > low else low * 10, start, end)
    decades = range(floor(log10(bare.low)), ceil(log10(bare.high)) + 1)
    ticks: tuple[Tick, ...] = ()
    for within in LOG_STEPS:
        marked = [m * 10.0**d for d in decades for m in within]
        ticks = tuple(_tick(bare, value, text) for value in marked if _inside(bare, value))
        if len(ticks) > 1 and _fit(ticks, bare):
            return replace(bare, ticks=ticks)
    return replace(bare, ticks=_thinned(ticks, bare))


def _inside(axis: Axis, value: float) -> bool:
    return axis.low * (1 - 1e-9) <= value <= axis.high * (1 + 1e-9)


def _tick(axis: Axis, value: float, text: Text) -> Tick:
    return Tick(value, axis.at(value), text(float(f"{value:.12g}")))  # 0.30000000000000004 is 0.3


def _fit(ticks: tuple[Tick, ...], axis: Axis) -> bool:
    """Tell whether the texts of neighbours do not touch: beside each other, or below each other on a vertical axis."""
    pairs = pairwise(ticks)
    return all(abs(b.at - a.at) >= _room(a, b, axis) for a, b in pairs)


def _room(one: Tick, other: Tick, axis: Axis) -> float:
    if axis.end < axis.start:
        return LINE_GAP
    return (len(one.text) + len(other.text)) / 2 * TEXT_WIDTH + GAP


def _thinned(ticks: tuple[Tick, ...], axis: Axis) -> tuple[Tick, ...]:
    """Return every n-th tick, with the smallest n whose texts do not touch."""
    strides = (ticks[::n] for n in range(1, len(ticks) + 1))
    return next((some for some in strides if _fit(some, axis)), ticks[:1])


def _step(rough: float) -> float:
    power = 10.0 ** floor(log10(rough))
    return next(step for step in STEPS if step * power >= rough * (1 - 1e-9)) * power


def _round_log(value: float, down: bool) -> float:
    power = 10.0 ** floor(log10(value))
    ends = [m * power for m in (1.0, 2.0, 5.0, 10.0)]
    if down:
        return max(end for end in ends if end <= value * (1 + 1e-9))
    return min(end for end in ends if end >= value * (1 - 1e-9))
