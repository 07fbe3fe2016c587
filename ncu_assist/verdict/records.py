"""What a verdict is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Word = Literal["faster", "slower", "same", "unclear", "not-comparable"]
Likely = Literal["faster", "slower"]
KILO = 1000  # ns times MHz are thousandths of a cycle


@dataclass(frozen=True)
class Cycles:
    """Two versions by the SM cycles that they take, which are time times SM clock, as ``Verdict`` has them by time.

    ``medians`` are those of the sides, in cycles, None where that is not known of the sides but of their ratio.
    """

    verdict: Word
    reason: str
    speedup: float
    low: float | None = None
    high: float | None = None
    medians: tuple[float, float] | None = None


@dataclass(frozen=True)
class Verdict:
    """Which of two is faster. ``speedup`` is baseline time over candidate time, so above 1 the candidate is faster.

    ``low`` and ``high`` are its 99 % interval; both are None where samples could not be paired, and ``samples`` says
    then how many each side has. ``likely`` is set only beside ``unclear``. ``reason`` is a key of REASONS.
    ``clocks_mhz`` are the median SM clocks of the sides, None unless they differ so much that the reader must know.
    ``cycles`` says the same of SM cycles, None where the clock of a side is not known. ``by_clock``: it is faster or
    slower because its SMs ran at another clock, as a version does that draws more or less power; it does not take fewer
    or more cycles.
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
    cycles: Cycles | None = None
    by_clock: bool = False

    @property
    def words(self) -> str:
        """The verdict in the words that every output has: ``faster``, ``faster at a higher clock``."""
        if self.by_clock:
            return f"{self.verdict} at a {'higher' if self.verdict == 'faster' else 'lower'} clock"
        return self.verdict.replace("-", " ")

    @property
    def in_cycles(self) -> Verdict | None:
        """The verdict by SM cycles; None where they are not known."""
        if self.cycles is None:
            return None
        by, apart = self.cycles, replace(self, likely=None, by_clock=False)
        return replace(apart, verdict=by.verdict, reason=by.reason, speedup=by.speedup, low=by.low, high=by.high)


def unclear(reason: str) -> Verdict:
    """Return the verdict where nothing can be said, not even how much faster."""
    return Verdict("unclear", None, reason, None, None, None, 0)


def not_comparable(reason: str) -> Verdict:
    """Return the verdict of two runs that differ in something that decides the time; ``reason`` says in what."""
    return Verdict("not-comparable", None, reason, None, None, None, 0)
