"""All limits on one workload: what both sides, or a window of earlier runs, counted and took; each limit judged."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp, isfinite, log

from ncu_assist.analysis.diff import Diff, DiffOptions, RunDifference, diff_runs
from ncu_assist.analysis.diff.changes import ComparedMetric, Waits, catalogue_row, change, raw_row, stall_row
from ncu_assist.analysis.diff.comparability import differences, scope
from ncu_assist.analysis.diff.comparing import forbidden_by_time
from ncu_assist.analysis.diff.noise import BEYOND, ENOUGH_REPEATS, WITHIN, LearnedNoise, NoiseModel, noise_model
from ncu_assist.analysis.diff.timing import Pair, SampleReader, best_verdict, common_bench, is_timed
from ncu_assist.analysis.gate import (
    ACROSS_LIMIT,
    ACROSS_MARGIN,
    BASELINE_ITSELF,
    CHECK_FAILED,
    MAY_BE_NOISE,
    NOT_COUNTED,
    NOT_RESOLVED,
    TOO_FEW_RUNS,
    GateCheck,
    GateDetail,
    GateWord,
    SideWithout,
)
from ncu_assist.analysis.gate.limits import GatedMetric, Limit, nearest
from ncu_assist.analysis.trend import TrendPoint, TrendSeries, trend_point
from ncu_assist.frame import Combined, by_launch, combine_tables
from ncu_assist.frame.columns import Values, names_in
from ncu_assist.frame.combined import STALL_SHARE
from ncu_assist.ncu.catalogue.rows import OVER_LAUNCHES, STALL_SHARES
from ncu_assist.ncu.catalogue.stalls import BOOKED_AS
from ncu_assist.record import Run, WorkloadFacts
from ncu_assist.store import StoredRun
from ncu_assist.verdict import MARGIN, REASONS, Verdict, Word, not_comparable
from ncu_assist.verdict.levels import FEWEST, Levels, above_lowest, between_two
from ncu_assist.verdict.records import BENCH, PROFILE
from ncu_assist.versions import short_name

FEWEST_ROUNDS, MOST_ROUNDS = 400, 100_000  # of the next bench; more than the command takes are no help
MORE = 4  # times the rounds halve the interval
MEASURED_AGAIN = re.compile(r"ncu-assist (bench|profile) (?!.*--rounds)")  # more rounds are measured anyway
FULL = "full"  # the section set that `profile` takes unless told otherwise


@dataclass(frozen=True)
class GatedRuns:
    """Where a limit is judged: two runs, and the workload that both have; None for programs that know of none."""

    baseline: Run
    candidate: Run
    workload: str | None

    @property
    def names(self) -> tuple[str, str]:
        """The two in short: ``v6`` and ``v7``."""
        return short_name(self.baseline.version), short_name(self.candidate.version)

    def command(self, template: str) -> str:
        """Return a command of REASONS for these two; empty where nothing here can run it.

        One version stands there once: what it was no bench can measure, only the version as it is, again.
        """
        if not template or self.workload is None or "imported" in (self.baseline.source, self.candidate.source):
            return ""
        baseline, candidate = self.names
        if baseline == candidate and self.baseline.kernel == self.candidate.kernel:
            template = template.replace("{baseline} {candidate}", "{candidate}")
            if MEASURED_AGAIN.match(template):
                template = f"{template.removesuffix(' --again')} --again"
        filled = template.format(kernel=self.candidate.kernel, baseline=baseline, candidate=candidate)
        return filled if "--workload" in filled else f"{filled} --workload {shlex.quote(self.workload)}"


# What says more than that an interval reaches across a limit: the timer, other clocks.
AS_IT_IS = frozenset({NOT_RESOLVED, "clocks-disagree", "clocks-unknown"})
MediansNs = tuple[float | None, float | None]  # of both sides, None where one was not benched


def judge_time(
    limit: Limit, verdict: Verdict, medians_ns: MediansNs, place: GatedRuns, reach: float | None = None
) -> GateCheck:
    """Return whether the candidate is slower by more than the limit, or than 0.5 %, below which nothing is told apart.

    It is where the whole 99 % interval is and the verdict is slower, it is not where the interval reaches nowhere
    beyond, else it is unclear. So a limit of 0.5 % or less is broken exactly where the verdict is slower. Of two
    benches the interval reaches as far as those of one code are apart: ``reach``, of the logarithm. Without an interval
    the word of the verdict decides, and how much slower a slower one is.
    """
    times = finite(medians_ns[0]), finite(medians_ns[1])
    check = GateCheck(place.workload, limit, "unclear", verdict.verdict, *times, clocks_mhz=verdict.clocks_mhz)
    cycles = _slowdown(verdict.cycles.speedup) if verdict.cycles else None
    check = replace(check, words=verdict.words, by_clock=verdict.by_clock, cycles=cycles)
    if verdict.verdict == "not-comparable":
        return not_compared(check, verdict.reason, place)
    check = replace(check, delta=_slowdown(verdict.speedup))
    if verdict.low is not None and verdict.high is not None:
        check = replace(check, low=1 / verdict.high - 1, high=1 / verdict.low - 1)
    elif reach is not None and verdict.speedup:
        check = replace(check, low=exp(-reach) / verdict.speedup - 1, high=exp(reach) / verdict.speedup - 1)
    if verdict.verdict == "slower" and _is_beyond(check, MARGIN if reach is not None else 0.0):
        return replace(check, outcome="regression", reason="" if check.low is not None else verdict.reason)
    if _is_kept(check):
        return replace(check, outcome="pass")
    return _undecided(check, verdict, place)


def _is_beyond(check: GateCheck, least: float) -> bool:
    """Tell whether a slower candidate is slower by more than the limit allows, and by more than ``least``.

    A slower one of the same bench is so by 0.5 % already.
    """
    known = check.low if check.low is not None else check.delta
    return known is None or (known > least and (check.limit.amount <= MARGIN or known > check.limit.amount))


def _is_kept(check: GateCheck) -> bool:
    """Tell whether a candidate is not slower, or by no more than the limit allows."""
    if check.verdict in ("faster", "same"):
        return True
    if check.high is not None:
        return check.high <= max(check.limit.amount, MARGIN)
    return check.verdict == "slower"  # and not by more than the limit


def _undecided(check: GateCheck, verdict: Verdict, place: GatedRuns) -> GateCheck:
    """Return a check of times that could not be settled, with why and what would settle it."""
    if check.low is None or verdict.reason in AS_IT_IS:
        command = place.command(REASONS[verdict.reason].command)
        return replace(check, reason=verdict.reason, detail=GateDetail(likely=verdict.likely), next=command)
    reason = ACROSS_LIMIT if check.limit.amount >= MARGIN else ACROSS_MARGIN
    rounds = f" --rounds {min(max(FEWEST_ROUNDS, MORE * verdict.pairs), MOST_ROUNDS)}" if verdict.pairs else ""
    return replace(check, reason=reason, next=place.command(f"{BENCH}{rounds}"))


def judge_metric(limit: Limit, row: ComparedMetric, noise: NoiseModel, place: GatedRuns) -> GateCheck:
    """Return whether a metric moved beyond its limit by more than its noise; what is exact has none.

    Beyond the limit by as much as repeats of one kernel are apart is kept, by twice that is broken, between is unclear.
    """
    row = replace(row, baseline=finite(row.baseline), candidate=finite(row.candidate))
    told, reading = change(row, noise), row.reading()
    check = GateCheck(place.workload, limit, "unclear", told.verdict, row.baseline, row.candidate, told.delta)
    if reading is None:
        detail = GateDetail(row.note, lacking=_lacking(row, place))
        return replace(check, reason=NOT_COUNTED, detail=detail, next=_to_count(row, place))
    excess, amount = limit.excess(reading.baseline, reading.candidate), noise.amount(reading)
    check = replace(check, noise=0.0 if told.noise == 0 else WITHIN * amount)
    if excess <= WITHIN * amount:
        return replace(check, outcome="pass")
    if reading.exact or reading.counted or excess > BEYOND * amount:
        return replace(check, outcome="regression")
    return replace(check, reason=MAY_BE_NOISE, next=place.command(f"{PROFILE} --repeats {ENOUGH_REPEATS}"))


def not_compared(check: GateCheck, reason: str, place: GatedRuns) -> GateCheck:
    """Return a check of two runs that cannot be compared; ``reason`` is a key of REASONS."""
    command = place.command(REASONS[reason].command)
    return replace(check, outcome="unclear", verdict="not-comparable", reason=reason, next=command)


def finite(value: float | None) -> float | None:
    """Return a number that can be compared; None for infinity and NaN."""
    return value if value is not None and isfinite(value) else None


def _slowdown(speedup: float | None) -> float | None:
    return 1 / speedup - 1 if speedup else None


def _to_count(row: ComparedMetric, place: GatedRuns) -> str:
    """Return the command that would count a metric; empty where a full profile did not."""
    full = all(section_set == FULL for _, section_set in _lacking(row, place))
    return "" if row.note or full else place.command(PROFILE)


def _lacking(row: ComparedMetric, place: GatedRuns) -> tuple[SideWithout, ...]:
    sides = zip((row.baseline, row.candidate), place.names, (place.baseline, place.candidate), strict=True)
    return tuple(_lacks(name, run, place.workload) for value, name, run in sides if value is None)


def _lacks(name: str, run: Run, workload: str | None) -> SideWithout:
    counted = run.launched_nothing or any(workload in (None, launch.workload) for launch in run.launches)
    return name, (run.profile.section_set if run.profile else "") if counted else None


FEW = 4  # runs in place of each that there is
IN_WINDOW = "interval-beyond", "interval-inside", "interval-across"


@dataclass(frozen=True)
class Window:
    """The earlier runs of a version on one workload, the oldest first, and those that are held against them."""

    before: TrendSeries
    now: tuple[TrendPoint, ...]

    @property
    def baseline(self) -> TrendPoint:
        """The newest run at the lowest level; of a slope the one at its lower end."""
        level = self.before.levels.lowest
        return self.before.points[level.last if level.end <= level.start else level.first]

    def judged(self, limit: Limit, place: GatedRuns) -> GateCheck:
        """Return whether the time is above the lowest level by more than the limit.

        The interval is made of what runs of one code differ by, of the error of the level, and of the runs' own. A
        further run is advised where a few would do.
        """
        levels, times, errors = self.before.levels, *self._measured
        verdict = of_levels(levels, self._together, times, errors)
        level_ns = exp(levels.lowest.least)
        check = judge_time(limit, verdict, (level_ns, level_ns / (verdict.speedup or 1.0)), place)
        again = f"ncu-assist bench {place.candidate.kernel} {short_name(place.candidate.version)}"
        command = f"{again} --workload {shlex.quote(place.workload or '')} --again"
        few = above_lowest(levels, self._together, times * FEW, errors * FEW)
        is_help = not check.is_inside or few[2] <= log(1 + max(limit.amount, MARGIN))
        return check if check.outcome == "pass" else replace(check, next=command if check.next and is_help else "")

    @property
    def _measured(self) -> tuple[list[float], list[float]]:
        return [point.timing.median_ns for point in self.now], [point.error for point in self.now]

    @cached_property
    def _together(self) -> Levels:
        return replace(self.before, points=(*self.before.points, *self.now)).levels


def of_levels(before: Levels, together: Levels, times_ns: Sequence[float], errors: Sequence[float]) -> Verdict:
    """Return the verdict over runs of one code and the lowest level before them, as ``above_lowest`` takes them."""
    change, low, high = above_lowest(before, together, times_ns, errors)
    word, reason = _word(exp(low) - 1, exp(high) - 1)
    return Verdict(word, None, reason, exp(-change), exp(-high), exp(-low), before.levels[-1].last + 1)


def _word(low: float, high: float) -> tuple[Word, str]:
    beyond, inside, across = IN_WINDOW
    if low > MARGIN:
        return "slower", beyond
    if high < -MARGIN:
        return "faster", beyond
    return ("same", inside) if low > -MARGIN and high < MARGIN else ("unclear", across)


def too_few(limit: Limit, workload: str, command: str) -> GateCheck:
    """Return the check of what fewer runs are known of than make a level; ``command`` judges it by another baseline."""
    return GateCheck(workload, limit, "unclear", "unclear", reason=TOO_FEW_RUNS, next=command)


def window_of(points: Sequence[TrendPoint], now: Sequence[TrendPoint]) -> Window | None:
    """Return a window; None where it has fewer runs than make a level."""
    if len(points) < FEWEST or not now:
        return None
    return Window(TrendSeries(points[0].run.version, points[0].run.gpu, tuple(points)), tuple(now))


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

    @property
    def is_one(self) -> bool:
        """Whether both sides are one run, or of one source where no exact run was named: nothing is compared then."""
        before, after = (
            {stored.reference for stored in (one, *runs)} for one, runs in zip(self.named, self.runs, strict=True)
        )
        return bool(before & after)

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


NO_SAMPLES = frozenset({"no-samples", "only-late-samples", "bad-samples", "too-few-samples", "too-few-pairs"})


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
    def reach(self) -> float | None:
        """How far the 99 % interval of two benches reaches, of the logarithm; None for one bench and without any."""
        if self._verdict.low is not None or self._verdict.reason in NO_SAMPLES or not self._is_benched:
            return None
        both = zip(self.runs, self._workloads, strict=True)
        points = [trend_point(stored, str(name), self._sides.samples) for stored, name in both]
        return between_two([one.timing.median_ns for one in points], [one.error for one in points])

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
        self._force, self._limits, self._learned, self._is_one = sides.force, limits, sides.learned, sides.is_one
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
            elif self._is_one and limit.kind != "value":
                yield self._by_itself(limit)
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

    def _by_itself(self, limit: Limit) -> GateCheck:
        command = self._place.command("ncu-assist gate {kernel}/{candidate} --against @last:10")
        return GateCheck(self._place.workload, limit, "unclear", "unclear", reason=BASELINE_ITSELF, next=command)

    def _by_time(self, limit: Limit) -> GateCheck:
        timed = self._times.in_cycles if limit.is_on_cycles else self._times.timed
        assert timed is not None
        return judge_time(limit, *timed, self._place, self._times.reach)

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
