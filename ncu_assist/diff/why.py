"""Why the time changed, by the counters: what each side is bound by, and the change as a product on that."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from ncu_assist.diff.bottleneck import Bottleneck, bottleneck
from ncu_assist.diff.factors import Factors, factors
from ncu_assist.diff.noise import NoiseModel, Reading
from ncu_assist.diff.resources import LATENCY, RESOURCES
from ncu_assist.frame import Combined
from ncu_assist.verdict import Verdict

UNKNOWN_NOISE = NoiseModel(None)


@dataclass(frozen=True)
class Limit:
    """What a side is bound by; ``stall`` is the reason that most warps wait for, where that is latency."""

    bottleneck: Bottleneck
    stall: str | None = None


@dataclass(frozen=True)
class Why:
    """The time under ncu of both sides, explained.

    ``time_ratio`` is the baseline's duration over the candidate's, all launches together. ``factors`` has the product
    on what binds the candidate, then on what bound the baseline where that is another resource; each is of the whole
    change, for resources work at the same time and shares of them do not add up. Either may be absent: where counters
    are, or where a side does nothing on the resource. ``speedup`` is the bench's, None without one; ``expected`` its
    interval, widened by ``noise``: how far a ratio of two durations of such kernels strays under ncu, as a share.
    """

    baseline: Limit | None
    candidate: Limit | None
    time_ratio: float
    launches: tuple[int, int]
    factors: tuple[Factors, ...]
    speedup: float | None = None
    expected: tuple[float, float] | None = None
    noise: float = 0.0
    of_kernels: tuple[bool, bool] = (False, False)  # whose launches are of different kernels, which no limit is of

    @property
    def bound_changed(self) -> bool:
        """Return whether the two sides are bound by different resources."""
        names = [limit.bottleneck.name for limit in (self.baseline, self.candidate) if limit]
        return len(set(names)) == 2

    @property
    def agrees(self) -> bool | None:
        """Return whether the times under ncu tell the ratio that the bench saw.

        None without a bench, and where they do not contradict it, but no change at all would not have done so either.
        """
        if self.expected is None:
            return None
        low, high = self.expected
        if not low <= self.time_ratio <= high:
            return False
        return None if low <= 1 <= high else True

    @property
    def main(self) -> Factors | None:
        """Return the product on what binds the candidate, else on what bound the baseline; None without any."""
        return self.on(self.candidate) or self.on(self.baseline)

    def on(self, limit: Limit | None) -> Factors | None:
        """Return the product on what a side is bound by; None where there is none."""
        name = limit.bottleneck.name if limit else ""
        return next((one for one in self.factors if one.resource == name), None)


def why(
    baseline: Combined, candidate: Combined, bench: Verdict | None = None, noise: NoiseModel = UNKNOWN_NOISE
) -> Why | None:
    """Return what explains the time of the candidate; None where a duration or both bottlenecks are not known.

    ``bench`` is the verdict on times without a profiler, ``noise`` what is known of how far those under ncu stray.
    """
    before, after = baseline.duration_ns, candidate.duration_ns
    limits = _limit(baseline), _limit(candidate)
    if not before or not after or before < 0 or after < 0 or limits == (None, None):
        return None
    names = dict.fromkeys(limit.bottleneck.name for limit in reversed(limits) if limit)
    resources = [RESOURCES[name] for name in names if not RESOURCES[name].is_coarse]
    found = [made for one in resources if (made := factors(one, baseline, candidate)) is not None]
    launches = len(baseline.launches), len(candidate.launches)
    strays = _strays(baseline, candidate, noise)
    speedup = bench.speedup if bench else None
    kernels = baseline.is_of_kernels, candidate.is_of_kernels
    return Why(*limits, before / after, launches, tuple(found), speedup, _expected(bench, strays), strays, kernels)


def _strays(baseline: Combined, candidate: Combined, noise: NoiseModel) -> float:
    """Return how far the ratio of two durations of such kernels strays: each by itself, so their squares add up."""
    before, after = baseline.duration_ns or 0.0, candidate.duration_ns or 0.0
    typical = [ns for side in (baseline, candidate) if (ns := side.typical_ns) is not None]
    samples = baseline.samples("duration"), candidate.samples("duration")
    reading = Reading("duration", "ns", False, before, after, samples, min(typical, default=None))
    return sqrt(2) * noise.amount(reading) / reading.larger


def _expected(bench: Verdict | None, strays: float) -> tuple[float, float] | None:
    """Return between what the ratio under ncu is where it tells what the bench saw; None without a bench."""
    if bench is None or bench.speedup is None:
        return None
    return (bench.low or bench.speedup) / (1 + strays), (bench.high or bench.speedup) * (1 + strays)


def _limit(combined: Combined) -> Limit | None:
    found = bottleneck(combined.values)
    if found is None:
        return None
    stall = next(iter(combined.stalls), None) if found.name == LATENCY else None
    return Limit(found, stall)
