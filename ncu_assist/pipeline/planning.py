"""Turn names on the command line into a job, or into stored runs if this machine cannot measure."""

from __future__ import annotations

import difflib
import os
import re
import shlex
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from ncu_assist.analysis.diff import DiffOptions, diff_runs
from ncu_assist.analysis.diff.timing import common_bench
from ncu_assist.analysis.ladder import GpuSpread, KernelOutcome, VersionOutcome, spread_of
from ncu_assist.environment import gpu_here
from ncu_assist.errors import DamagedData, EnvironmentProblem, NoTorchHeaders, UsageProblem, did_you_mean
from ncu_assist.executors import EXECUTORS
from ncu_assist.harness.client import profile_command
from ncu_assist.harness.request import REQUEST_FILE, Flush, HarnessSettings, Stage
from ncu_assist.harness.sanitizer import find_sanitizer
from ncu_assist.ncu.command import ADAPTIVE, ALL_SECTIONS, MEMORY_SECTIONS, ProfileOptions, check_set, find_ncu
from ncu_assist.pipeline.callables import CallableKernel, kernel_of
from ncu_assist.pipeline.cluster import cluster_workers
from ncu_assist.pipeline.gpu_workers import gpu_workers
from ncu_assist.pipeline.importing import fit_name
from ncu_assist.pipeline.measuring import MeasureJob, measure_all
from ncu_assist.pipeline.ncu_stage import ncu_stage
from ncu_assist.pipeline.up_to_date import NOTHING_KNOWN, KnownRuns, damage_of, measure_changed
from ncu_assist.pipeline.work_units import WorkPlace
from ncu_assist.project import Project
from ncu_assist.record import Source
from ncu_assist.sources import VERSION_FILE, misnamed, reference_problem, source_sha256, versions_and_mistakes
from ncu_assist.spec import Kernel, Version, Workload, unserved, why_skipped
from ncu_assist.spec_file import function_name, kernel_names, load_kernel
from ncu_assist.steps import Reporter
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.choosing import newest_of_source
from ncu_assist.store.report_names import REPORT_ENDINGS
from ncu_assist.versions import is_called

A_KERNEL = "a kernel is a folder kernels/NAME with kernel.toml, reference.py and v0_<idea>.cu or .py"
COMPILED = {".cu": "nvcc", ".cc": "nvcc", ".cpp": "nvcc", ".c": "nvcc"}
MAIN = re.compile(r"^(?!\s*(?://|\*)).*\b(?:int|auto)\s+main\s*\(", re.MULTILINE)  # not in a comment
LONGEST_SOURCE = 1_000_000  # bytes; larger files are not searched
NEAR = 0.5
LATE_ENOUGH = 10  # late samples: if a call takes a second to enqueue, 100 rounds would waste minutes


def no_kernel(project: Project, word: str, folder: Path) -> UsageProblem:
    """Return the error for a word that names no kernel; ``folder`` is the user's current folder.

    For a file or a folder, the error says what to do with it; for a path that does not exist, it says so.
    """
    path, names = folder / word, kernel_names(project)
    kernel, version = _inside(project, path)
    if kernel in names:
        hint = f"ncu-assist profile {kernel} {version}".rstrip()
        return UsageProblem(f"{word} belongs to the kernel {kernel}; name the kernel without a path", hint)
    if _exists(path):
        if path.is_dir():
            return UsageProblem(f"{word} is a folder, but not a kernel's: {A_KERNEL}", "ncu-assist list")
        return UsageProblem(*_of_file(word, path))
    if path.suffix in {*COMPILED, ".py"} or os.sep in word:
        for kernel in names:
            if (project.kernels / kernel / path.name).is_file():
                said = f"{word} is in {project.kernels.name}/{kernel}; name the kernel without a path"
                return UsageProblem(said, f"ncu-assist profile {kernel}")
        near = difflib.get_close_matches(path.name, _sources_beside(path), n=1, cutoff=NEAR)
        meant = f"; did you mean '{Path(word).parent / near[0]}'?" if near else ""
        return UsageProblem(f"there is no file or kernel '{word}'{meant}", "ncu-assist list")
    versions = {name: versions_and_mistakes(project.kernels / name)[0] for name in names}
    having = [name for name in names if any(is_called(one.name, word) for one in versions[name])]
    if having:
        said = f"there is no kernel '{word}'; it is a version of {', '.join(having)}"
        return UsageProblem(f"{said}; name the kernel first", f"ncu-assist profile {having[0]} {word}")
    if word in Store(project.reports).kernels():
        said = f"{word} has runs, but no folder {project.kernels.name}/{word} that says how to build and measure it"
        return UsageProblem(said, f"ncu-assist show {word}")
    return UsageProblem(f"there is no kernel '{word}'; {did_you_mean(word, names)}", "ncu-assist list")


def _of_file(word: str, path: Path) -> tuple[str, str]:
    """Return the kind of a file, and the command to use on it."""
    name, quoted = fit_name(path.stem).strip("_") or "program", shlex.quote(word)
    if word.endswith(REPORT_ENDINGS):
        return f"{word} is a report, not a kernel or a program", f"ncu-assist show {quoted}"
    if path.suffix == ".py":
        return f"{word} is a file; {A_KERNEL}; a script can be profiled as a program", f"ncu-assist profile {quoted}"
    if path.suffix not in COMPILED:
        if not os.access(path, os.X_OK):
            return f"{word} is a file, but neither a kernel nor an executable program", f"chmod +x {quoted}"
        program = quoted if os.sep in word else f"./{quoted}"
        return f"{word} is a file, not a kernel; it can be profiled as a program", f"ncu-assist profile {program}"
    if not has_main(path):
        alone = f"{word} is a file without main(), and cannot be run alone; {A_KERNEL}"
        return (
            f"{alone}; or call it from a program, and profile that",
            f"ncu-assist new {function_name(path.stem)} --from {quoted}",
        )
    if path.suffix == ".cu":
        return f"{word} is a file; {A_KERNEL}; a program can be profiled", f"ncu-assist profile {quoted}"
    built = f"{COMPILED[path.suffix]} -o {name} {quoted}"
    said = f"{word} is a file; {A_KERNEL}; build a program, then profile it"
    return said, f"{built} && ncu-assist profile ./{name}"


def has_main(path: Path) -> bool:
    """Return whether a source defines ``main``."""
    return MAIN.search(path.read_bytes()[:LONGEST_SOURCE].decode("utf-8", "replace")) is not None


def _inside(project: Project, path: Path) -> tuple[str, str]:
    """Return the kernel whose folder contains a path, and the short name of its version, empty if there is none."""
    if not _exists(path):
        return "", ""
    whole, kernels = path.resolve(), project.kernels.resolve()
    if kernels not in whole.parents:
        return "", ""
    version = VERSION_FILE.fullmatch(whole.name)
    return whole.relative_to(kernels).parts[0], f"v{int(version[1])}" if version else ""


def _sources_beside(path: Path) -> list[str]:
    try:
        return sorted(one.name for one in path.parent.iterdir() if one.suffix in {*COMPILED, ".py"})
    except (OSError, ValueError):
        return []


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # the name is too long or contains a NUL
        return False


def why_not_measurable() -> EnvironmentProblem | None:
    """Return the reason why this machine cannot profile (no driver, no GPU, no ncu), None if it can try."""
    try:
        gpu_here()
        find_ncu()
    except EnvironmentProblem as problem:
        return problem
    return None


def replay(
    store: Store,
    kernel: Kernel,
    versions: tuple[Version, ...],
    workloads: tuple[Workload, ...],
    why: EnvironmentProblem,
    reporter: Reporter,
) -> KernelOutcome:
    """Return the stored runs of these versions, and report on which GPU and when they were measured.

    A version is ``not measured``, or skipped, if it has no run of its current source or lacks some of the requested
    workloads, because they cannot be measured here. Raises EnvironmentProblem if no version has a run with one of the
    workloads, DamagedData if all of their runs are damaged.
    """
    rows = tuple(_row(store, kernel, version, workloads) for version in versions)
    runs = [row.run for row in rows if row.run is not None]
    damages = [row.failure for row in rows if row.failure]
    if not runs and damages:
        raise DamagedData(damages[0], "ncu-assist verify")
    if not runs:
        raise _nothing_to_show(kernel, versions, workloads, why)
    source: Source = "live" if all(stored.run.source == "live" for stored in runs) else "recorded"
    word, when = ("STORED", "now") if source == "live" else ("RECORDED", "here")
    reporter.note(f"{word}: {_origin_of(runs)}. Nothing was measured {when}: {why.message}.")
    missing = [f"{row.version} on {', '.join(row.unmeasured)}" for row in rows if row.unmeasured]
    if missing:
        lacks = "what this machine lacks: ncu-assist doctor"
        reporter.note(f"NOT MEASURED: {'; '.join(missing)}. No run has that source on that workload; {lacks}")
    return KernelOutcome(kernel.name, tuple(w.name for w in workloads), source, rows)


def _nothing_to_show(
    kernel: Kernel, versions: tuple[Version, ...], workloads: tuple[Workload, ...], why: EnvironmentProblem
) -> EnvironmentProblem:
    everything = len(versions) == len(kernel.versions)
    which = kernel.name if everything else f"{kernel.name} {', '.join(v.short for v in versions)}"
    where = " or ".join(w.name for w in workloads) if len(workloads) < len(kernel.workloads) else "any workload"
    return EnvironmentProblem(
        f"{why.message}, and no recorded run of {which} matches its current source on {where}", "ncu-assist doctor"
    )


def _row(store: Store, kernel: Kernel, version: Version, workloads: tuple[Workload, ...]) -> VersionOutcome:
    """Return the run that shows a version, or why there is none: it is damaged, or nothing was measured."""
    not_for_it = unserved(version, workloads)
    served = [workload.name for workload in workloads if workload.name not in not_for_it]
    row = VersionOutcome(version.name, None, unserved=not_for_it, is_peer=version.is_peer)
    stored = _shown(store, kernel, version, set(served)) if served else None
    if stored is None:
        found = [d for d in store.damaged(kernel.name) if d.concerns(f"{kernel.name}/{version.name}/")]
        if found:
            words = f"{found[0].path} {found[0].words}"
            return replace(row, failure=words, failure_code=found[0].exit_code)
        skipped = why_skipped(version)
        return replace(row, skipped=skipped, unmeasured=() if skipped else tuple(served))
    damage = damage_of(stored)
    if damage is not None:
        return replace(row, failure=damage.message, failure_code=damage.exit_code)
    unmeasured = tuple(name for name in served if stored.run.workload(name) is None)
    return replace(row, run=stored, unmeasured=unmeasured, kept=True)


def _shown(store: Store, kernel: Kernel, version: Version, served: set[str]) -> StoredRun | None:
    """Return a run of a version's current source: one with all workloads if there is one, else one with any."""
    runs, source = store.runs(kernel.name, version.name), source_sha256(version.path)
    held = [(stored, served & {facts.name for facts in stored.run.workloads}) for stored in runs]
    every = newest_of_source([stored for stored, names in held if names == served], source)
    return every or newest_of_source([stored for stored, names in held if names], source)


def _origin_of(runs: list[StoredRun]) -> str:
    devices = sorted({r.run.device.name for r in runs if r.run.device})
    dates = sorted({r.run.created[:10] for r in runs})
    return f"runs on {' and '.join(devices) or 'an unknown GPU'}, {' and '.join(dates)}"


@dataclass(frozen=True)
class MeasureRequest:
    """A request to measure a kernel, given by name or as Python functions. ``workload`` None is the default one;
    ``rounds`` None takes the project's setting.

    ``repeats`` is how often each call is profiled, ``counted`` the workloads to profile; empty means all measured ones.
    ``again`` also measures versions that have not changed since their last run. ``sanitize`` lists tools of
    compute-sanitizer. ``gpus`` is ``all``, a count such as ``2`` or a list such as ``0,1``; None is the first visible
    GPU. ``cluster`` names a Dask scheduler whose workers measure on each of their GPU models; ``allow_open`` accepts a
    scheduler that others can use, too.
    """

    kernel: str | CallableKernel
    versions: tuple[str, ...] = ()
    workload: str | None = None
    rounds: int | None = None
    flush: Flush = "read"
    repeats: int = 1
    counted: tuple[str, ...] = ()
    again: bool = False
    sanitize: tuple[str, ...] = ()
    gpus: str | None = None
    cluster: str | None = None
    allow_open: bool = False


def plan(
    project: Project,
    request: MeasureRequest,
    stages: tuple[Stage, ...],
    options: ProfileOptions | None = None,
    reporter: Reporter | None = None,
) -> MeasureJob:
    """Return the job for a request, and note each source that was probably meant as a version but is not one.

    Raises UsageProblem for a kernel, version or workload that does not exist, and if no version serves a workload.
    """
    settings = HarnessSettings(
        stages=stages,
        trials=project.settings.check_trials,
        rounds=request.rounds or project.settings.rounds,
        late_enough=LATE_ENOUGH,
        flush=request.flush,
        profile_repeats=request.repeats,
    )
    if isinstance(request.kernel, CallableKernel):
        kernel = kernel_of(project, request.kernel, EXECUTORS["local"], settings.device)
    else:
        kernel = _folder(project, request.kernel, reporter)
    versions, workloads = kernel.select_versions(request.versions), kernel.select_workloads(request.workload)
    _check_served(kernel, versions, workloads)
    counted = _counted(kernel, workloads, request)
    return MeasureJob(
        project,
        kernel,
        versions,
        workloads,
        settings,
        options,
        EXECUTORS["local"],
        counted,
        sanitize=request.sanitize,
        named=request.workload is not None,
    )


def _folder(project: Project, name: str, reporter: Reporter | None) -> Kernel:
    if name not in kernel_names(project):
        raise no_kernel(project, name, Path.cwd())
    kernel = load_kernel(project, name)
    strays = misnamed(kernel.folder)
    if strays and not kernel.versions:
        said = "; ".join(one.problem for one in strays)
        raise UsageProblem(f"{kernel.name} has no versions: {said}", " && ".join(one.command for one in strays))
    if reporter is not None:
        for one in strays:
            reporter.note(one.note)
        if problem := reference_problem(kernel.folder, kernel.inputs):
            reporter.note(problem)
    return kernel


def _check_served(kernel: Kernel, versions: tuple[Version, ...], workloads: tuple[Workload, ...]) -> None:
    """Raise UsageProblem if none of the versions serves any of the workloads."""
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
            raise UsageProblem(f"counters were requested on {workload.name}, which is not measured", "--workload all")
    return chosen


def profile(project: Project, request: MeasureRequest, options: ProfileOptions, reporter: Reporter) -> KernelOutcome:
    """Check, time and profile versions of a kernel; answer from recorded runs if that is impossible.

    Versions that have not changed are answered from runs of this machine. Raises EnvironmentProblem if nothing can be
    measured and nothing is recorded.
    """
    return profile_all(project, [request], options, reporter)[0]


def profile_all(
    project: Project, requests: Sequence[MeasureRequest], options: ProfileOptions, reporter: Reporter
) -> list[KernelOutcome]:
    """Profile several kernels as ``profile`` does, on the GPUs that the first request names.

    With a cluster, the result has each kernel once per GPU model.
    """
    why = None if requests and requests[0].cluster else why_not_measurable()
    if why is not None and any(isinstance(request.kernel, CallableKernel) for request in requests):
        raise why
    jobs = [plan(project, request, ("check", "bench"), options, reporter) for request in requests]
    if why is not None:
        store = Store(project.reports)
        return [replay(store, job.kernel, job.versions, job.workloads, why, reporter) for job in jobs]
    if not jobs:
        return []
    if options.section_set != ADAPTIVE and not requests[0].cluster:
        check_set(find_ncu(), options.section_set)
    return [outcome for outcome, _ in _measure(jobs, requests[0], reporter)]


def check_all(project: Project, request: MeasureRequest, reporter: Reporter) -> list[KernelOutcome]:
    """Compare versions of a kernel with its reference, and run them under compute-sanitizer if requested.

    With a cluster, each is checked on each GPU model.
    """
    if request.sanitize and not request.cluster:
        find_sanitizer()  # before minutes of work
    found = _without_ncu(project, replace(request, again=True), ("check",), reporter)
    return [outcome for outcome, _ in found]


def bench(project: Project, request: MeasureRequest, reporter: Reporter) -> KernelOutcome:
    """Check and time versions of a kernel; if several were named, add the verdict of each against the first.

    If the first has no time, there are no verdicts, and the reporter gets a note.

    Versions that have not changed are answered from runs of this machine.
    """
    return bench_all(project, request, reporter)[0]


def bench_all(project: Project, request: MeasureRequest, reporter: Reporter) -> list[KernelOutcome]:
    """Time versions as ``bench`` does, on each GPU model."""
    found = _without_ncu(project, request, ("check", "bench"), reporter)
    return [_with_verdicts(*one, request.versions[0], reporter) if request.versions else one[0] for one in found]


def _with_verdicts(outcome: KernelOutcome, known: KnownRuns, first: str, reporter: Reporter) -> KernelOutcome:
    """Return an outcome with the verdict of each version against the one that was named first."""
    runs: dict[str, list[StoredRun]] = {}
    for one in outcome.versions:
        if one.run and one.run.run.bench:
            runs[one.version] = [*([] if one.kept else [one.run]), *known.timed.get(one.version, ())]
    own = next((runs.pop(name) for name in list(runs) if is_called(name, first)), [])
    for name in outcome.workloads:
        if runs and not any(stored.run.workload(name) for stored in own):
            reporter.note(f"{first} has no time on {name}, so there is no verdict against it")
    pairs = ((other, name) for other in runs.values() for name in outcome.workloads)
    found = ((sides, name) for other, name in pairs if (sides := _sides(own, other, name)))
    return replace(outcome, diffs=tuple(diff_runs(*sides, DiffOptions(name)) for sides, name in found))


def spread(project: Project, request: MeasureRequest, reporter: Reporter) -> GpuSpread:
    """Check and time versions on each GPU by itself, archive a run for each, and return how far the GPUs differ.

    A failure on one GPU is in ``failures``; the others are shown. Raises UsageProblem for fewer than two versions or
    GPUs.
    """
    if len(request.versions) < 2:
        raise UsageProblem("--spread compares versions on each GPU, and needs at least two", "name the versions")
    job = plan(project, request, ("check", "bench"), reporter=reporter)
    with gpu_workers(request.gpus or "all") as place:
        names = place.names
        if len(names) < 2:
            raise UsageProblem("--spread compares GPUs, but only one is used", "--gpus all")
        outcomes = measure_all([replace(job, on=name) for name in names], reporter, place=place)
    runs = [[row.run for row in one.versions if row.run is not None] for one in outcomes]
    failed = [(name, row) for name, one in zip(names, outcomes, strict=True) for row in one.versions if row.failure]
    failures = tuple(f"{name}: {row.version}: {row.failure}" for name, row in failed)
    rows = spread_of(runs, [workload.name for workload in job.workloads])
    return GpuSpread(job.kernel.name, tuple(names), rows, failures)


def _sides(one: Sequence[StoredRun], other: Sequence[StoredRun], workload: str) -> tuple[StoredRun, StoredRun] | None:
    """Return the runs of two versions to compare on a workload, of one bench if possible, None if either has no run."""
    ran = [next((stored for stored in runs if stored.run.workload(workload)), None) for runs in (one, other)]
    return common_bench(one, other, workload) or ((ran[0], ran[1]) if ran[0] and ran[1] else None)


def _measure(
    jobs: Sequence[MeasureJob], request: MeasureRequest, reporter: Reporter
) -> list[tuple[KernelOutcome, KnownRuns]]:
    if request.cluster:
        with cluster_workers(request.cluster, request.allow_open, reporter) as away:
            on_each = [replace(job, on=chip) for job in jobs for chip in away.chips]
            return _measure_at(away, on_each, request, reporter)
    with gpu_workers(request.gpus) if request.gpus else nullcontext(None) as place:
        return _measure_at(place, jobs, request, reporter)


def _measure_at(
    place: WorkPlace | None, jobs: Sequence[MeasureJob], request: MeasureRequest, reporter: Reporter
) -> list[tuple[KernelOutcome, KnownRuns]]:
    if request.again or isinstance(request.kernel, CallableKernel):  # a function may depend on more than its source
        return [(outcome, NOTHING_KNOWN) for outcome in measure_all(jobs, reporter, place=place)]
    is_against = request.versions and jobs[0].options is None
    against = jobs[0].kernel.version(request.versions[0]).name if is_against else ""
    return measure_changed(jobs, reporter, against, place)


def _without_ncu(
    project: Project, request: MeasureRequest, stages: tuple[Stage, ...], reporter: Reporter
) -> list[tuple[KernelOutcome, KnownRuns]]:
    """Measure without ncu. That the driver has no GPU is said as by ``profile``, not by torch, which may be missing."""
    try:
        return _measure([plan(project, request, stages, reporter=reporter)], request, reporter)
    except EnvironmentProblem as error:
        if HarnessSettings(stages).device == "cuda" and not request.cluster:
            try:
                gpu_here()
            except EnvironmentProblem as lack:
                if isinstance(error, NoTorchHeaders):
                    raise NoTorchHeaders(f"{error.message}; besides, {lack.message}", error.hint) from error
                raise
        raise


def dry_run(project: Project, request: MeasureRequest, options: ProfileOptions, reporter: Reporter) -> str:
    """Return an ncu command that collects what ``profile`` would, as text for a shell.

    RUN stands for the run's own folder.
    """
    job = plan(project, request, ("profile",), options, reporter)
    folder = project.work / "measure" / "RUN"
    command = profile_command(Path(os.path.relpath(folder / REQUEST_FILE, project.root)))
    stage = ncu_stage(project, folder, job.executor, options)
    if options.section_set != ADAPTIVE:
        return stage.in_words(command)
    choices = (MEMORY_SECTIONS, ALL_SECTIONS)
    memory, others = (replace(stage, options=replace(options, sections=one)).in_words(command) for one in choices)
    return f"{memory}\n\nwhere memory binds all versions, else:\n\n{others}"
