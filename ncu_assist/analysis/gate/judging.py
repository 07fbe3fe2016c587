"""One limit against what was measured: of both sides, or of a window of earlier runs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, isfinite, log, sqrt

from ncu_assist.analysis.diff.changes import ComparedMetric, change
from ncu_assist.analysis.diff.noise import BEYOND, ENOUGH_REPEATS, WITHIN, NoiseModel
from ncu_assist.analysis.gate import (
    ACROSS_LIMIT,
    ACROSS_MARGIN,
    MAY_BE_NOISE,
    NOT_COUNTED,
    TOO_FEW_RUNS,
    GateCheck,
    GateDetail,
    Lacking,
)
from ncu_assist.analysis.gate.limits import Limit
from ncu_assist.analysis.trend import TrendPoint, TrendSeries
from ncu_assist.record import Run
from ncu_assist.verdict import MARGIN, REASONS, Verdict, Word
from ncu_assist.verdict.levels import FEWEST, Level
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


MediansNs = tuple[float | None, float | None]  # of both sides, None where one was not benched


def judge_time(limit: Limit, verdict: Verdict, medians_ns: MediansNs, place: GatedRuns) -> GateCheck:
    """Return whether the candidate is slower by more than the limit, or than 0.5 %, below which nothing is told apart.

    It is where the whole 99 % interval is and the verdict is slower, it is not where the interval reaches nowhere
    beyond, else it is unclear. So a limit of 0.5 % or less is broken exactly where the verdict is slower. Without an
    interval the word of the verdict decides, and how much slower a slower one is.
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


IN_WINDOW = "interval-beyond", "interval-inside", "interval-across"


@dataclass(frozen=True)
class Window:
    """The earlier runs of a version on one workload, the oldest first, and those that are held against them."""

    before: TrendSeries
    now: tuple[TrendPoint, ...]

    @property
    def lowest(self) -> Level:
        """The level, or the slope, that begins or ends lowest."""
        return min(self.before.levels.levels, key=lambda level: min(level.start, level.end))

    @property
    def baseline(self) -> TrendPoint:
        """The newest run at the lowest level; of a slope the one at its lower end."""
        level = self.lowest
        return self.before.points[level.last if level.end <= level.start else level.first]

    def judged(self, limit: Limit, place: GatedRuns) -> GateCheck:
        """Return whether the time is above the lowest level by more than the limit.

        The interval is made of what runs of one code differ by, of the error of the level, and of the runs' own.
        """
        verdict = self._verdict()
        level_ns = exp(min(self.lowest.start, self.lowest.end))
        now_ns = exp(self._now)
        check = judge_time(limit, verdict, (level_ns, now_ns), place)
        again = f"ncu-assist bench {place.candidate.kernel} {short_name(place.candidate.version)}"
        command = f"{again} --workload {shlex.quote(place.workload or '')} --again"
        return check if check.outcome == "pass" else replace(check, next=command if check.next else "")

    @property
    def _now(self) -> float:
        return sum(log(point.timing.median_ns) for point in self.now) / len(self.now)

    def _verdict(self) -> Verdict:
        levels, lowest = self.before.levels, self.lowest
        own = sqrt(sum(point.error**2 + levels.run_to_run**2 for point in self.now)) / len(self.now)
        change = self._now - min(lowest.start, lowest.end)
        reach = levels.wide * sqrt(own**2 + lowest.end_error**2)
        low, high = exp(change - reach) - 1, exp(change + reach) - 1
        word, reason = _word(low, high)
        return Verdict(word, None, reason, exp(-change), 1 / (1 + high), 1 / (1 + low), len(self.before.points))


def _word(low: float, high: float) -> tuple[Word, str]:
    beyond, inside, across = IN_WINDOW
    if low > MARGIN:
        return "slower", beyond
    if high < -MARGIN:
        return "faster", beyond
    return ("same", inside) if low > -MARGIN and high < MARGIN else ("unclear", across)


def too_few(limit: Limit, workload: str) -> GateCheck:
    """Return the check of a time that fewer runs are known of than make a level."""
    return GateCheck(workload, limit, "unclear", "unclear", reason=TOO_FEW_RUNS)


def window_of(points: Sequence[TrendPoint], now: Sequence[TrendPoint]) -> Window | None:
    """Return a window; None where it has fewer runs than make a level."""
    if len(points) < FEWEST or not now:
        return None
    return Window(TrendSeries(points[0].run.version, points[0].run.gpu, tuple(points)), tuple(now))
