"""What a verdict is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Word = Literal["faster", "slower", "same", "unclear", "not-comparable"]
Likely = Literal["faster", "slower"]


@dataclass(frozen=True)
class Verdict:
    """Which of two is faster. ``speedup`` is baseline time over candidate time, so above 1 the candidate is faster.

    ``low`` and ``high`` are its 99 % interval; both are None where samples could not be paired, and ``samples`` says
    then how many each side has. ``likely`` is set only beside ``unclear``. ``reason`` is a key of REASONS.
    ``clocks_mhz`` are the median SM clocks of the sides, None unless they differ so much that the reader must know.
    """

    verdict: Word
    likely: Likely | None
    reason: str
    speedup: float | None
    low: float | None
    high: float | None
    pairs: int
    samples: tuple[int, int] | None = None
    clocks_mhz: tuple[float, float] | None = None


def unclear(reason: str) -> Verdict:
    """Return the verdict where nothing can be said, not even how much faster."""
    return Verdict("unclear", None, reason, None, None, None, 0)


def not_comparable(reason: str) -> Verdict:
    """Return the verdict of two runs that differ in something that decides the time; ``reason`` says in what."""
    return Verdict("not-comparable", None, reason, None, None, None, 0)
