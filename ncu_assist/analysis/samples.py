"""The samples of a run in the order in which they were taken, read from the archive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ncu_assist.analysis.diff.timing import SampleReader
from ncu_assist.record import Timing
from ncu_assist.store import StoredRun


@dataclass(frozen=True)
class TimedSamples:
    """All samples of one version on one workload in one bench, in the order in which they were taken.

    ``rounds`` and ``positions`` say when: each round times every version once. ``times_ns`` are in ns; a ``late`` one
    is no part of ``timing``, the same samples in short.
    """

    version: str
    timing: Timing
    flush: str
    rounds: tuple[int, ...]
    positions: tuple[int, ...]
    times_ns: tuple[float, ...]
    late: tuple[bool, ...]


def samples_in(rows: Sequence[tuple[int, int, float, bool]], version: str, timing: Timing, flush: str) -> TimedSamples:
    """Return samples from rows of round, position, time in ns and whether it was late."""
    rounds, positions, times, late = (tuple(column) for column in zip(*rows, strict=True)) if rows else ((), (), (), ())
    return TimedSamples(version, timing, flush, rounds, positions, times, late)


def timed_samples(stored: StoredRun, workload: str | None) -> TimedSamples | None:
    """Return all samples of a run on one workload; None where it was not timed on it.

    Raises DamagedData for samples that were changed, or that are not what the timing of the run is of.
    """
    run = stored.run
    timing = run.timing(workload) if workload else None
    if timing is None or run.bench is None or workload is None:
        return None
    own = SampleReader().of(stored, workload)
    own = own.where(own["bench_id"] == timing.bench_id)
    columns = (own[name].tolist() for name in ("round", "position", "time_ns", "late"))
    return samples_in(list(zip(*columns, strict=True)), run.version, timing, run.bench.flush)
