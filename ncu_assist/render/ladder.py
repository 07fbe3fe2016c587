"""All versions of a kernel side by side: time, speed-up over the baseline, bandwidth, check, status."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.ceilings import ceilings_of
from ncu_assist.frame import combine_tables
from ncu_assist.outcome import Outcome, VersionOutcome
from ncu_assist.record import Run, Source
from ncu_assist.render.facts import WorkloadRow, workload_row
from ncu_assist.store import StoredRun
from ncu_assist.store.naming import is_called

BASELINE = "v0"  # the library or framework version: the number to beat
NOT_MEASURED, NOT_SERVED, SKIPPED = "not measured", "not served", "skipped"
UNREADABLE = "cannot be read"  # whether there is a run, nobody knows


@dataclass(frozen=True)
class Cell:
    """One version on one workload. ``speedup`` is over v0 on the same GPU; None where one of the two is missing."""

    workload: str
    row: WorkloadRow | None
    speedup: float | None
    dram_percent: float | None


@dataclass(frozen=True)
class Rung:
    """One version: its run if there is one, its cells in the order of the workloads, and what went wrong.

    ``unserved`` are the workloads asked for that are not for it; ``serves_nothing`` if that is all of them.
    ``unmeasured`` are those that are for it, which no run holds and nothing here can measure.
    """

    version: str
    stored: StoredRun | None
    source: Source | None
    cells: tuple[Cell, ...]
    failure: str
    unserved: tuple[str, ...] = ()
    serves_nothing: bool = False
    skipped: str = ""
    unmeasured: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        """``failed``, ``measured``, ``skipped``, ``not served`` (no workload asked for is for it), ``not measured``."""
        if self.failure:
            return "failed"
        if self.stored:
            return "measured"
        if self.skipped:
            return SKIPPED
        return NOT_SERVED if self.serves_nothing else NOT_MEASURED

    def serves(self, workload: str) -> bool:
        """Tell whether a workload is for this version."""
        return workload not in self.unserved


@dataclass(frozen=True)
class Ladder:
    """The versions of a kernel in the order of their numbers, and the run whose GPU and date stand above them."""

    kernel: str
    workloads: tuple[str, ...]
    source: Source
    shown: Run | None
    rungs: tuple[Rung, ...]


def ladder(outcome: Outcome) -> Ladder:
    """Return an outcome with the figures that every format shows. Raises DamagedData for metrics that were changed."""
    baseline = next((v.run.run for v in outcome.versions if v.run and is_called(v.version, BASELINE)), None)
    runs = [v.run.run for v in outcome.versions if v.run]
    return Ladder(
        kernel=outcome.kernel,
        workloads=outcome.workloads,
        source=outcome.source,
        shown=max(runs, key=lambda run: run.created, default=None),
        rungs=tuple(_rung(version, outcome.workloads, baseline) for version in outcome.versions),
    )


def _rung(version: VersionOutcome, workloads: tuple[str, ...], baseline: Run | None) -> Rung:
    stored = version.run
    nothing = set(version.unserved) == set(workloads)
    if stored is None:
        why = version.skipped, version.unmeasured
        return Rung(version.version, None, None, (), version.failure, version.unserved, nothing, *why)
    tables, device = stored.by_launch(), stored.run.device
    ceilings = ceilings_of(device, stored.folder.parents[2]) if device else None
    cells = []
    for name in workloads:
        facts = stored.run.workload(name)
        row = workload_row(stored.run, facts, ceilings) if facts else None
        dram = combine_tables(stored.run, tables, name).values["dram_throughput"]
        cells.append(Cell(name, row, _speedup(baseline, stored.run, name), dram))
    source = stored.run.source
    failed, missing = version.failure, version.unmeasured
    return Rung(version.version, stored, source, tuple(cells), failed, version.unserved, nothing, unmeasured=missing)


def _speedup(baseline: Run | None, run: Run, workload: str) -> float | None:
    if baseline is None or baseline.gpu != run.gpu:
        return None
    before, now = baseline.timing(workload), run.timing(workload)
    return before.median_ns / now.median_ns if before and now and now.median_ns > 0 else None
