"""One limit and two runs to an outcome: kept, broken, or not told."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from math import isfinite

from ncu_assist.analysis.diff.changes import ComparedMetric, change
from ncu_assist.analysis.diff.noise import BEYOND, ENOUGH_REPEATS, WITHIN, NoiseModel
from ncu_assist.analysis.gate.limits import Limit
from ncu_assist.analysis.gate.records import (
    ACROSS_LIMIT,
    ACROSS_MARGIN,
    MAY_BE_NOISE,
    NOT_COUNTED,
    GateCheck,
    GateDetail,
    Lacking,
)
from ncu_assist.record import Run
from ncu_assist.verdict import MARGIN, REASONS, Verdict
from ncu_assist.verdict.records import BENCH, PROFILE
from ncu_assist.versions import short_name

FEWEST_ROUNDS, MOST_ROUNDS = 400, 100_000  # of the next bench; more than the command takes are no help
MORE = 4  # times the rounds halve the interval
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
        """Return a command of REASONS for these two; empty where nothing here can run it."""
        if not template or self.workload is None or "imported" in (self.baseline.source, self.candidate.source):
            return ""
        baseline, candidate = self.names
        filled = template.format(kernel=self.candidate.kernel, baseline=baseline, candidate=candidate)
        return filled if "--workload" in filled else f"{filled} --workload {shlex.quote(self.workload)}"


@dataclass(frozen=True)
class GateTiming:
    """The times of two runs: the verdict and, where they were benched, the medians."""

    verdict: Verdict
    baseline_ns: float | None
    candidate_ns: float | None


def judge_time(limit: Limit, timed: GateTiming, place: GatedRuns) -> GateCheck:
    """Return whether the candidate is slower by more than the limit, or than 0.5 %, below which nothing is told apart.

    It is where the whole 99 % interval is and the verdict is slower, it is not where the interval reaches nowhere
    beyond, else it is unclear. So a limit of 0.5 % or less is broken exactly where the verdict is slower. Without an
    interval the word of the verdict decides, and how much slower a slower one is.
    """
    verdict = timed.verdict
    times = finite(timed.baseline_ns), finite(timed.candidate_ns)
    check = GateCheck(place.workload, limit, "unclear", verdict.verdict, *times, clocks_mhz=verdict.clocks_mhz)
    cycles = _slowdown(verdict.cycles.speedup) if verdict.cycles else None
    check = replace(check, words=verdict.words, by_clock=verdict.by_clock, cycles=cycles)
    if verdict.verdict == "not-comparable":
        return not_compared(check, verdict.reason, place)
    check = replace(check, delta=_slowdown(verdict.speedup))
    if verdict.low is not None and verdict.high is not None:
        check = replace(check, low=1 / verdict.high - 1, high=1 / verdict.low - 1)
    if verdict.verdict == "slower" and _is_beyond(check):
        return replace(check, outcome="regression", reason="" if check.low is not None else verdict.reason)
    if _is_kept(check):
        return replace(check, outcome="pass")
    return _undecided(check, verdict, place)


def _is_beyond(check: GateCheck) -> bool:
    """Tell whether a slower candidate is slower by more than the limit allows."""
    least = check.low if check.low is not None else check.delta
    return check.limit.amount <= MARGIN or least is None or least > check.limit.amount


def _is_kept(check: GateCheck) -> bool:
    """Tell whether a candidate is not slower, or by no more than the limit allows."""
    if check.verdict in ("faster", "same"):
        return True
    if check.high is not None:
        return check.high <= max(check.limit.amount, MARGIN)
    return check.verdict == "slower"  # and not by more than the limit


def _undecided(check: GateCheck, verdict: Verdict, place: GatedRuns) -> GateCheck:
    """Return a check of times that could not be settled, with why and what would settle it."""
    if check.low is None or verdict.reason == "not-resolved":
        command = place.command(REASONS[verdict.reason].command)
        return replace(check, reason=verdict.reason, detail=GateDetail(likely=verdict.likely), next=command)
    reason = ACROSS_LIMIT if check.limit.amount >= MARGIN else ACROSS_MARGIN
    rounds = min(max(FEWEST_ROUNDS, MORE * verdict.pairs), MOST_ROUNDS)
    return replace(check, reason=reason, next=place.command(f"{BENCH} --rounds {rounds}"))


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
    full = all(side.is_profiled and side.section_set == FULL for side in _lacking(row, place))
    return "" if row.note or full else place.command(PROFILE)


def _lacking(row: ComparedMetric, place: GatedRuns) -> tuple[Lacking, ...]:
    sides = zip((row.baseline, row.candidate), place.names, (place.baseline, place.candidate), strict=True)
    return tuple(_lacks(name, run, place.workload) for value, name, run in sides if value is None)


def _lacks(name: str, run: Run, workload: str | None) -> Lacking:
    counted = run.launched_nothing or any(workload in (None, launch.workload) for launch in run.launches)
    return Lacking(name, counted, run.profile.section_set if counted and run.profile else "")
