"""The verdict by time alone of two stored runs on one workload; where there are samples, no counter is read for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.diff.comparability import differences
from ncu_assist.diff.comparing import diff_runs
from ncu_assist.diff.scope import scope
from ncu_assist.frame import combine_tables
from ncu_assist.record import Run
from ncu_assist.store import StoredRun
from ncu_assist.verdict import Verdict, compare, compare_durations, not_comparable, select

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Samples:
    """The samples of runs, each file read once, and only when it is asked for."""

    _read: dict[Path, pd.DataFrame] = field(default_factory=dict)

    def of(self, stored: StoredRun, workload: str) -> pd.DataFrame:
        """Return the samples of a run's own version; no rows where there are none. Raises as ``samples`` does."""
        if stored.folder not in self._read:
            self._read[stored.folder] = stored.samples()
        return select(self._read[stored.folder], stored.run.version, workload)


def is_timed(run: Run, workload: str | None) -> bool:
    """Tell whether a run has a time to compare: samples, or for a foreign program (None) launches under ncu."""
    return bool(run.launches) if workload is None else run.timing(workload) is not None


def common_bench(
    baseline: Sequence[StoredRun], candidate: Sequence[StoredRun], workload: str | None
) -> tuple[StoredRun, StoredRun] | None:
    """Return the first two of these runs that were timed in one bench on ``workload``; None where no two were."""
    others = {t.bench_id: run for run in reversed(candidate) if workload and (t := run.run.timing(workload))}
    for one in baseline:
        timing = one.run.timing(workload) if workload else None
        if timing and timing.bench_id in others:
            return one, others[timing.bench_id]
    return None


def verdict_by_time(baseline: StoredRun, candidate: StoredRun, workload: str | None, samples: Samples) -> Verdict:
    """Return which of two runs is faster on ``workload``, from their samples.

    Foreign programs, which have no workload (None) and no samples, have one duration a side under ncu, over the
    launches of both: unclear at best. Raises DamagedData for files that were changed.
    """
    if workload is None:
        return _by_durations(baseline, candidate)
    sides = [(_unprofiled(stored.run), stored.run.workload(workload)) for stored in (baseline, candidate)]
    _, forbidden = differences(sides[0], sides[1])
    if forbidden:
        return not_comparable(forbidden)
    return compare(samples.of(baseline, workload), samples.of(candidate, workload))


def _unprofiled(run: Run) -> Run:
    """Return a run without how its counters were taken: a bench runs apart from ncu, whose clocks are not its own."""
    return replace(run, profile=None)


def _by_durations(baseline: StoredRun, candidate: StoredRun) -> Verdict:
    """Return the verdict that `diff` gives; what it would read of many launches is not read, as it changes nothing."""
    _, forbidden = differences((baseline.run, None), (candidate.run, None))
    if forbidden:
        return not_comparable(forbidden)
    chosen = scope(combine_tables(baseline.run, {}, None), combine_tables(candidate.run, {}, None))
    if chosen.reason:
        return not_comparable(chosen.reason)
    if chosen.is_one_kernel:  # whose launches may be repeats, with a clock each
        return diff_runs(baseline, candidate).verdict
    return compare_durations(*(total.duration_ns for total in chosen.totals))
