"""Parts of charts as data: axes with round ticks, shapes and texts with their places, bars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, floor, hypot, isfinite, log10
from typing import Literal

from ncu_assist.quantity import digits
from ncu_assist.render.table import Badge, Table, Term

TEXT_WIDTH = 7.6  # of one letter of a tick in the drawing's units, at the 13 of style.css, rounded up
GAP = 10.0  # between the texts of two ticks
LINE_GAP = 22.0  # between two ticks of a vertical axis
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
WANTED = 6  # ticks of a linear axis, about
LOG_STEPS = ((1, 2, 5), (1, 3), (1,))  # within a decade, the more the better
TickText = Callable[[float], str]


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


def linear_axis(values: Iterable[float], start: float, end: float, text: TickText = digits) -> Axis:
    """Return a linear axis from 0, or the least value where that is negative, to a round number above the largest.

    Without values it goes from 0 to 1.
    """
    known = [value for value in values if isfinite(value)]
    low, high = min([0.0, *known]), max([0.0, *known])
    high = high if high > low else low + 1.0
    step = round_step((high - low) / WANTED)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    bare = Axis("linear", first * step, last * step, start, end)
    ticks = tuple(_tick_at(bare, n * step, text) for n in range(first, last + 1))
    return replace(bare, ticks=_thinned(ticks, bare))


def log_axis(values: Iterable[float], start: float, end: float, text: TickText = digits) -> Axis:
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
        ticks = tuple(_tick_at(bare, value, text) for value in marked if _inside(bare, value))
        if len(ticks) > 1 and _fit(ticks, bare):
            return replace(bare, ticks=ticks)
    return replace(bare, ticks=_thinned(ticks, bare))


def _inside(axis: Axis, value: float) -> bool:
    return axis.low * (1 - 1e-9) <= value <= axis.high * (1 + 1e-9)


def _tick_at(axis: Axis, value: float, text: TickText) -> Tick:
    return Tick(value, axis.at(value), text(float(f"{value:.12g}")))  # 0.30000000000000004 is 0.3


def _fit(ticks: tuple[Tick, ...], axis: Axis) -> bool:
    """Tell whether the texts of neighbours do not touch: beside each other, or below each other on a vertical axis."""
    pairs = pairwise(ticks)
    return all(abs(b.at - a.at) >= _least_distance(a, b, axis) for a, b in pairs)


def _least_distance(one: Tick, other: Tick, axis: Axis) -> float:
    if axis.end < axis.start:
        return LINE_GAP
    return (len(one.text) + len(other.text)) / 2 * TEXT_WIDTH + GAP


def _thinned(ticks: tuple[Tick, ...], axis: Axis) -> tuple[Tick, ...]:
    """Return every n-th tick, with the smallest n whose texts do not touch."""
    strides = (ticks[::n] for n in range(1, len(ticks) + 1))
    return next((some for some in strides if _fit(some, axis)), ticks[:1])


def round_step(rough: float) -> float:
    """Return the round number from ``rough`` on that ticks may lie apart."""
    power = 10.0 ** floor(log10(rough)) if rough > 0 else 1.0
    return next(step for step in STEPS if step * power >= rough * (1 - 1e-9)) * power


def _round_log(value: float, down: bool) -> float:
    power = 10.0 ** floor(log10(value))
    ends = [m * power for m in (1.0, 2.0, 5.0, 10.0)]
    if down:
        return max(end for end in ends if end <= value * (1 + 1e-9))
    return min(end for end in ends if end >= value * (1 - 1e-9))


Anchor = Literal["start", "middle", "end"]
ChartPoint = tuple[float, float]
ASCENT, DESCENT = 12.0, 4.0  # of the 13 of style.css, rounded up


@dataclass(frozen=True)
class Shape:
    """A path of a class of style.css; ``width`` is its stroke's, empty for the class's; ``hint`` is said on hover."""

    d: str
    cls: str
    hint: str = ""
    width: str = ""


@dataclass(frozen=True)
class ChartText:
    """A text at its baseline; ``cls`` is a class of style.css for texts."""

    text: str
    x: float
    y: float
    anchor: Anchor = "start"
    cls: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Box:
    """A rectangle that is taken."""

    left: float
    top: float
    right: float
    bottom: float

    def covers(self, other: Box) -> bool:
        """Tell whether two rectangles share more than an edge."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def away(self, x: float, y: float) -> float:
        """Return how far a point is from it, 0 within."""
        return hypot(max(self.left - x, x - self.right, 0.0), max(self.top - y, y - self.bottom, 0.0))

    def within(self, other: Box) -> bool:
        """Tell whether it lies wholly in another."""
        return (
            self.left >= other.left
            and self.right <= other.right
            and self.top >= other.top
            and self.bottom <= other.bottom
        )


@dataclass(frozen=True)
class Chart:
    """A drawing: shapes below words, over axes; one without axes has ``boxes``, each of a class of style.css.

    ``description`` says it in words, ``legend`` what its marks mean.
    """

    id: str
    title: str
    description: str
    width: int
    height: int
    shapes: tuple[Shape, ...]
    words: tuple[ChartText, ...] = ()
    x: Axis | None = None
    y: Axis | None = None
    x_label: str = ""
    y_label: str = ""
    legend: str = ""
    boxes: tuple[tuple[Box, str], ...] = ()


@dataclass(frozen=True)
class ChartSection:
    """A chart with its outcome in sentences and every number in tables; ``missing`` instead where nothing was counted.

    Without a chart ``says`` tells why. ``folded`` is a table with what it is of, ``collect`` the command that takes
    what is missing.
    """

    says: tuple[str, ...] = ()
    chart: Chart | None = None
    table: Table | None = None
    notes: tuple[str, ...] = ()
    by_operation: tuple[Table, ...] = ()
    folded: tuple[str, Table] | None = None
    missing: str = ""
    collect: str = ""


def box_of(words: ChartText) -> Box:
    """Return about the room that a text takes; letters are taken to be wider than they are."""
    width = len(words.text) * TEXT_WIDTH
    left = words.x - {"start": 0.0, "middle": width / 2, "end": width}[words.anchor]
    return Box(left, words.y - ASCENT, left + width, words.y + DESCENT)


def with_room(candidates: Sequence[ChartText], taken: Iterable[Box], whole: Box) -> ChartText:
    """Return the first of some places of a text that covers nothing and lies within ``whole``, else the last one."""
    others = list(taken)
    for words in candidates:
        box = box_of(words)
        if box.within(whole) and not any(box.covers(other) for other in others):
            return words
    return candidates[-1]


def around(text: str, x: float, y: float, away: float, cls: str = "") -> list[ChartText]:
    """Return places for the label of a point: beside it, below, above, then farther off, below first."""
    beside: list[ChartText] = [
        ChartText(text, x + away, y + 4.5, "start", cls),
        ChartText(text, x - away, y + 4.5, "end", cls),
    ]
    for step in range(1, 12):
        for side in (1, -1):
            lower = round(y + 4.5 + side * (away + 8 + 17 * (step - 1)), 2)
            beside += [ChartText(text, x + 4, lower, "start", cls), ChartText(text, x - 4, lower, "end", cls)]
    return beside


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return places, in their order, moved as little as need be to be ``gap`` apart and within ``low`` and ``high``."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = list(places)
    before = low - gap
    for i in order:
        before = moved[i] = max(places[i], before + gap)
    after = high + gap
    for i in reversed(order):
        after = moved[i] = min(moved[i], after - gap)
    return [round(place, 2) for place in moved]


def line(x1: float, y1: float, x2: float, y2: float) -> str:
    """Return the path of a line."""
    return f"M{x1:g} {y1:g}L{x2:g} {y2:g}"


def arrow(x1: float, y1: float, x2: float, y2: float, head: float = 9.0) -> str:
    """Return the path of the head of an arrow that points from the first place to the second, its tip there."""
    long = hypot(x2 - x1, y2 - y1)
    if long == 0:
        return ""
    ux, uy = (x2 - x1) / long, (y2 - y1) / long
    bx, by = x2 - head * ux, y2 - head * uy
    wide = head * 0.5
    corners = ((x2, y2), (bx - wide * uy, by + wide * ux), (bx + wide * uy, by - wide * ux))
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in corners) + "Z"


def short_of(start: ChartPoint, end: ChartPoint, away: float) -> ChartPoint:
    """Return the place on the way from one place to another that is ``away`` from the other."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    share = 1 - away / hypot(dx, dy)
    return start[0] + share * dx, start[1] + share * dy


def circle(x: float, y: float, radius: float) -> str:
    """Return the path of a circle."""
    half = f"a{radius:g} {radius:g} 0 1 0 "
    return f"M{x - radius:g} {y:g}{half}{2 * radius:g} 0{half}{-2 * radius:g} 0Z"


BarTone = Literal["", "good", "bad", "limit", "dim"]
FULL = 100.0  # of the viewBox: a share in percent is a length
HEAT_LEVELS = 8


@dataclass(frozen=True)
class Fact:
    """A value with its name: in a list, or as a number that stands out. ``note`` is a dim line, ``was`` the baseline's.

    ``is_code`` for what is typed or compared letter by letter.
    """

    term: Term
    text: str
    note: str = ""
    was: str = ""
    is_code: bool = False
    badge: Badge | None = None


@dataclass(frozen=True)
class Bar:
    """One bar; shares are of the full width, 0 to 1. ``limit`` as tone marks what binds the kernel.

    ``ghost`` is the baseline's share, ``ceiling`` what this GPU reaches, ``inner`` a bar of a unit below the one above,
    ``note`` stands below the text.
    """

    label: Term
    share: float | None
    text: str
    ghost: float | None = None
    ceiling: float | None = None
    tone: BarTone = ""
    inner: bool = False
    note: str = ""

    @property
    def width(self) -> str:
        return length(self.share)

    @property
    def ghost_width(self) -> str:
        return length(self.ghost)

    @property
    def ceiling_at(self) -> str:
        return length(self.ceiling)


@dataclass(frozen=True)
class Bars:
    """Bars below each other, with a caption; ``scale`` are ticks below: share and text."""

    caption: str
    bars: tuple[Bar, ...]
    scale: str = ""


def length(share: float | None) -> str:
    """Return a share of the full width as a length of the viewBox, held within it; nothing has none."""
    return f"{min(max(share or 0.0, 0.0), 1.0) * FULL:.2f}".rstrip("0").rstrip(".")


def heat_level(share: float, most: float = 1.0) -> int:
    """Return the class of a share of the hottest, h0 (nothing) to h8; anything above nothing is at least h1."""
    if share <= 0 or most <= 0:
        return 0
    return min(HEAT_LEVELS, 1 + int(min(share / most, 1.0) * (HEAT_LEVELS - 0.001)))
