"""How long two versions took on one workload, and the verdict on that."""

from __future__ import annotations

from functools import cached_property

from ncu_assist.diff.timing import common_bench, is_timed, verdict_by_time
from ncu_assist.gate.counters import Counters
from ncu_assist.gate.judging import Timed
from ncu_assist.gate.sides import Pair, Sides, Workloads
from ncu_assist.verdict import Verdict, compare, compare_durations, not_comparable


class Times:
    """The times of both sides: of a bench, else one duration a side under ncu, which settles nothing."""

    def __init__(self, sides: Sides, workloads: Workloads, counters: Counters) -> None:
        self._sides, self._workloads, self._counters = sides, workloads, counters

    @cached_property
    def runs(self) -> Pair:
        """The runs that the times are of: benched together if any two were, else the first that are timed."""
        baseline, candidate = (
            [stored for stored in runs if is_timed(stored.run, name)]
            for runs, name in zip(self._sides.runs, self._workloads, strict=True)
        )
        named, workload = self._sides.named, self._workloads[0]
        together = common_bench(baseline, candidate, workload) if workload == self._workloads[1] else None
        return together or ((*baseline, named[0])[0], (*candidate, named[1])[0])

    @property
    def timed(self) -> Timed:
        """The verdict and the medians."""
        return Timed(self._forced if self._sides.force and self.forbidden else self._verdict, *self._times)

    @property
    def forbidden(self) -> str:
        """The reason code of what forbids to compare the times, or empty."""
        if self._counters.foreign is not None:
            return self._counters.differing[1]
        return self._verdict.reason if self._verdict.verdict == "not-comparable" else ""

    @cached_property
    def _verdict(self) -> Verdict:
        if self._counters.foreign is not None:
            return self._counters.foreign.verdict
        forbidden = self._counters.differing[1]
        baseline, candidate = self._workloads
        if forbidden and (baseline != candidate or not self._is_benched):
            return not_comparable(forbidden)
        if not self._is_benched:
            return compare_durations(*self._counters.durations_ns)
        return verdict_by_time(*self.runs, str(candidate), self._sides.samples)

    @property
    def _forced(self) -> Verdict:
        """The verdict all the same."""
        if self._counters.foreign is not None:
            return self._counters.foreign.verdict
        if not self._is_benched:
            return compare_durations(*self._counters.durations_ns)
        samples = [self._sides.samples.of(one, str(name)) for one, name in zip(self.runs, self._workloads, strict=True)]
        return compare(samples[0], samples[1])

    @property
    def _is_benched(self) -> bool:
        return all(self._median_ns(side) is not None for side in (0, 1))

    @property
    def _times(self) -> tuple[float | None, float | None]:
        return (self._median_ns(0), self._median_ns(1)) if self._is_benched else self._counters.durations_ns

    def _median_ns(self, side: int) -> float | None:
        name = self._workloads[side]
        timing = self.runs[side].run.timing(name) if name is not None else None
        return timing.median_ns if timing else None
