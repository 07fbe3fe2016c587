"""From names on the command line to a job, or to the run that answers for it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from ncu_assist.analysis.diff import DiffOptions, diff_runs
from ncu_assist.analysis.ladder import KernelOutcome
from ncu_assist.errors import UsageProblem
from ncu_assist.executors import EXECUTORS
from ncu_assist.harness.client import profile_command
from ncu_assist.harness.request import REQUEST_FILE, Flush, HarnessSettings, Stage
from ncu_assist.ncu.command import ProfileOptions, check_set, find_ncu
from ncu_assist.pipeline.measuring import Job, measure, ncu_stage
from ncu_assist.pipeline.no_kernel import no_kernel
from ncu_assist.pipeline.replaying import replay, why_not_measurable
from ncu_assist.pipeline.reporter import Reporter
from ncu_assist.project import Project
from ncu_assist.sources import misnamed
from ncu_assist.spec import Kernel, Version, Workload
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store import Store, StoredRun

LATE_ENOUGH = 10  # of a call that takes a second to enqueue, 100 rounds would be minutes for nothing


@dataclass(frozen=True)
class MeasureRequest:
    """What was asked for, by name. ``workload`` None is the default one; ``rounds`` None what the project says.

    ``repeats`` is how often each call is profiled, ``counted`` the workloads to profile; empty: all that are measured.
    """

    kernel: str
    versions: tuple[str, ...] = ()
    workload: str | None = None
    rounds: int | None = None
    flush: Flush = "read"
    repeats: int = 1
    counted: tuple[str, ...] = ()


def plan(
    project: Project,
    request: MeasureRequest,
    stages: tuple[Stage, ...],
    options: ProfileOptions | None = None,
    reporter: Reporter | None = None,
) -> Job:
    """Return the job for a request, after a note of each source that was probably meant as a version and is none.

    Raises UsageProblem for a kernel, version or workload that does not exist, and where no workload is for a version.
    """
    if request.kernel not in kernel_names(project):
        raise no_kernel(project, request.kernel, Path.cwd())
    kernel = load_kernel(project, request.kernel)
    strays = misnamed(kernel.folder)
    if strays and not kernel.versions:
        said = "; ".join(one.problem for one in strays)
        raise UsageProblem(f"{kernel.name} has no versions: {said}", " && ".join(one.command for one in strays))
    if reporter is not None:
        for one in strays:
            reporter.note(one.note)
    settings = HarnessSettings(
        stages=stages,
        trials=project.settings.check_trials,
        rounds=request.rounds or project.settings.rounds,
        late_enough=LATE_ENOUGH,
        flush=request.flush,
        profile_repeats=request.repeats,
    )
    versions, workloads = kernel.select_versions(request.versions), kernel.select_workloads(request.workload)
    _check_served(kernel, versions, workloads)
    counted = _counted(kernel, workloads, request)
    return Job(project, kernel, versions, workloads, settings, options, EXECUTORS["local"], counted)


def _check_served(kernel: Kernel, versions: tuple[Version, ...], workloads: tuple[Workload, ...]) -> None:
    """Raise UsageProblem if there is nothing to do: none of the workloads is for any of the versions."""
    if any(version.serves(workload) for version in versions for workload in workloads):
        return
    names = ", ".join(version.short for version in versions)
    where = " or ".join(workload.name for workload in workloads)
    served = [workload.name for workload in kernel.workloads if any(version.serves(workload) for version in versions)]
    raise UsageProblem(f"{where} is not for {kernel.name} {names}", f"--workload {served[0]}" if served else "")


def _counted(kernel: Kernel, workloads: tuple[Workload, ...], request: MeasureRequest) -> tuple[Workload, ...]:
    """Return the workloads to take counters on, empty for all; raises UsageProblem for one that is not measured."""
    chosen = tuple(workload for name in request.counted for workload in kernel.select_workloads(name))
    for workload in chosen:
        if workload not in workloads:
            raise UsageProblem(f"counters were asked for on {workload.name}, which is not measured", "--workload all")
    return chosen


def profile(project: Project, request: MeasureRequest, options: ProfileOptions, reporter: Reporter) -> KernelOutcome:
    """Check, time and profile versions of a kernel; where that is impossible, answer from recorded runs.

    Raises EnvironmentProblem where neither can be done.
    """
    job = plan(project, request, ("check", "bench"), options, reporter)
    why = why_not_measurable()
    if why is not None:
        return replay(Store(project.reports), job.kernel, job.versions, job.workloads, why, reporter)
    check_set(find_ncu(), options.section_set)
    return measure(job, reporter)


def check(project: Project, request: MeasureRequest, reporter: Reporter) -> KernelOutcome:
    """Compare versions of a kernel with its reference."""
    return measure(plan(project, request, ("check",), reporter=reporter), reporter)


def bench(project: Project, request: MeasureRequest, reporter: Reporter) -> KernelOutcome:
    """Check and time versions of a kernel; where several were named, with the verdict of each against the first."""
    outcome = measure(plan(project, request, ("check", "bench"), reporter=reporter), reporter)
    if not request.versions:
        return outcome
    runs = [version.run for version in outcome.versions if version.run and version.run.run.bench]
    asked = [(other, name) for other in runs[1:] for name in outcome.workloads if _both(runs[0], other, name)]
    return replace(outcome, diffs=tuple(diff_runs(runs[0], other, DiffOptions(name)) for other, name in asked))


def _both(one: StoredRun, other: StoredRun, workload: str) -> bool:
    """Tell whether a workload is for both versions."""
    return one.run.workload(workload) is not None and other.run.workload(workload) is not None


def dry_run(project: Project, request: MeasureRequest, options: ProfileOptions, reporter: Reporter) -> str:
    """Return the ncu command that ``profile`` would run, as text for a shell; RUN stands for the run's own folder."""
    job = plan(project, request, ("profile",), options, reporter)
    folder = project.work / "measure" / "RUN"
    stage = ncu_stage(project, folder, job.executor, options)
    return stage.in_words(profile_command(Path(os.path.relpath(folder / REQUEST_FILE, project.root))))
