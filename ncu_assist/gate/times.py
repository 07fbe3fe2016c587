"""How long two versions took on one workload, and the verdict on that."""

from __future__ import annotations

from functools import cached_property

from ncu_assist.diff.by_time import forbidden_by_time
from ncu_assist.diff.timing import best_verdict, common_bench, is_timed
from ncu_assist.gate.counters import Counters
from ncu_assist.gate.judging import Timed
from ncu_assist.gate.sides import Pair, Sides, Workloads
from ncu_assist.verdict import Verdict, not_comparable


class Times:
    """The times of both sides: of a bench, else those under ncu, by the same rules as `diff` takes them."""

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
        return Timed(self._verdict, *self._times)

    @cached_property
    def in_cycles(self) -> Timed | None:
        """The same in SM cycles; None where no bench tells them."""
        verdict = self._verdict
        by_cycles = verdict.in_cycles if self._is_benched else None
        if by_cycles is None or verdict.cycles is None or verdict.cycles.medians is None:
            return None
        return Timed(by_cycles, *verdict.cycles.medians)

    @cached_property
    def forbidden(self) -> str:
        """The reason code of what forbids to compare the times, or empty; how ncu ran is none for a bench."""
        baseline, candidate = self._workloads
        if self._is_benched and candidate is not None and baseline == candidate:
            return forbidden_by_time(*self.runs, candidate)
        return self._counters.differing[1]

    @cached_property
    def _verdict(self) -> Verdict:
        if self._counters.foreign is not None:
            return self._counters.foreign.verdict
        if self.forbidden and not self._sides.force:
            return not_comparable(self.forbidden)
        return best_verdict(self.runs, self._workloads, self._sides.samples, lambda: self._counters.totals)

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
