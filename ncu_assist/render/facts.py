"""What is shown of a run: its record, its times and its counters, gathered once for every format."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from ncu_assist.diff import Bottleneck, bottleneck, bottleneck_of_launch
from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.frame import Combined, combine_tables
from ncu_assist.record import Check, Launch, Run, Source, Timing, WorkloadFacts
from ncu_assist.store import StoredRun, machine_hash, shown_source


@dataclass(frozen=True)
class WorkloadRow:
    """One workload of a run: its check, its times, and what they come to; None where something was not stored.

    ``share_of_copy`` is the time of a device copy of the same bytes over the time of the version: 1 is as fast.
    """

    workload: WorkloadFacts
    check: Check | None
    timing: Timing | None
    bytes_per_second: float | None
    flops_per_second: float | None
    share_of_copy: float | None


@dataclass(frozen=True)
class LaunchRow:
    """One launch and the resource it keeps busiest."""

    launch: Launch
    bottleneck: Bottleneck | None


@dataclass(frozen=True)
class Shown:
    """A run ready to be shown; ``combined`` holds the counters of one workload, ``launches`` all of the run."""

    run: Run
    reference: str
    source: Source
    rows: tuple[WorkloadRow, ...]
    combined: Combined
    bottleneck: Bottleneck | None
    launches: tuple[LaunchRow, ...]
    keeps_report: bool  # with source lines and NVIDIA's findings in it

    @property
    def launches_shown(self) -> tuple[LaunchRow, ...]:
        """The launches of the workload that ``combined`` is about."""
        return tuple(row for row in self.launches if self.combined.workload in (None, row.launch.workload))


def gather(stored: StoredRun, workload: str | None = None) -> Shown:
    """Return what is shown of a run; ``workload`` names the one whose counters are shown, None the first timed.

    Raises UsageProblem for a workload that the run lacks, DamagedData when its metrics were changed.
    """
    run = stored.run
    tables = stored.by_launch()
    combined = combine_tables(run, tables, shown_workload(run, workload))
    return Shown(
        run=run,
        reference=stored.reference,
        source=shown_source(run, machine_hash()),
        rows=tuple(workload_row(run, facts) for facts in run.workloads),
        combined=combined,
        bottleneck=bottleneck(combined.values),
        launches=tuple(LaunchRow(one, bottleneck_of_launch(tables.get(one.index, {}))) for one in run.launches),
        keeps_report=stored.keeps_report,
    )


def workload_row(run: Run, facts: WorkloadFacts) -> WorkloadRow:
    """Return one workload of a run with the rates that its median comes to."""
    timing = run.timing(facts.name)
    seconds = timing.median_ns * 1e-9 if timing else None
    copy = timing.copy_ns if timing else None
    return WorkloadRow(
        workload=facts,
        check=next((check for check in run.checks if check.workload == facts.name), None),
        timing=timing,
        bytes_per_second=facts.algorithmic_bytes / seconds if seconds and facts.algorithmic_bytes else None,
        flops_per_second=facts.flops / seconds if seconds and facts.flops else None,
        share_of_copy=copy * 1e-9 / seconds if seconds and copy else None,
    )


def shown_workload(run: Run, wanted: str | None) -> str | None:
    """Return the workload whose counters are shown: the one wanted, else the first with counters; None without any.

    Raises UsageProblem for one that the run lacks.
    """
    names = [facts.name for facts in run.workloads]
    if wanted is not None and not names:
        raise UsageProblem(f"{run.version} knows of no workloads, and so not of '{wanted}'", "leave out --workload")
    if wanted is not None and wanted not in names:
        message = f"{run.version} was not measured on workload '{wanted}'; {did_you_mean(wanted, names)}"
        near = next(iter(difflib.get_close_matches(wanted, names, n=1)), names[0])
        raise UsageProblem(message, f"ncu-assist show {run.kernel}/{run.version}@{run.run_id} --workload {near}")
    profiled = {launch.workload for launch in run.launches}
    first = next((name for name in names if name in profiled), names[0] if names else None)
    return wanted or first
