"""What two runs counted on one workload, and what forbids to compare it."""

from __future__ import annotations

from functools import cached_property

from ncu_assist.columns import names_in
from ncu_assist.diff import Diff, Difference, DiffOptions, diff_runs
from ncu_assist.diff.comparability import differences
from ncu_assist.diff.metric_rows import Row, catalogue_row, raw_row, stall_row
from ncu_assist.diff.scope import scope
from ncu_assist.frame import Combined, combine_tables
from ncu_assist.gate.metric_names import Gated
from ncu_assist.gate.sides import Sides, Workloads
from ncu_assist.ncu.catalogue.derived import STALL_SHARES
from ncu_assist.ncu.catalogue.rows import OVER_LAUNCHES

STALL_SHARE = "stall_"


class Counters:
    """The counters of both sides on one workload."""

    def __init__(self, sides: Sides, workloads: Workloads) -> None:
        self._sides, self._workloads = sides, workloads
        self.stored = sides.counted(workloads)

    @cached_property
    def foreign(self) -> Diff | None:
        """The comparison of programs that know of no workload, as `diff` makes it; None for two that do."""
        if None not in self._workloads:
            return None
        known = next((name for name in self._workloads if name is not None), None)
        return diff_runs(*self.stored, DiffOptions(known, force=self._sides.force))

    @cached_property
    def differing(self) -> tuple[tuple[Difference, ...], str]:
        """What differs besides the version, and the reason code of what forbids to compare, or empty."""
        if self.foreign is not None:
            verdict = self.foreign.verdict
            reason = verdict.reason if verdict.verdict == "not-comparable" else self.foreign.forced
            return self.foreign.differences, reason
        baseline, candidate = self._workloads
        before, after = (one.run for one in self.stored)
        return differences((before, before.workload(str(baseline))), (after, after.workload(str(candidate))))

    def row(self, metric: Gated) -> Row:
        """Return a metric on both sides, over all launches; of foreign programs over those that both have."""
        if metric.key in OVER_LAUNCHES:
            return catalogue_row(metric.key, *self.totals)
        if metric.key in STALL_SHARES:
            return stall_row(metric.key.removeprefix(STALL_SHARE), *self.totals)
        return raw_row(metric.key, metric.unit, *self.totals)

    @property
    def names(self) -> set[str]:
        """Ncu's names of what both sides counted."""
        both = [names_in(total.tables) for total in self.totals]
        return both[0] & both[1]

    @property
    def durations_ns(self) -> tuple[float | None, float | None]:
        """The time of each side under ncu, all launches together."""
        return self.totals[0].duration_ns, self.totals[1].duration_ns

    @cached_property
    def totals(self) -> tuple[Combined, Combined]:
        """What each side counted over all launches; of foreign programs over those that both have."""
        baseline, candidate = (
            combine_tables(one.run, self._sides.tables(one), name)
            for one, name in zip(self.stored, self._workloads, strict=True)
        )
        return scope(baseline, candidate).totals if self.foreign else (baseline, candidate)
