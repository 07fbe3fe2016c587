"""What two stored runs know of time on one workload, and the verdict by the best of it that both sides have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from ncu_assist.errors import DamagedData
from ncu_assist.frame import Combined
from ncu_assist.frame.columns import Samples
from ncu_assist.record import Run, Timing
from ncu_assist.store import StoredRun
from ncu_assist.store.answers import Answers
from ncu_assist.store.archive import samples_problem
from ncu_assist.store.index import RunHead
from ncu_assist.verdict import Verdict, compare, compare_durations, compare_unpaired, paired_speedup

CLOCK = "sm_clock"
HZ_PER_MHZ = 1e6
ONLY_LATE = "only-late-samples"
Pair = tuple[StoredRun, StoredRun]
L = TypeVar("L", StoredRun, RunHead)
Totals = Callable[[], tuple[Combined, Combined]]


@dataclass(frozen=True)
class SampleReader:
    """The samples of runs, each file read once, and only when it is asked for.

    ``answers`` keep the verdicts over two of them, for who asks again.
    """

    answers: Answers | None = None
    _read: dict[Path, Samples] = field(default_factory=dict)

    def of(self, stored: StoredRun, workload: str) -> Samples:
        """Return the samples of a run's own version; no rows where there are none.

        Raises DamagedData for a file that was changed, and for one that is not what the timing of the run is of.
        """
        if stored.folder not in self._read:
            self._read[stored.folder] = stored.sampled()
        found = self._read[stored.folder].of(stored.run.version, workload)
        problem = samples_problem(stored.run, found, workload)
        if problem:
            raise DamagedData(problem, "ncu-assist verify", of=stored.reference)
        return found

    def speedup(self, baseline: StoredRun, candidate: StoredRun, workload: str) -> float | None:
        """Return how much faster the candidate is, as a verdict on samples of one bench says it; None without one.

        Raises as ``of``.
        """
        if common_bench([baseline], [candidate], workload) is None:
            return None
        if baseline.reference == candidate.reference:
            return 1.0
        return paired_speedup(self.of(baseline, workload), self.of(candidate, workload))


def is_timed(run: Run | RunHead, workload: str | None) -> bool:
    """Tell whether a run has a time to compare: samples, or for a foreign program (None) launches under ncu."""
    return bool(run.launches) if workload is None else run.timing(workload) is not None


def common_bench(baseline: Sequence[L], candidate: Sequence[L], workload: str | None) -> tuple[L, L] | None:
    """Return the first two of these runs that were timed in one bench on ``workload``; None where no two were."""
    others = {t.bench_id: run for run in reversed(candidate) if workload and (t := run.run.timing(workload))}
    for one in baseline:
        timing = one.run.timing(workload) if workload else None
        if timing and timing.bench_id in others:
            return one, others[timing.bench_id]
    return None


def best_verdict(
    sides: Pair,
    workloads: tuple[str | None, str | None],
    samples: SampleReader,
    totals: Totals,
    of_kernel: Verdict | None = None,
) -> Verdict:
    """Return the verdict by the best that both sides have.

    Samples of one bench are paired, those of two are not; then come repeats under ncu, then one duration a side there.
    ``totals`` returns what ncu counted, and is called only where samples do not decide; ``of_kernel`` is the verdict
    over the repeats of the only kernel of foreign programs, which have no samples. Raises as ``SampleReader.of`` does.
    """

    def made() -> Verdict:
        named = [(one, name) for one, name in zip(sides, workloads, strict=True) if name is not None]
        taken = [samples.of(stored, name) for stored, name in named]
        only_late = any(len(own) > 0 and bool(own["late"].all()) for own in taken)
        if len(taken) == 2 and all(len(own) > 0 for own in taken) and not only_late:
            return compare(taken[0], taken[1])
        verdict = of_kernel or _under_ncu(*totals())
        return replace(verdict, reason=ONLY_LATE) if only_late and verdict.verdict == "unclear" else verdict

    if samples.answers is None or not all(workloads):
        return made()
    return samples.answers.of("verdict", sides, [str(name) for name in workloads], Verdict, made)


def _mean_mhz(combined: Combined) -> float | None:
    """Return the SM clock under ncu over all launches, weighted by their time; None where that of one is unknown."""
    hertz = combined.values[CLOCK]
    return hertz / HZ_PER_MHZ if hertz and combined.coverage(CLOCK) is None else None


def _under_ncu(baseline: Combined, candidate: Combined) -> Verdict:
    """Return the verdict over the durations of repeats, else over one a side, which makes it likely at best."""
    if min(baseline.repeats, candidate.repeats) > 1:
        times, clocks = (
            [[value / unit for value in side.samples(key)] for side in (baseline, candidate)]
            for key, unit in (("duration", 1.0), (CLOCK, HZ_PER_MHZ))
        )
        mhz = [clock if len(clock) == len(time) else None for clock, time in zip(clocks, times, strict=True)]
        return compare_unpaired(*times, *mhz)
    sides = baseline, candidate
    return compare_durations(*(side.duration_ns for side in sides), *(_mean_mhz(side) for side in sides))


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
