"""Parts of drawings as data: paths and texts with their places, arrow heads, and where a label finds room."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import hypot
from typing import Literal

from ncu_assist.render.html.axis import TEXT_WIDTH

Anchor = Literal["start", "middle", "end"]
Place = tuple[float, float]
ASCENT, DESCENT = 12.0, 4.0  # of the 13 of style.css, rounded up


@dataclass(frozen=True)
class Shape:
    """A path of a class of style.css; ``width`` is its stroke's, empty for the class's; ``hint`` is said on hover."""

    d: str
    cls: str
    hint: str = ""
    width: str = ""


@dataclass(frozen=True)
class Words:
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

    def within(self, other: Box) -> bool:
        """Tell whether it lies wholly in another."""
        return (
            self.left >= other.left
            and self.right <= other.right
            and self.top >= other.top
            and self.bottom <= other.bottom
        )


def box_of(words: Words) -> Box:
    """Return about the room that a text takes; letters are taken to be wider than they are."""
    width = len(words.text) * TEXT_WIDTH
    left = words.x - {"start": 0.0, "middle": width / 2, "end": width}[words.anchor]
    return Box(left, words.y - ASCENT, left + width, words.y + DESCENT)


def with_room(candidates: Sequence[Words], taken: Iterable[Box], whole: Box) -> Words:
    """Return the first of some places of a text that covers nothing and lies within ``whole``, else the last one."""
    others = list(taken)
    for words in candidates:
        box = box_of(words)
        if box.within(whole) and not any(box.covers(other) for other in others):
            return words
    return candidates[-1]


def around(text: str, x: float, y: float, away: float, cls: str = "") -> list[Words]:
    """Return places for the label of a point: beside it, below, above, then farther off, below first."""
    beside: list[Words] = [
        Words(text, x + away, y + 4.5, "start", cls),
        Words(text, x - away, y + 4.5, "end", cls),
    ]
    for step in range(1, 12):
        for side in (1, -1):
            lower = round(y + 4.5 + side * (away + 8 + 17 * (step - 1)), 2)
            beside += [Words(text, x + 4, lower, "start", cls), Words(text, x - 4, lower, "end", cls)]
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


def short_of(start: Place, end: Place, away: float) -> Place:
    """Return the place on the way from one place to another that is ``away`` from the other."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    share = 1 - away / hypot(dx, dy)
    return start[0] + share * dx, start[1] + share * dy


def circle(x: float, y: float, radius: float) -> str:
    """Return the path of a circle."""
    half = f"a{radius:g} {radius:g} 0 1 0 "
    return f"M{x - radius:g} {y:g}{half}{2 * radius:g} 0{half}{-2 * radius:g} 0Z"
