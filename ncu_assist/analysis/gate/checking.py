"""All limits on one workload: what both sides counted and how long they took, each limit judged by that."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ncu_assist.analysis.diff import Diff, DiffOptions, RunDifference, diff_runs
from ncu_assist.analysis.diff.changes import ComparedMetric, Waits, catalogue_row, raw_row, stall_row
from ncu_assist.analysis.diff.comparability import differences, scope
from ncu_assist.analysis.diff.comparing import forbidden_by_time
from ncu_assist.analysis.diff.noise import LearnedNoise, noise_model
from ncu_assist.analysis.diff.timing import Pair, SampleReader, best_verdict, common_bench, is_timed
from ncu_assist.analysis.gate import CHECK_FAILED, NOT_COUNTED, GateCheck, GateDetail, GateWord
from ncu_assist.analysis.gate.judging import GatedRuns, MediansNs, finite, judge_metric, judge_time, not_compared
from ncu_assist.analysis.gate.limits import GatedMetric, Limit, nearest
from ncu_assist.frame import Combined, by_launch, combine_tables
from ncu_assist.frame.columns import Values, names_in
from ncu_assist.ncu.catalogue.rows import OVER_LAUNCHES, STALL_SHARES
from ncu_assist.ncu.catalogue.stalls import BOOKED_AS
from ncu_assist.record import Run, WorkloadFacts
from ncu_assist.store import StoredRun
from ncu_assist.verdict import Verdict, not_comparable

Workloads = tuple[str | None, str | None]  # what each side calls it; None for a program that knows of none


WaitsOf = Callable[[Pair, tuple[Collection[int], Collection[int]]], tuple[Waits, Waits]]


@dataclass(frozen=True)
class GateSides:
    """The two runs that were named, and the runs of the same two sources that count, the ones to prefer first.

    The one that was named goes before them, unless it is not among them, as where it is of another GPU than the
    candidate and they are not. ``force`` compares what cannot be compared. ``every``: all metrics are read, not only
    those that the catalogue knows. ``learned`` is how far they stray on this model of GPU. ``waits`` reads the code of
    launches, by their numbers, for what tells waits apart that ncu books under one reason.
    """

    named: Pair
    runs: tuple[Sequence[StoredRun], Sequence[StoredRun]]
    force: bool = False
    every: bool = False
    learned: LearnedNoise | None = None
    samples: SampleReader = field(default_factory=SampleReader)
    waits: WaitsOf | None = None
    _read: dict[str, Mapping[int, Values]] = field(default_factory=dict)

    def merged(self, side: int) -> Run:
        """Return the run that was named with the workloads of all: a later bench may have been of one alone."""
        found: dict[str, WorkloadFacts] = {}
        for one in self._best_first(side):
            found.update({facts.name: facts for facts in one.run.workloads if facts.name not in found})
        return replace(self.named[side].run, workloads=tuple(found.values()))

    def counted(self, workloads: Workloads) -> Pair:
        """Return the runs that counters are taken from: those named, unless only another was profiled there."""
        return self._on(0, workloads[0]), self._on(1, workloads[1])

    def failed_check(self, side: int, workload: str | None) -> str:
        """Return why results are wrong on a workload, by the newest check; empty where they are right or unchecked."""
        checks = [check for one in self.runs[side] for check in one.run.checks if check.workload == workload]
        return (checks[0].reason or "wrong") if checks and not checks[0].passed else ""

    def tables(self, stored: StoredRun) -> Mapping[int, Values]:
        """Return the numbers of each launch by ncu's name. Raises DamagedData for metrics that were changed."""
        if stored.reference not in self._read:
            self._read[stored.reference] = by_launch(stored.metrics()) if self.every else stored.by_launch()
        return self._read[stored.reference]

    def _best_first(self, side: int) -> list[StoredRun]:
        named = self.named[side].reference
        return sorted(self.runs[side], key=lambda stored: stored.reference != named)

    def _on(self, side: int, workload: str | None) -> StoredRun:
        every = self._best_first(side)
        profiled = (one for one in every if any(workload in (None, launch.workload) for launch in one.run.launches))
        known = (one for one in every if workload is not None and one.run.workload(workload))
        return next(profiled, None) or next(known, every[0])


STALL_SHARE = "stall_"
DIVIDED = frozenset((*BOOKED_AS, *BOOKED_AS.values()))  # what only the code of a launch tells


class GateCounters:
    """The counters of both sides on one workload."""

    def __init__(self, sides: GateSides, workloads: Workloads) -> None:
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
    def differing(self) -> tuple[tuple[RunDifference, ...], str]:
        """What differs besides the version, and the reason code of what forbids to compare, or empty."""
        if self.foreign is not None:
            verdict = self.foreign.verdict
            reason = verdict.reason if verdict.verdict == "not-comparable" else self.foreign.forced
            return self.foreign.differences, reason
        baseline, candidate = self._workloads
        before, after = (one.run for one in self.stored)
        return differences((before, before.workload(str(baseline))), (after, after.workload(str(candidate))))

    def row(self, metric: GatedMetric) -> ComparedMetric:
        """Return a metric on both sides, over all launches; of foreign programs over those that both have."""
        if metric.key in OVER_LAUNCHES:
            return catalogue_row(metric.key, *self.totals)
        if metric.key in STALL_SHARES:
            reason = metric.key.removeprefix(STALL_SHARE)
            return stall_row(reason, *self.totals, self._waits if reason in DIVIDED else ({}, {}))
        return raw_row(metric.key, metric.unit, *self.totals)

    @cached_property
    def _waits(self) -> tuple[Waits, Waits]:
        before, after = ([one.index for one in total.launches] for total in self.totals)
        return self._sides.waits(self.stored, (before, after)) if self._sides.waits else ({}, {})

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


class GateTimes:
    """The times of both sides: of a bench, else those under ncu, by the same rules as `diff` takes them."""

    def __init__(self, sides: GateSides, workloads: Workloads, counters: GateCounters) -> None:
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
    def timed(self) -> tuple[Verdict, MediansNs]:
        """The verdict and the medians."""
        return self._verdict, self._times

    @cached_property
    def in_cycles(self) -> tuple[Verdict, MediansNs] | None:
        """The same in SM cycles; None where no bench tells them."""
        verdict = self._verdict
        by_cycles = verdict.in_cycles if self._is_benched else None
        if by_cycles is None or verdict.cycles is None or verdict.cycles.medians is None:
            return None
        return by_cycles, verdict.cycles.medians

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


class WorkloadGate:
    """Two runs on one workload, which each side may call by another name or not at all."""

    def __init__(self, sides: GateSides, workloads: Workloads, limits: Sequence[Limit]) -> None:
        self._force, self._limits, self._learned = sides.force, limits, sides.learned
        self._wrong = sides.failed_check(0, workloads[0]), sides.failed_check(1, workloads[1])
        self._counters = GateCounters(sides, workloads)
        self._runs = self._counters.stored[0].run, self._counters.stored[1].run
        self._place = GatedRuns(*self._runs, workloads[1])
        self._times = GateTimes(sides, workloads, self._counters)

    def checks(self) -> Iterator[GateCheck]:
        """Yield the outcome of each limit: a version with wrong results keeps none, and is no baseline either."""
        for limit in self._limits:
            if any(self._wrong):
                yield self._by_check(limit)
            else:
                yield self._by_time(limit) if self._is_timed(limit) else self._by_counter(limit)

    @property
    def forced(self) -> list[str]:
        """Return the reason codes of what forbids a comparison that was made all the same."""
        if not self._force:
            return []
        found = [
            self._times.forbidden if self._is_timed(limit) else self._counters.differing[1] for limit in self._limits
        ]
        return [reason for reason in found if reason]

    @property
    def differences(self) -> tuple[RunDifference, ...]:
        """What differs between the runs besides the version."""
        return self._counters.differing[0]

    @property
    def runs(self) -> tuple[StoredRun, ...]:
        """The runs that were looked at."""
        timed = [self._is_timed(limit) for limit in self._limits]
        times = self._times.runs if any(timed) else ()
        counters = self._counters.stored if not all(timed) else ()
        return (*times, *counters)

    def _by_check(self, limit: Limit) -> GateCheck:
        side = 1 if self._wrong[1] else 0
        outcome: GateWord = "regression" if side else "unclear"
        detail = GateDetail(self._wrong[side], self._place.names[side])
        return GateCheck(self._place.workload, limit, outcome, "wrong", reason=CHECK_FAILED, detail=detail)

    def _by_time(self, limit: Limit) -> GateCheck:
        timed = self._times.in_cycles if limit.is_on_cycles else self._times.timed
        assert timed is not None
        return judge_time(limit, *timed, self._place)

    def _is_timed(self, limit: Limit) -> bool:
        """Tell whether samples decide: of time always, of cycles where both sides have some with their clocks."""
        return limit.is_on_time or (limit.is_on_cycles and self._times.in_cycles is not None)

    def _by_counter(self, limit: Limit) -> GateCheck:
        row, forbidden = self._counters.row(limit.metric), self._counters.differing[1]
        if forbidden and not self._force:
            check = GateCheck(self._place.workload, limit, "unclear", "", finite(row.baseline), finite(row.candidate))
            return not_compared(check, forbidden, self._place)
        check = judge_metric(limit, row, noise_model(*self._runs, learned=self._learned), self._place)
        return self._with_nearest(check) if check.reason == NOT_COUNTED and not limit.metric.is_known else check

    def _with_nearest(self, check: GateCheck) -> GateCheck:
        """Return a check of a name of ncu that the runs lack with what they have that it may stand for."""
        near = nearest(check.limit.metric.key, self._counters.names)
        if not near:
            return check
        detail = replace(check.detail, nearest=near)
        return replace(check, detail=detail, next=f"ncu-assist explain {shlex.quote(near)}")
