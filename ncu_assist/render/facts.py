"""What is shown of a run: its record, its times and its counters, gathered once for every format."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from ncu_assist.columns import Values
from ncu_assist.diff import Bottleneck, bottleneck, bottleneck_of_launch
from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.frame import Combined, combine_launches, combine_tables
from ncu_assist.record import Check, Launch, Run, Source, Timing, WorkloadFacts
from ncu_assist.rules.of_run import Told, told_of
from ncu_assist.store import StoredRun, machine_hash, shown_source

DIAGNOSED = 20  # launches that the rules look at one by one, the longest: a program has thousands


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
    """One launch, the resource it keeps busiest, and what the rules say of it alone; None of many short ones."""

    launch: Launch
    bottleneck: Bottleneck | None
    told: Told | None = None


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
    told: Told | None  # what the rules say of the launches that ``combined`` is about

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
        launches=_launches(run, tables),
        keeps_report=stored.keeps_report,
        told=told_of(run, combined),
    )


def _launches(run: Run, tables: Mapping[int, Values]) -> tuple[LaunchRow, ...]:
    longest = sorted(run.launches, key=lambda one: -(one.duration_ns or 0.0))[:DIAGNOSED]
    told = {one.index: told_of(run, _alone(one, tables), _is_whole(one, run)) for one in longest}
    return tuple(
        LaunchRow(one, bottleneck_of_launch(tables.get(one.index, {})), told.get(one.index)) for one in run.launches
    )


def _alone(launch: Launch, tables: Mapping[int, Values]) -> Combined:
    return combine_launches(launch.workload, [launch], [tables.get(launch.index, {})])


def _is_whole(launch: Launch, run: Run) -> bool:
    """Return whether a launch is all that its call launches."""
    return sum((one.workload, one.repeat) == (launch.workload, launch.repeat) for one in run.launches) == 1


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
