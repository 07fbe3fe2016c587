"""Two runs compared: time gives the verdict, counters explain it; launch by launch, and the verdict by time alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from ncu_assist.analysis.diff.changes import changes, side_by_side
from ncu_assist.analysis.diff.comparability import (
    NOTHING_IN_COMMON,
    compared_workloads,
    differences,
    scope,
)
from ncu_assist.analysis.diff.flagging import beside_the_time, far_from_limits, flags, with_roles
from ncu_assist.analysis.diff.noise import LearnedNoise, NoiseModel, noise_model
from ncu_assist.analysis.diff.pairing import LaunchPair
from ncu_assist.analysis.diff.records import Change, Diff, DiffSide, LaunchDiff
from ncu_assist.analysis.diff.timing import CLOCK, HZ_PER_MHZ, Pair, SampleReader, best_verdict
from ncu_assist.analysis.diff.why import Why, why
from ncu_assist.analysis.diff.work import UNKNOWN_WORK, Tables, work_differences, work_doubts
from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.frame import Combined, by_launch, combine_launches, combine_repeats, combine_tables
from ncu_assist.frame.combined import STALL_SHARE, total
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.stalls import BOOKED_AS
from ncu_assist.record import Launch, Run, Source, Timing, WorkloadFacts, of_two_kernels
from ncu_assist.rules.model.resources import Resource, bottleneck
from ncu_assist.store import StoredRun
from ncu_assist.verdict import (
    LIKELY_LONG,
    MARGIN,
    Likely,
    Verdict,
    compare_durations,
    compare_unpaired,
    is_one_ratio,
    not_comparable,
)

DETAILED = 12  # pairs whose counters are compared too; of a program of thousands that would take seconds


def launch_diffs(
    pairs: Sequence[LaunchPair],
    tables: tuple[Tables, Tables],
    forbidden: Verdict | None,
    noise: NoiseModel,
    doubts: Sequence[str] = (),
) -> tuple[LaunchDiff, ...]:
    """Return a comparison for each pair, the largest change of time first; ``tables`` are what by_launch returns.

    Several launches of a side compare as `frame` combines them, repeats as samples that are not paired. A pair
    of single launches has one duration a side, so its verdict is unclear at best; ``forbidden`` is the verdict where
    the runs cannot be compared at all. ``doubts`` are what ``work_doubt`` returns of each: nothing is firm of those.
    """
    with_doubts = zip(pairs, doubts or [""] * len(pairs), strict=True)
    made = sorted(
        (_launch_diff(pair, tables, forbidden, doubt) for pair, doubt in with_doubts), key=lambda one: -one[0]
    )
    return tuple(
        replace(one, changes=_changes(one.pair, tables, one.verdict, noise)) if place < DETAILED else one
        for place, (_, one) in enumerate(made)
    )


def time_verdict(
    pair: LaunchPair, tables: tuple[Tables, Tables], times: tuple[tuple[float, ...] | None, tuple[float, ...] | None]
) -> Verdict:
    """Return which side of a pair is faster, from the durations of its launches under ncu."""
    if not pair.repeats:
        mhz_of_both = [_mean_mhz(side, table) for side, table in _both(pair, tables)]
        return compare_durations(*(sum(side) if side else None for side in times), *mhz_of_both)
    clocks = [[CATALOGUE[CLOCK].value(table.get(one.index, {})) for one in side] for side, table in _both(pair, tables)]
    known = [[hz / HZ_PER_MHZ for hz in side if hz is not None] for side in clocks]
    mhz = [side if len(side) == len(all_) else None for side, all_ in zip(known, clocks, strict=True)]
    return compare_unpaired(times[0] or (), times[1] or (), mhz[0], mhz[1])


def _mean_mhz(launches: Sequence[Launch], tables: Tables) -> float | None:
    """Return the SM clock of launches under ncu, weighted by their time; None where that of one is not known."""
    cycles = time_ns = 0.0
    for one in launches:
        hertz, time = CATALOGUE[CLOCK].value(tables.get(one.index, {})), _time(one, tables)
        if not hertz or not time:
            return None
        cycles, time_ns = cycles + hertz / HZ_PER_MHZ * time, time_ns + time
    return cycles / time_ns if time_ns else None


def total_ns(launches: Sequence[Launch], tables: Tables) -> float | None:
    """Return the time of launches together, under ncu; None where that of one is not known."""
    return total([_time(one, tables) for one in launches])


def _time(launch: Launch, tables: Tables) -> float | None:
    return (
        launch.duration_ns
        if launch.duration_ns is not None
        else CATALOGUE["duration"].value(tables.get(launch.index, {}))
    )


def _times(pair: LaunchPair, launches: Sequence[Launch], tables: Tables) -> tuple[float, ...] | None:
    """Return the time of each repeat, of a chain that of all its launches; None where one is not known."""
    if not pair.repeats:
        whole = total_ns(launches, tables)
        return None if whole is None else (whole,)
    known = [time for one in launches if (time := _time(one, tables)) is not None]
    return tuple(known) if len(known) == len(launches) else None


def _in_doubt(verdict: Verdict, doubt: str) -> Verdict:
    """Return a verdict on the time of two launches that may not do the same work: only which way it went.

    Of other work it is that which is in the way; where nothing was counted, few samples may be as well.
    """
    is_firm = verdict.verdict != "unclear"
    if not doubt or verdict.reason == "no-samples" or (doubt == UNKNOWN_WORK and not is_firm):
        return verdict
    word = verdict.verdict if verdict.verdict in ("faster", "slower") else verdict.likely
    cycles = replace(verdict.cycles, verdict="unclear", reason=doubt) if verdict.cycles else None
    return replace(verdict, verdict="unclear", likely=word, reason=doubt, cycles=cycles, by_clock=False)


def _launch_diff(
    pair: LaunchPair, tables: tuple[Tables, Tables], forbidden: Verdict | None, doubt: str
) -> tuple[float, LaunchDiff]:
    """Return how much the time changed, all repeats together, -1 where that is not known, and the pair compared."""
    times = _times(pair, pair.baseline, tables[0]), _times(pair, pair.candidate, tables[1])
    before, after = (median(side) if side else None for side in times)
    moved = -1.0 if before is None or after is None else abs(after - before) * len(times[1] or ())
    one_to_one = pair.repeats or len(pair.baseline) == len(pair.candidate) == 1
    return moved, LaunchDiff(
        kernel=max(pair.candidate, key=lambda launch: launch.duration_ns or 0.0).kernel,
        pairing=pair.confidence if one_to_one else "sum",
        pair=pair,
        baseline_ns=before,
        candidate_ns=after,
        verdict=forbidden or _in_doubt(time_verdict(pair, tables, times), doubt),
        changes=(),
        doubt=doubt,
    )


def _changes(
    pair: LaunchPair, tables: tuple[Tables, Tables], verdict: Verdict, noise: NoiseModel
) -> tuple[Change, ...]:
    before, after = (_combined(pair, side, table) for side, table in _both(pair, tables))
    if verdict.verdict == "not-comparable":
        return side_by_side(before, after)
    return _with_roles(before, after, noise, verdict)


def _with_roles(before: Combined, after: Combined, noise: NoiseModel, verdict: Verdict) -> tuple[Change, ...]:
    far = far_from_limits(before.values, after.values)
    return with_roles(changes(before, after, noise), verdict, bottleneck(after.values), far)


def _combined(pair: LaunchPair, launches: Sequence[Launch], tables: Tables) -> Combined:
    if pair.repeats:
        return combine_repeats(None, [[one] for one in launches], tables)
    return combine_launches(None, launches, [tables.get(one.index, {}) for one in launches])


def _both(pair: LaunchPair, tables: tuple[Tables, Tables]) -> tuple[tuple[tuple[Launch, ...], Tables], ...]:
    return (pair.baseline, tables[0]), (pair.candidate, tables[1])


def outlier(diff: Diff) -> tuple[LaunchPair, tuple[float, float], Likely | None] | None:
    """Return the function whose time changed most where the whole hides it: a pair, ns of both sides, what is likely.

    None where no function moved farther than one duration of a long kernel strays: by itself, and against the whole
    where that says which way the time went, as a kernel that is ten times faster beside one that stayed. Only where no
    change is likely, one that may be noise is returned, if the whole could show as much. None of launches that may not
    do the same work: alone they may not be compared.
    """
    if diff.is_one_run or diff.verdict.verdict not in ("same", "unclear"):
        return None
    functions: dict[tuple[str, str], list[LaunchDiff]] = {}
    for one in diff.launches:
        if one.pairing != "sum" and not one.doubt:
            functions.setdefault((one.pair.baseline[0].kernel, one.pair.candidate[0].kernel), []).append(one)
    timed = [(some, times) for some in functions.values() if (times := _together(some))]
    whole, whole_after = (sum(times[side] for _, times in timed) for side in (0, 1))
    found = []
    for some, (before, after) in timed:
        words = [(one.verdict.verdict, one.verdict.likely) for one in some]
        likely = {word if word == "faster" or word == "slower" else near for word, near in words}
        word = likely.pop() if len(likely) == 1 else None
        is_far, is_seen = _is_far(before, after), abs(after - before) > MARGIN * whole
        is_told = diff.verdict.likely and not (word and is_seen and _is_far(after / before, whole_after / whole))
        if len(diff.launches) > len(some) and not is_told and (word or (is_far and is_seen)):
            found.append((some[0].pair, (before, after), word))
    return max(found, key=lambda one: (one[2] is not None, abs(one[1][1] - one[1][0])), default=None)


def _is_far(one: float, other: float) -> bool:
    """Tell whether two are farther apart than one duration of a long kernel strays."""
    return max(one, other) > (1 + LIKELY_LONG) * min(one, other)


def _together(some: Iterable[LaunchDiff]) -> tuple[float, float] | None:
    """Return the time of pairs on both sides, of repeats as often as both have them; None where one is not known."""
    before = after = 0.0
    for one in some:
        if not one.baseline_ns or not one.candidate_ns:
            return None
        often = min(len(one.pair.baseline), len(one.pair.candidate))
        before, after = before + often * one.baseline_ns, after + often * one.candidate_ns
    return before, after


FARTHEST_FIRST: tuple[Source, ...] = ("imported", "recorded", "live")


@dataclass(frozen=True)
class DiffOptions:
    """What is asked of two runs.

    Without ``workload`` it is the first that both were timed on, else the first that both have, else all launches.
    ``timed`` are runs of the same two sources to take the times from, where the two runs were not timed together.
    ``force`` compares what cannot be compared; ``every`` takes all metrics, not only those always looked at, and
    ``metrics`` these beside them, by our key or ncu's name. ``lines``: every source line, not only what changed most.
    ``learned`` is how far metrics stray on this model of GPU, beside what the package knows.
    """

    workload: str | None = None
    timed: Pair | None = None
    force: bool = False
    every: bool = False
    metrics: tuple[str, ...] = ()
    lines: bool = False
    learned: LearnedNoise | None = None


@dataclass(frozen=True)
class FullDiff:
    """A diff with what it was made of: the counters of the compared launches of each side, and every metric."""

    diff: Diff
    totals: tuple[Combined, Combined] = field(repr=False)
    every: tuple[Change, ...] = field(repr=False)


def diff_runs(baseline: StoredRun, candidate: StoredRun, options: DiffOptions | None = None) -> Diff:
    """Return what differs between two runs on one workload.

    Raises UsageProblem for runs of different kernels, for a workload that a side lacks or that neither knows of, and
    for a metric that neither has; DamagedData for a run whose files were changed.
    """
    asked = options or DiffOptions()
    _check_kernels(baseline.run, candidate.run, asked.force)
    return _Comparison((baseline, candidate), asked).diff(asked.every)


def diff_in_full(baseline: StoredRun, candidate: StoredRun, options: DiffOptions | None = None) -> FullDiff:
    """Return the same with all metrics beside it, which are read anyway: ``every`` of the options is of no account."""
    asked = options or DiffOptions()
    _check_kernels(baseline.run, candidate.run, asked.force)
    made = _Comparison((baseline, candidate), replace(asked, every=True))
    return made.in_full()


def _counted_as(name: str) -> str:
    """Return the share that holds one which the code tells apart later, as ``stall_long_scoreboard`` does mbarriers."""
    booked = BOOKED_AS.get(name.removeprefix(STALL_SHARE)) if name.startswith(STALL_SHARE) else None
    return STALL_SHARE + booked if booked else name


class _Comparison:
    """Two runs, what was read of them, and the parts of the answer."""

    def __init__(self, sides: Pair, asked: DiffOptions) -> None:
        self.sides, self.asked = sides, asked
        self.runs = sides[0].run, sides[1].run
        self.names = compared_workloads(*self.runs, asked.workload)
        has_all = asked.every or bool(asked.metrics)
        self.tables: tuple[Tables, Tables] = _read(sides[0], has_all), _read(sides[1], has_all)
        self.whole = self._combined(0), self._combined(1)
        self.differing, forbidden = differences(self._facts(0), self._facts(1))
        self.scope = scope(*self.whole)
        pairs = self.scope.paired.pairs if self.names == (None, None) else ()  # else they do the same work
        self.doubts = work_doubts(pairs, self.tables)
        of_work, other = work_differences(pairs, self.doubts, self.tables)
        self.differing = (*self.differing, *of_work, *self.scope.apart)
        apart = forbidden or _strangers(*self.runs) or self.scope.reason
        reason = apart or other
        self.forced = reason if asked.force else ""
        self.forbidden = not_comparable(reason) if reason and not asked.force else None
        self.totals = self.whole if apart and self.forbidden else self.scope.totals
        self.noise = noise_model(*self.runs, learned=asked.learned)

    def in_full(self) -> FullDiff:
        """Put the answer together from what is always looked at, and all metrics beside it."""
        made = self.diff(every=False)
        every = side_by_side(*self.totals, True) if self.forbidden else self._every(made.verdict)
        said = {change.metric: change for change in made.changes}  # in the same words as above all metrics
        return FullDiff(made, self.totals, tuple(said.get(one.metric, one) for one in every) if made.changes else ())

    def diff(self, every: bool) -> Diff:
        """Put the answer together."""
        pairs = launch_diffs(self.scope.paired.pairs, self.tables, self.forbidden, self.noise, self.doubts)
        verdict = self.forbidden or self._verdict(pairs)
        told = self._chosen(verdict, every)
        sides = self._side(0), self._side(1)
        return Diff(
            baseline=sides[0],
            candidate=sides[1],
            workload=self.names[1],
            verdict=verdict,
            source=next(source for source in FARTHEST_FIRST if source in (sides[0].source, sides[1].source)),
            changes=told,
            launches=(replace(pairs[0], verdict=verdict, changes=told),) if self.scope.is_one_kernel else pairs,
            only_baseline=self.scope.paired.only_baseline,
            only_candidate=self.scope.paired.only_candidate,
            flags=flags(told, verdict, sides[1].bottleneck is not None),
            differences=self.differing,
            why=None if self.forbidden else self._why(verdict),
            forced=self.forced,
        )

    def _combined(self, place: int) -> Combined:
        return combine_tables(self.runs[place], self.tables[place], self.names[place])

    def _facts(self, place: int) -> tuple[Run, WorkloadFacts | None]:
        """Return a run, and what its launches worked on, also where these are a part of a call."""
        run, name = self.runs[place], self.names[place]
        of = {name} if name else {one.workload for one in run.launches}
        return run, self.sides[place].whole.workload(of.pop() or "") if len(of) == 1 else None

    def _verdict(self, pairs: tuple[LaunchDiff, ...]) -> Verdict:
        """Return the verdict by samples, else by repeats under ncu, else by one duration a side."""
        times = self.asked.timed or self.sides
        of_kernel = pairs[0].verdict if self.scope.is_one_kernel and pairs[0].pair.repeats else None
        return best_verdict(times, self.names, SampleReader(), lambda: self.totals, of_kernel)

    def _chosen(self, verdict: Verdict, every: bool) -> tuple[Change, ...]:
        """Return the changes that were asked for: all, or those always looked at and the metrics that were named."""
        if every or not self.asked.metrics:
            return self._changes(verdict, every)
        told, found = self._changes(verdict, every=False), self._changes(verdict, every=True)
        by_name = {change.metric: change for change in found}
        asked = [_counted_as(name) if name not in by_name else name for name in self.asked.metrics]
        for name in asked:
            if name not in by_name:
                said = f"neither side has a metric called '{name}'; {did_you_mean(name, by_name)}"
                raise UsageProblem(said, "ncu-assist metrics")
        known = {change.metric for change in told}
        return (*told, *(by_name[name] for name in dict.fromkeys(asked) if name not in known))

    def _changes(self, verdict: Verdict, every: bool) -> tuple[Change, ...]:
        """Return the changes; none where neither side has counters, or they are of other kernels."""
        before, after = self.totals
        if not (before.launches or after.launches) or verdict.reason == NOTHING_IN_COMMON:
            return ()
        if verdict.verdict == "not-comparable":
            return side_by_side(before, after, every)
        told = _with_roles(before, after, self.noise, verdict)
        if not every:
            return told
        known = {change.metric for change in told}  # the others say the same once more, in other units: no flags
        return (*told, *(change for change in self._every(verdict) if change.metric not in known))

    def _every(self, verdict: Verdict) -> Sequence[Change]:
        found = changes(*self.totals, self.noise, every=True)
        return beside_the_time(found, verdict, bottleneck(self.totals[1].values))

    def _why(self, verdict: Verdict) -> Why | None:
        """Return what the counters explain of the time, beside what the bench saw, if there was one."""
        benched = all(self._timing(place) for place in (0, 1))
        found = why(*self.totals, verdict if benched else None, self.noise)
        is_one = found and not benched and is_one_ratio(found.time_ratio, verdict.speedup)
        return replace(found, by_verdict=verdict.speedup) if found and is_one else found

    def _timing(self, place: int) -> Timing | None:
        timed, name = (self.asked.timed or self.sides)[place].run, self.names[place]
        return timed.timing(name) if name else None

    def _side(self, place: int) -> DiffSide:
        stored, run, whole, name = self.sides[place], self.runs[place], self.whole[place], self.names[place]
        compared = self.totals[place]
        return DiffSide(
            reference=stored.reference,
            kernel=run.kernel,
            version=run.version,
            run_id=run.run_id,
            source=run.source,
            created=run.created,
            device=run.device,
            workload=name,
            timing=self._timing(place),
            duration_ns=whole.duration_ns,
            launches=len(whole.launches),
            compared=len(whole.launches) if compared is whole else self.scope.compared[place],
            indices=tuple(one.index for one in compared.launches),
            bottleneck=bottleneck(compared.values),
            notes=run.notes,
            is_silent=name in run.silent,
            has_settings=run.profile is not None,
        )


def _read(stored: StoredRun, every: bool) -> Tables:
    return by_launch(stored.metrics()) if every else stored.by_launch()


def _check_kernels(baseline: Run, candidate: Run, force: bool) -> None:
    if of_two_kernels(baseline, candidate) and not force:
        raise UsageProblem(
            f"{baseline.kernel}/{baseline.version} and {candidate.kernel}/{candidate.version} are different kernels",
            f"compare two versions of one kernel, e.g. ncu-assist diff {candidate.kernel}/@baseline "
            f"{candidate.kernel}/{candidate.version}",
        )


def _strangers(baseline: Run, candidate: Run) -> str:
    """Return the reason code when what is foreign launched nothing of the kernel it is compared with, else empty."""
    if baseline.is_foreign == candidate.is_foreign:
        return ""
    functions = [{launch.kernel for launch in run.launches} for run in (baseline, candidate)]
    return "" if functions[0] & functions[1] else "other-kernel"


def verdict_by_time(baseline: StoredRun, candidate: StoredRun, workload: str | None, samples: SampleReader) -> Verdict:
    """Return which of two runs is faster on ``workload``, by the best that both know of its time.

    Foreign programs, which have no workload (None) and no samples, have their durations under ncu, over the launches
    of both. Raises DamagedData for files that were changed.
    """
    if workload is None:
        return _of_programs(baseline, candidate, samples)
    forbidden = forbidden_by_time(baseline, candidate, workload)
    if forbidden:
        return not_comparable(forbidden)
    sides = baseline, candidate

    def totals() -> tuple[Combined, Combined]:
        before, after = (combine_tables(stored.run, stored.by_launch(), workload) for stored in sides)
        return before, after

    return best_verdict(sides, (workload, workload), samples, totals)


def forbidden_by_time(baseline: StoredRun, candidate: StoredRun, workload: str) -> str:
    """Return the reason code of what forbids to compare the samples of two runs, or empty."""
    timed = (replace(stored.run, profile=None) for stored in (baseline, candidate))  # ncu's clocks are not a bench's
    before, after = ((run, run.workload(workload)) for run in timed)
    return differences(before, after)[1]


def _of_programs(baseline: StoredRun, candidate: StoredRun, samples: SampleReader) -> Verdict:
    """Return the verdict that `diff` gives; what it would read of many launches is not read, as it changes nothing."""
    _, forbidden = differences((baseline.run, None), (candidate.run, None))
    if forbidden:
        return not_comparable(forbidden)
    chosen = scope(combine_tables(baseline.run, {}, None), combine_tables(candidate.run, {}, None))
    if chosen.reason:
        return not_comparable(chosen.reason)
    if chosen.is_one_kernel:  # whose launches may be repeats, with a clock each
        return diff_runs(baseline, candidate).verdict
    verdict = best_verdict((baseline, candidate), (None, None), samples, lambda: chosen.totals)
    return diff_runs(baseline, candidate).verdict if verdict.likely else verdict  # unless the clock explains it


LEAST_BUSY, MOST_UNITS = 5.0, 6  # percent: a unit less busy on both sides is no news
LEAST_STALL, MOST_STALLS = 1.0, 10  # percent of warp states
CounterValues = Mapping[str, float | None]
Shares = tuple[float, float]  # of baseline and candidate, in percent


def busy_units(
    resources: Iterable[Resource], baseline: CounterValues, candidate: CounterValues
) -> list[tuple[Resource, Shares]]:
    """Return the busiest units, each once, by its first counter that both sides have, the busiest on either first."""
    known: dict[str, tuple[Resource, Shares]] = {}
    for one in resources:
        before, after = one.share(baseline), one.share(candidate)
        if before is not None and after is not None:
            known.setdefault(one.name, (one, (before, after)))
    busy = [(one, shares) for one, shares in known.values() if max(shares) >= LEAST_BUSY]
    return sorted(busy, key=lambda each: -max(each[1]))[:MOST_UNITS]


def stalls_of_both(baseline: Mapping[str, float], candidate: Mapping[str, float]) -> dict[str, Shares]:
    """Return the reasons that warps of either side were stalled for most; empty where one side was not sampled."""
    if not baseline or not candidate:
        return {}
    shares = {reason: (baseline.get(reason, 0.0), candidate.get(reason, 0.0)) for reason in (*candidate, *baseline)}
    ranked = sorted(shares, key=lambda reason: (-max(shares[reason]), reason))[:MOST_STALLS]
    return {reason: shares[reason] for reason in ranked if max(shares[reason]) >= LEAST_STALL}
