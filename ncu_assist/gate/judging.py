"""One limit and two runs to an outcome: kept, broken, or not told."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from math import isfinite

from ncu_assist.diff.changes import change
from ncu_assist.diff.metric_rows import Row
from ncu_assist.diff.noise import BEYOND, ENOUGH_REPEATS, WITHIN, NoiseModel
from ncu_assist.gate.limits import Limit
from ncu_assist.gate.records import GateCheck
from ncu_assist.record import Run
from ncu_assist.store.naming import VERSION_NUMBER
from ncu_assist.verdict import MARGIN, REASONS, Verdict
from ncu_assist.verdict.reasons import BENCH, PROFILE

FEWEST_ROUNDS, MOST_ROUNDS = 400, 100_000  # of the next bench; more than the command takes are no help
MORE = 4  # times the rounds halve the interval
NOISE = "it may be noise: it is beyond the limit by less than twice what repeats of a kernel may be apart"
FULL = "full"  # the section set that `profile` takes unless told otherwise


@dataclass(frozen=True)
class Place:
    """Where a limit is judged: two runs, and the workload that both have; None for programs that know of none."""

    baseline: Run
    candidate: Run
    workload: str | None

    @property
    def names(self) -> tuple[str, str]:
        """The two in short: ``v6`` and ``v7``."""
        return short(self.baseline.version), short(self.candidate.version)

    def command(self, template: str) -> str:
        """Return a command of REASONS for these two; empty where nothing here can run it."""
        if not template or self.workload is None or "imported" in (self.baseline.source, self.candidate.source):
            return ""
        baseline, candidate = self.names
        filled = template.format(kernel=self.candidate.kernel, baseline=baseline, candidate=candidate)
        return f"{filled} --workload {shlex.quote(self.workload)}"


@dataclass(frozen=True)
class Timed:
    """The times of two runs: the verdict and, where they were benched, the medians."""

    verdict: Verdict
    baseline_ns: float | None
    candidate_ns: float | None


def short(version: str) -> str:
    """Return ``v3`` for ``v3_global_memory``; a name without a number stays as it is."""
    match = VERSION_NUMBER.fullmatch(version)
    return f"v{match.group(1)}" if match else version


def judge_time(limit: Limit, timed: Timed, place: Place) -> GateCheck:
    """Return whether the candidate is slower by more than the limit, or than 0.5 %, below which nothing is told apart.

    It is where the whole 99 % interval is, it is not where the interval reaches nowhere beyond, else it is unclear.
    Without an interval the word of the verdict decides, and how much slower a slower one is.
    """
    verdict = timed.verdict
    times = finite(timed.baseline_ns), finite(timed.candidate_ns)
    check = GateCheck(place.workload, limit, "unclear", verdict.verdict, *times)
    if verdict.verdict == "not-comparable":
        return not_compared(check, verdict.reason, place)
    allowed, slowdown = max(limit.amount, MARGIN), _slowdown(verdict.speedup)
    if verdict.low is not None and verdict.high is not None:
        ends = 1 / verdict.high - 1, 1 / verdict.low - 1
        return _by_interval(replace(check, delta=slowdown, low=ends[0], high=ends[1]), allowed, verdict.pairs, place)
    check = replace(check, delta=slowdown)
    if verdict.verdict == "unclear":
        likely = f"likely {verdict.likely}, but " if verdict.likely else ""
        told = REASONS[verdict.reason]
        return replace(check, reason=f"{likely}{told.meaning}", next=place.command(told.command))
    if verdict.verdict == "slower" and (slowdown is None or slowdown > limit.amount):
        return replace(check, outcome="regression", reason=REASONS[verdict.reason].meaning)
    return replace(check, outcome="pass")


def judge_metric(limit: Limit, row: Row, noise: NoiseModel, place: Place) -> GateCheck:
    """Return whether a metric moved beyond its limit by more than its noise; what is exact has none.

    Beyond the limit by as much as repeats of one kernel are apart is kept, by twice that is broken, between is unclear.
    """
    row = replace(row, baseline=finite(row.baseline), candidate=finite(row.candidate))
    told, reading = change(row, noise), row.reading()
    check = GateCheck(place.workload, limit, "unclear", told.verdict, row.baseline, row.candidate, told.delta)
    if reading is None:
        return replace(check, reason=_missing(row, place), next=place.command(_to_count(row, place)))
    excess, amount = limit.excess(reading.baseline, reading.candidate), noise.amount(reading)
    if excess <= WITHIN * amount:
        return replace(check, outcome="pass")
    if reading.exact or excess > BEYOND * amount:
        return replace(check, outcome="regression")
    return replace(check, reason=NOISE, next=place.command(f"{PROFILE} --repeats {ENOUGH_REPEATS}"))


def not_compared(check: GateCheck, reason: str, place: Place) -> GateCheck:
    """Return a check of two runs that cannot be compared; ``reason`` is a key of REASONS."""
    told = REASONS[reason]
    command = place.command(told.command)
    return replace(check, outcome="unclear", verdict="not-comparable", reason=told.meaning, next=command)


def _by_interval(check: GateCheck, allowed: float, pairs: int, place: Place) -> GateCheck:
    low, high = check.low or 0.0, check.high or 0.0
    if low > allowed:
        return replace(check, outcome="regression")
    if high <= allowed:
        return replace(check, outcome="pass")
    across = "the limit" if allowed == check.limit.amount else f"{100 * MARGIN:g} %, the least that is told apart"
    reason = f"the 99 % interval reaches across {across}"
    rounds = min(max(FEWEST_ROUNDS, MORE * pairs), MOST_ROUNDS)
    return replace(check, reason=reason, next=place.command(f"{BENCH} --rounds {rounds}"))


def percent(part: float) -> str:
    """Return a relative change, e.g. ``+3.1 %``."""
    text = f"{100 * part:+.1f} %"
    return text if text[1:] != "0.0 %" else "0.0 %"


def finite(value: float | None) -> float | None:
    """Return a number that can be compared; None for infinity and NaN."""
    return value if value is not None and isfinite(value) else None


def _slowdown(speedup: float | None) -> float | None:
    return 1 / speedup - 1 if speedup else None


def _missing(row: Row, place: Place) -> str:
    """Return which side lacks a metric, and why."""
    lacking = [f"{name}{_why_lacking(run, place.workload)}" for name, run in _lacking(row, place)]
    return f"not counted in {' or '.join(lacking)}" + (f": {row.note}" if row.note else "")


def _to_count(row: Row, place: Place) -> str:
    """Return the command that would count a metric; empty where a full profile did not."""
    full = all(_is_profiled(run, place.workload, FULL) for _, run in _lacking(row, place))
    return "" if row.note or full else PROFILE


def _lacking(row: Row, place: Place) -> list[tuple[str, Run]]:
    sides = zip((row.baseline, row.candidate), place.names, (place.baseline, place.candidate), strict=True)
    return [(name, run) for value, name, run in sides if value is None]


def _why_lacking(run: Run, workload: str | None) -> str:
    if not _is_profiled(run, workload):
        return " (it was not profiled there)"
    return f" (section set {run.profile.section_set})" if run.profile else ""


def _is_profiled(run: Run, workload: str | None, section_set: str = "") -> bool:
    counted = any(workload in (None, launch.workload) for launch in run.launches)
    return counted and (not section_set or (run.profile is not None and run.profile.section_set == section_set))
