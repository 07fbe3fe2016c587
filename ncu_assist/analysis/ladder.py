"""All versions of a kernel side by side: what each came to, time, speed-up over the baseline, bandwidth, check.

And how far GPUs are apart that ran the same versions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ncu_assist.analysis.diff.timing import SampleReader
from ncu_assist.analysis.run_view import WorkloadRow, workload_row
from ncu_assist.analysis.yardstick import OwnAgainstLibrary, own_against_library
from ncu_assist.ceilings import ceilings_of
from ncu_assist.errors import EnvironmentProblem, StageFailed
from ncu_assist.frame import combine_tables
from ncu_assist.verdict import Verdict
from ncu_assist.versions import is_called, short_name

if TYPE_CHECKING:
    from ncu_assist.analysis.diff import Diff
    from ncu_assist.harness.sanitizer import Sanitized
    from ncu_assist.record import Run, Source, Timing
    from ncu_assist.sources import Misnamed
    from ncu_assist.store import Damage, StoredRun

BASELINE = "v0"  # the library or framework version: the number to beat
NOT_MEASURED, NOT_SERVED, SKIPPED = "not measured", "not served", "skipped"
UNREADABLE = "cannot be read"  # whether there is a run, nobody knows


@dataclass(frozen=True)
class LadderCell:
    """One version on one workload. ``speedup`` is over v0 on the same GPU; None where one of the two is missing.

    It is that of a verdict on samples of one bench; ``is_paired`` is False where no bench timed both, and it is the
    ratio of their medians.
    """

    workload: str
    row: WorkloadRow | None
    speedup: float | None
    dram_percent: float | None
    is_paired: bool = True


@dataclass(frozen=True)
class VersionOutcome:
    """One version: its run, or why there is none. A run with a ``failure`` holds what was finished before it.

    ``unserved`` are the workloads asked for that are not for this version, ``unmeasured`` those that are, and that no
    run of it holds where nothing can be measured.
    ``skipped`` says why a version without a run was not tried: no failure, what it needs is not installed.
    ``unreadable``: it may have a run, as something of it in the archive cannot be read. ``is_peer``: it is a library's
    or a framework's own. ``kept``: the run was in the archive, nothing was measured now. ``counted`` is an earlier run
    of the same source with its counters, where ``run`` has times alone. ``sanitized`` is what compute-sanitizer found,
    tool by tool, where it was asked for.
    """

    version: str
    run: StoredRun | None
    failure: str = ""
    failure_code: int = StageFailed.exit_code
    unserved: tuple[str, ...] = ()
    skipped: str = ""
    unmeasured: tuple[str, ...] = ()
    unreadable: bool = False
    is_peer: bool = False
    kept: bool = False
    counted: StoredRun | None = None
    sanitized: tuple[Sanitized, ...] = ()

    def serves(self, workload: str) -> bool:
        """Tell whether a workload is for this version."""
        return workload not in self.unserved


@dataclass(frozen=True)
class KernelOutcome:
    """All versions asked for, in the order of their numbers, on the workloads asked for."""

    kernel: str
    workloads: tuple[str, ...]
    source: Source
    versions: tuple[VersionOutcome, ...]
    diffs: tuple[Diff, ...] = ()  # between the first version and each other, where verdicts were asked for
    samples: SampleReader = field(default_factory=SampleReader, repr=False, compare=False)

    @property
    def newest(self) -> Run | None:
        """The run whose GPU and date stand above the versions."""
        return max((v.run.run for v in self.versions if v.run), key=lambda run: run.created, default=None)

    def status(self, version: VersionOutcome) -> str:
        """``failed``, ``measured``, ``skipped``, ``not served`` (no workload asked for is for it), ``not measured``."""
        if version.failure:
            return "failed"
        if version.run:
            return "measured"
        if version.skipped:
            return SKIPPED
        return NOT_SERVED if set(version.unserved) == set(self.workloads) else NOT_MEASURED

    def against_library(self, workload: str) -> OwnAgainstLibrary | None:
        """Return how the fastest own version stands to the fastest library on a workload; None without both."""
        from ncu_assist.analysis.diff.comparing import verdict_by_time

        runs = ((one.version, one.is_peer, one.run) for one in self.versions)
        return own_against_library(runs, workload, partial(verdict_by_time, samples=self.samples))

    def speedup(self, baseline: StoredRun | None, stored: StoredRun, workload: str) -> tuple[float | None, bool]:
        """Return how much faster a run is, and whether by paired samples of one bench: else by the medians of two.

        None where one of the two was not timed, or on another model of GPU. Raises DamagedData for changed samples.
        """
        before, now = baseline.run.timing(workload) if baseline else None, stored.run.timing(workload)
        if baseline is None or not before or not now or baseline.run.gpu != stored.run.gpu or now.median_ns <= 0:
            return None, True
        paired = self.samples.speedup(baseline, stored, workload)
        return paired or before.median_ns / now.median_ns, paired is not None

    def cells(self, version: VersionOutcome) -> tuple[LadderCell, ...]:
        """Return the figures of a version on each workload; none without a run.

        Raises DamagedData for metrics or samples that were changed.
        """
        stored = version.run
        if stored is None:
            return ()
        baseline = next((v.run for v in self.versions if v.run and is_called(v.version, BASELINE)), None)
        counted = version.counted or stored
        tables, device = counted.by_launch(), stored.run.device
        ceilings = ceilings_of(device, stored.folder.parents[2]) if device else None
        cells = []
        for name in self.workloads:
            facts = stored.run.workload(name)
            row = workload_row(stored.run, facts, ceilings) if facts else None
            dram = combine_tables(counted.run, tables, name).values["dram_throughput"]
            speedup, is_paired = self.speedup(baseline, stored, name)
            cells.append(LadderCell(name, row, speedup, dram, is_paired))
        return tuple(cells)

    @property
    def exit_code(self) -> int:
        """0, or the exit code of what failed or could not be measured here, the highest of several."""
        unmeasured = [EnvironmentProblem.exit_code for v in self.versions if v.unmeasured]
        return max([*unmeasured, *(v.failure_code for v in self.versions if v.failure)], default=0)


AttemptState = Literal["measuring", "timed", "profiling", "done", "failed", "superseded"]


@dataclass(frozen=True)
class Attempt:
    """One saved edit of a version that is watched, and what came of it so far.

    ``seconds`` are from the moment it was noticed to the verdict. ``diffs`` hold it against the runs ``beside`` it, of
    one bench: of its parent, or what was asked for, and of the fastest version. ``run`` has counters once it is
    ``done``; ``timed`` is where it ends without them, and a ``failure`` then says why it could not be profiled.
    ``superseded``: a later edit came before the verdict.
    """

    number: int
    version: str
    state: AttemptState = "measuring"
    seconds: float | None = None
    diffs: tuple[Diff, ...] = ()
    failure: str = ""
    run: StoredRun | None = None
    beside: tuple[StoredRun, ...] = ()


@dataclass(frozen=True)
class KernelListing:
    """What `list` shows of a kernel: its versions, each with the run that shows it as it is now, if there is one.

    ``only`` has the workloads that are for some versions only, with those. ``misnamed`` are sources that were probably
    meant as versions. ``against_library`` is how the fastest own version stands to the fastest library on the default
    workload; None without both. ``left_out`` is what cannot be read.
    """

    kernel: str
    summary: str  # empty for a foreign program, which has no folder
    workloads: tuple[str, ...]
    default_workload: str | None
    versions: tuple[VersionOutcome, ...]
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    misnamed: tuple[Misnamed, ...] = ()
    against_library: OwnAgainstLibrary | None = None
    left_out: tuple[Damage, ...] = ()


Values = Mapping[str, int]


def combination_name(version: str, values: Values) -> str:
    """Return ``v9 with BM=64 STAGES=3``."""
    return f"{short_name(version)} with {' '.join(f'{name}={value}' for name, value in values.items())}"


@dataclass(frozen=True)
class TuneOutcome:
    """A version tuned on a workload.

    ``rows`` hold the values of each combination and what became of it, those of the file first; ``rounds`` is how often
    each was timed that did not drop out. ``diff`` is the verdict of the fastest other combination against the file's
    values, in a bench of the two alone; None where no other could be timed. ``kept`` is the file that the winner's
    values were written into.
    """

    kernel: str
    version: str
    workload: str
    rounds: int
    rows: tuple[tuple[Values, VersionOutcome], ...]
    diff: Diff | None = None
    kept: Path | None = None

    @property
    def own(self) -> Values:
        """The values that the file has."""
        return self.rows[0][0]

    def timing(self, row: VersionOutcome) -> Timing | None:
        """Return the time of a combination; None where it has none."""
        return row.run.run.timing(self.workload) if row.run and not row.failure else None

    def is_dropped(self, row: VersionOutcome) -> bool:
        """Tell whether a combination dropped out before the last round."""
        timing = self.timing(row)
        return timing is not None and timing.samples + timing.dropped < self.rounds

    @property
    def ranked(self) -> list[tuple[Values, VersionOutcome]]:
        """Return what was timed, the fastest first; what dropped out comes after what was timed to the end."""
        timed = [(self.timing(row), one, row) for one, row in self.rows]
        known = [(self.is_dropped(row), timing.median_ns, one, row) for timing, one, row in timed if timing]
        return [(one, row) for _, _, one, row in sorted(known, key=lambda found: found[:2])]

    @property
    def winner(self) -> Values | None:
        """Return the values that are faster than the file's, by the verdict; None where there are none."""
        best = self.diff.candidate.version if self.diff and self.diff.verdict.verdict == "faster" else None
        return next((one for one, row in self.rows if row.version == best), None)


@dataclass(frozen=True)
class SpreadRow:
    """One version on one workload: its median on each GPU, and the verdict there against the first version.

    None where it was not timed, and for the verdict of the first version itself. ``apart`` is how much longer the
    slowest GPU takes than the fastest; ``factors_apart`` the same of the speed-ups, which is what GPUs disagree on
    about a change. Both are None with less than two.
    """

    workload: str
    version: str
    medians_ns: tuple[float | None, ...]
    clocks_mhz: tuple[float | None, ...]
    verdicts: tuple[Verdict | None, ...]
    apart: float | None
    factors_apart: float | None


@dataclass(frozen=True)
class GpuSpread:
    """The same versions on several GPUs, which are named as the driver numbers them."""

    kernel: str
    gpus: tuple[str, ...]
    rows: tuple[SpreadRow, ...]
    failures: tuple[str, ...] = ()


def spread_of(runs: Sequence[Sequence[StoredRun]], workloads: Sequence[str]) -> tuple[SpreadRow, ...]:
    """Return the rows of what was measured: for each GPU the runs of the same versions, of which the first is the base.

    A GPU on which a version has no run lacks it. Raises DamagedData for samples that were changed.
    """
    from ncu_assist.analysis.diff import DiffOptions, diff_runs

    versions = list(dict.fromkeys(stored.run.version for own in runs for stored in own))
    rows = []
    for workload in workloads:
        for version in versions:
            timed = [_timed_run(own, version, workload) for own in runs]
            if not any(timed):
                continue
            first = [_timed_run(own, versions[0], workload) for own in runs]
            verdicts = tuple(
                diff_runs(one, other, DiffOptions(workload)).verdict if one and other and one is not other else None
                for one, other in zip(first, timed, strict=True)
            )
            timings = [stored.run.timing(workload) if stored else None for stored in timed]
            medians = tuple(timing.median_ns if timing else None for timing in timings)
            clocks = tuple(timing.sm_clock_mhz if timing else None for timing in timings)
            speedups = [verdict.speedup for verdict in verdicts if verdict is not None and verdict.speedup]
            known = [median for median in medians if median]
            rows.append(SpreadRow(workload, version, medians, clocks, verdicts, _apart(known), _apart(speedups)))
    return tuple(rows)


def _timed_run(runs: Sequence[StoredRun], version: str, workload: str) -> StoredRun | None:
    return next((one for one in runs if one.run.version == version and one.run.timing(workload)), None)


def _apart(values: Sequence[float]) -> float | None:
    return max(values) / min(values) - 1 if len(values) > 1 else None
