"""Horizontal bars as data: a label, a share of the full width, what it says; a ghost of the other side, a ceiling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ncu_assist.render.html.term import Term

BarTone = Literal["", "good", "bad", "limit", "dim"]
FULL = 100.0  # of the viewBox: a share in percent is a length
HEAT_LEVELS = 8


@dataclass(frozen=True)
class Bar:
    """One bar; shares are of the full width, 0 to 1. ``limit`` as tone marks what binds the kernel.

    ``ghost`` is the baseline's share, ``ceiling`` what this GPU reaches, ``inner`` a bar of a unit below the one above.
    """

    label: Term
    share: float | None
    text: str
    ghost: float | None = None
    ceiling: float | None = None
    tone: BarTone = ""
    inner: bool = False

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
