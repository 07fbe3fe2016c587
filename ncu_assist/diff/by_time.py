"""The verdict by time alone of two stored runs on one workload; where there are samples, no counter is read for it."""

from __future__ import annotations

from dataclasses import replace

from ncu_assist.diff.comparability import differences
from ncu_assist.diff.comparing import diff_runs
from ncu_assist.diff.scope import scope
from ncu_assist.diff.timing import Samples, best_verdict
from ncu_assist.frame import Combined, combine_tables
from ncu_assist.record import Run
from ncu_assist.store import StoredRun
from ncu_assist.verdict import Verdict, not_comparable


def verdict_by_time(baseline: StoredRun, candidate: StoredRun, workload: str | None, samples: Samples) -> Verdict:
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
    before, after = ((_unprofiled(stored.run), stored.run.workload(workload)) for stored in (baseline, candidate))
    return differences(before, after)[1]


def _unprofiled(run: Run) -> Run:
    """Return a run without how its counters were taken: a bench runs apart from ncu, whose clocks are not its own."""
    return replace(run, profile=None)


def _of_programs(baseline: StoredRun, candidate: StoredRun, samples: Samples) -> Verdict:
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
