"""Why the time changed, by the counters: what each side is bound by, and the change as a product on that."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.diff.bottleneck import Bottleneck, bottleneck
from ncu_assist.diff.factors import Factors, factors
from ncu_assist.diff.resources import LATENCY, RESOURCES
from ncu_assist.frame import Combined

# Under ncu caches are flushed and clocks may be locked, and a launch has one duration: within this the ratio of times
# there is taken to be what the bench saw. Durations of short kernels wander by 5 % (ncu_facts.md, Measuring), both do.
AGREES_WITHIN = 0.10


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
    are, or where a side does nothing on the resource. ``speedup`` is the bench's, None without one.
    """

    baseline: Limit | None
    candidate: Limit | None
    time_ratio: float
    launches: tuple[int, int]
    factors: tuple[Factors, ...]
    speedup: float | None = None

    @property
    def bound_changed(self) -> bool:
        """Return whether the two sides are bound by different resources."""
        names = [limit.bottleneck.name for limit in (self.baseline, self.candidate) if limit]
        return len(set(names)) == 2

    @property
    def agrees(self) -> bool | None:
        """Return whether the times under ncu tell the ratio that the bench saw; None without a bench."""
        if self.speedup is None:
            return None
        return abs(self.speedup / self.time_ratio - 1) <= AGREES_WITHIN

    @property
    def main(self) -> Factors | None:
        """Return the product on what binds the candidate, else on what bound the baseline; None without any."""
        return self.on(self.candidate) or self.on(self.baseline)

    def on(self, limit: Limit | None) -> Factors | None:
        """Return the product on what a side is bound by; None where there is none."""
        name = limit.bottleneck.name if limit else ""
        return next((one for one in self.factors if one.resource == name), None)


def why(baseline: Combined, candidate: Combined, speedup: float | None = None) -> Why | None:
    """Return what explains the time of the candidate; None where a duration or both bottlenecks are not known.

    ``speedup`` is the baseline's time over the candidate's as a bench saw it, without a profiler.
    """
    before, after = baseline.duration_ns, candidate.duration_ns
    limits = _limit(baseline), _limit(candidate)
    if not before or not after or before < 0 or after < 0 or limits == (None, None):
        return None
    names = dict.fromkeys(limit.bottleneck.name for limit in reversed(limits) if limit)
    resources = [RESOURCES[name] for name in names if not RESOURCES[name].is_coarse]
    found = [made for one in resources if (made := factors(one, baseline, candidate)) is not None]
    launches = len(baseline.launches), len(candidate.launches)
    return Why(*limits, before / after, launches, tuple(found), speedup)


def _limit(combined: Combined) -> Limit | None:
    found = bottleneck(combined.values)
    if found is None:
        return None
    stall = next(iter(combined.stalls), None) if found.name == LATENCY else None
    return Limit(found, stall)
