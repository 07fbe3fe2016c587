"""Build, check, time and profile versions of a kernel, and save a run for each, whatever became of the others."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType

from ncu_assist.analysis.ladder import KernelOutcome, VersionOutcome
from ncu_assist.backends import build_versions
from ncu_assist.backends.base import BuildOutcome
from ncu_assist.commits import commit_of
from ncu_assist.errors import EnvironmentProblem, NcuAssistError, StageFailed
from ncu_assist.executors.base import Executor
from ncu_assist.harness import client
from ncu_assist.harness.events import Event
from ncu_assist.harness.request import HarnessRequest, HarnessSettings, new_request
from ncu_assist.harness.sanitizer import Sanitized, sanitized_workloads
from ncu_assist.ncu.command import ProfileOptions
from ncu_assist.pipeline.archiving import Measurement, VersionResult, save
from ncu_assist.pipeline.ncu_stage import NcuLimits, NcuStage, cost_words
from ncu_assist.pipeline.profiling import ExpectedLaunches, ProfilingResult, profile_versions
from ncu_assist.pipeline.reporter import Pace, Reporter
from ncu_assist.pipeline.sanitizing import sanitize_versions
from ncu_assist.project import Project
from ncu_assist.render.words.sanitizer import result_words
from ncu_assist.spec import Kernel, Version, Workload, unserved, why_skipped
from ncu_assist.store import Store

SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class MeasureJob:
    """What to measure. ``options`` None: no counters; ``counted`` are the workloads to take them on, empty: all.

    ``beside`` are versions that are checked and timed with the others and of which no counters are taken.
    ``sanitize`` are the tools of compute-sanitizer to run versions under, on the ``workloads`` if ``named``, else on
    small ones.
    """

    project: Project
    kernel: Kernel
    versions: tuple[Version, ...]
    workloads: tuple[Workload, ...]
    settings: HarnessSettings
    options: ProfileOptions | None
    executor: Executor
    counted: tuple[Workload, ...] = ()
    beside: tuple[Version, ...] = ()
    sanitize: tuple[str, ...] = ()
    named: bool = False

    @property
    def timed(self) -> tuple[Version, ...]:
        """All versions that are checked and timed, in the order of their numbers."""
        return tuple(sorted({*self.versions, *self.beside}, key=lambda version: version.number))

    @property
    def command(self) -> str:
        """The command line that asks for this job again."""
        what = "profile" if self.options else "bench" if "bench" in self.settings.stages else "check"
        if self.project.work in self.kernel.folder.parents:  # of Python functions
            names = [version.name.split("_", 1)[1] for version in self.versions]
            return f"ncu_assist.{what}([{', '.join(names)}])"
        everything = len(self.versions) == len(self.kernel.versions)
        names = [] if everything else [version.short for version in self.versions]
        workload = "all" if len(self.workloads) > 1 else self.workloads[0].name
        section_set = ["--set", self.options.section_set] if self.options else []
        if self.settings.profile_repeats > 1:
            section_set += ["--repeats", str(self.settings.profile_repeats)]
        return " ".join(["ncu-assist", what, self.kernel.name, *names, "--workload", workload, *section_set])


def measure(
    job: MeasureJob, reporter: Reporter, on_timed: Callable[[KernelOutcome], None] | None = None
) -> KernelOutcome:
    """Measure as the job says and return the saved runs, and for each version that has none, why.

    ``on_timed`` gets what is known before counters are taken: runs of their own, with the times.

    A version whose packages are not installed is skipped. Raises EnvironmentProblem for what would meet every version,
    also if that is to be skipped. Ctrl-C saves what is finished and is passed on.
    """
    moment = datetime.now(UTC)
    _tell_cost(job, reporter)
    builds = _build(job, reporter)
    request = new_request(job.kernel, builds, job.workloads, job.settings, job.project.work)
    stopped: BaseException | None = None
    profiled, sanitized = ProfilingResult({}, {}), dict[str, tuple[Sanitized, ...]]()
    try:
        measured = _check_and_bench(job, request, reporter)
        if job.sanitize:
            sanitized = sanitize_versions(request, job.sanitize, _looked_at(job), job.executor, reporter)
        if on_timed is not None and job.options is not None:
            on_timed(_save(replace(job, options=None), moment, builds, measured, profiled))
            moment = max(datetime.now(UTC), moment + SECOND)  # a run's id is of its second
        if job.options is not None:
            profiled = _profile(job, request, measured, reporter)
    except (KeyboardInterrupt, NcuAssistError) as error:
        stopped = error
        measured = client.collect(request)
        if isinstance(error, EnvironmentProblem) and not measured.checks:
            _tell_built(job, builds, reporter)
    outcome = _save(job, moment, builds, measured, profiled, sanitized)
    if on_timed is not None and job.options is None and stopped is None:
        on_timed(outcome)
    _tell_notes(outcome, reporter)
    broken = [name for name, build in builds.items() if build.artifact is None]
    if broken and isinstance(stopped, EnvironmentProblem):
        said = f"{', '.join(broken)} cannot be built, and nothing was checked: {stopped.message}"
        raise StageFailed(said, stopped.hint)
    if stopped is not None:
        raise stopped
    if profiled.interrupted:
        raise KeyboardInterrupt
    if outcome.exit_code == 0:  # what a failure left stays, to be looked at
        shutil.rmtree(request.out, ignore_errors=True)
    return outcome


def _tell_cost(job: MeasureJob, reporter: Reporter) -> None:
    """Say before it starts what is to be done and what takes minutes of it, as far as earlier runs tell."""
    if job.options is None:
        return
    counted = job.counted or job.workloads
    calls = {one.name: sum(one.serves(workload) for workload in counted) for one in job.versions}
    launches = sum(count * _launches_before(job, name) for name, count in calls.items())
    cost = cost_words(job.options, launches * job.settings.profile_repeats)
    if cost:
        versions, workloads = len(job.versions), len(job.workloads)
        reporter.note(f"{versions} versions on {workloads} workloads: checks, {job.settings.rounds} rounds, {cost}")


def _tried(job: MeasureJob, reporter: Reporter) -> list[Version]:
    """Return the versions whose packages are installed; raises EnvironmentProblem if there are none."""
    skipped = {version: why for version in job.timed if (why := why_skipped(version))}
    said = [f"{version.name} is skipped: {why}" for version, why in skipped.items()]
    if len(skipped) == len(job.timed):
        raise EnvironmentProblem("; ".join(said), "install it for the Python that runs ncu-assist")
    for line in said:
        reporter.note(line)
    return [version for version in job.timed if version not in skipped]


def _build(job: MeasureJob, reporter: Reporter) -> dict[str, BuildOutcome]:
    versions = _tried(job, reporter)
    reporter.status(f"building {len(versions)} versions")
    builds = build_versions(job.kernel, versions, job.project.work)
    for build in builds.values():
        if build.problem:
            reporter.note(f"{build.version} cannot be called: {build.problem}")
        elif build.artifact is None:
            reporter.note(f"{build.version} does not build:\n{build.log.rstrip()}")
    return builds


def _tell_built(job: MeasureJob, builds: dict[str, BuildOutcome], reporter: Reporter) -> None:
    """Say what was compiled where nothing more can be done: that much is known. Python is not compiled ahead."""
    sources = {version.path for version in job.timed}
    built = [build.version for build in builds.values() if build.artifact and build.artifact not in sources]
    if built:
        reporter.note(f"built, but not checked: {', '.join(built)}")


def _check_and_bench(job: MeasureJob, request: HarnessRequest, reporter: Reporter) -> client.Measured:
    if not request.artifacts:
        return client.collect(request)

    paces: dict[str, Pace] = {}

    def show(event: Event) -> None:
        if event.event == "begin" and event.version:
            reporter.status(f"{event.stage}: {event.version} {event.workload}")
        elif event.event == "round":
            left = paces.setdefault(event.workload, Pace(event.total)).left(event.index)
            reporter.status(f"bench: {event.workload} round {event.index} of {event.total}{left}")

    measured = client.measure(request, job.executor, show, job.project.settings.version_timeout_s)
    for version, checks in measured.checks.items():
        for check in checks:
            if not check.passed:
                reporter.note(f"{version} {check.workload}: wrong: {check.reason}")
    return measured


def _profile(
    job: MeasureJob, request: HarnessRequest, measured: client.Measured, reporter: Reporter
) -> ProfilingResult:
    names = tuple(workload.name for workload in job.counted) or request.workloads
    wrong = tuple((v, c.workload) for v, checks in measured.checks.items() for c in checks if not c.passed)
    counted = {version.name for version in job.versions} & set(request.versions)
    right = {version: _right_on(version, measured) & set(names) for version in request.versions if version in counted}
    expected = {v: ExpectedLaunches(len(on), _launches_before(job, v)) for v, on in right.items() if on}
    assert job.options is not None
    stage = ncu_stage(job.project, Path(request.out), job.executor, job.options)
    asked = replace(request, workloads=names, skip=wrong)
    return profile_versions(asked, expected, stage, job.project.settings.max_launches, reporter)


def _launches_before(job: MeasureJob, version: str) -> float:
    """Return how many launches a call of this version made when it was profiled last; 1 if it never was."""
    for stored in Store(job.project.reports).runs(job.kernel.name, version):
        if stored.run.launches:
            return len(stored.run.launches) / len({one.call for one in stored.run.launches})
    return 1.0


def ncu_stage(project: Project, folder: Path, executor: Executor, options: ProfileOptions) -> NcuStage:
    """Return the ncu stage that works in ``folder``, with the limits of the project's settings."""
    limits = NcuLimits(project.settings.profile_timeout_s, project.settings.version_timeout_s)
    return NcuStage(project.root, Path(os.path.relpath(folder, project.root)), executor, options, limits)


def _right_on(version: str, measured: client.Measured) -> set[str]:
    """Return the workloads that a version may be profiled on: those where it was right, if it got through."""
    checks = measured.checks.get(version, ()) if version not in measured.failures else ()
    return {check.workload for check in checks if check.passed}


def _save(
    job: MeasureJob,
    moment: datetime,
    builds: dict[str, BuildOutcome],
    measured: client.Measured,
    profiled: ProfilingResult,
    sanitized: Mapping[str, tuple[Sanitized, ...]] = MappingProxyType({}),
) -> KernelOutcome:
    shared = Measurement(
        kernel=job.kernel,
        workloads=job.workloads,
        moment=moment,
        device=measured.device,
        toolchain=measured.toolchain,
        bench=measured.bench,
        samples=measured.samples,
        options=job.options,
        command=job.command,
        repeats=job.settings.profile_repeats,
        host_memory=measured.host_memory,
        commit=commit_of(job.kernel.folder),
    )
    store = Store(job.project.reports)
    rows = []
    for version in job.timed:
        if version.name not in builds:
            rows.append(VersionOutcome(version.name, None, skipped=why_skipped(version), is_peer=version.is_peer))
            continue
        result = VersionResult(
            version,
            builds[version.name].log,
            measured.checks.get(version.name, ()),
            profiled.captures.get(version.name),
            (*_counted_on(job, version), *_found_in(results := sanitized.get(version.name, ()))),
        )
        failure = _failure(version.name, builds, measured, profiled, results)
        run = save(store, shared, result) if result.checks or result.capture else None
        rows.append(
            VersionOutcome(
                version.name,
                run,
                failure,
                unserved=unserved(version, job.workloads),
                is_peer=version.is_peer,
                sanitized=results,
            )
        )
    return KernelOutcome(job.kernel.name, tuple(w.name for w in job.workloads), "live", tuple(rows))


def _counted_on(job: MeasureJob, version: Version) -> tuple[str, ...]:
    """Return a note on the workloads that counters were asked for, where that is not all that was measured."""
    if job.options is None or not job.counted:
        return ()
    names = ", ".join(workload.name for workload in job.counted if version.serves(workload))
    return (f"counters were taken on {names or 'other workloads'} only",)


def _tell_notes(outcome: KernelOutcome, reporter: Reporter) -> None:
    for version in outcome.versions:
        for note in version.run.run.notes if version.run else ():
            reporter.note(f"{version.version}: {note}")


def _looked_at(job: MeasureJob) -> dict[str, tuple[Workload, ...]]:
    """Return the workloads of each version for compute-sanitizer: those named, else small ones."""
    if job.named:
        return {one.name: tuple(w for w in job.workloads if one.serves(w)) for one in job.versions}
    return {one.name: sanitized_workloads(job.kernel, one, job.kernel.workloads) for one in job.versions}


def _found_in(results: Sequence[Sanitized]) -> tuple[str, ...]:
    """Return a note on what compute-sanitizer found, which stays with the run."""
    return tuple(f"compute-sanitizer, {result_words(one)}" for one in results if one.findings)


def _failure(
    version: str,
    builds: dict[str, BuildOutcome],
    measured: client.Measured,
    profiled: ProfilingResult,
    sanitized: Sequence[Sanitized],
) -> str:
    if builds[version].artifact is None:
        return f"build: {builds[version].problem or 'it does not compile'}"
    wrong = [f"check {c.workload}: {c.reason}" for c in measured.checks.get(version, ()) if not c.passed]
    found = [*wrong, measured.failures.get(version, ""), profiled.failures.get(version, "")]
    found += [result_words(one) for one in sanitized]
    return "; ".join(dict.fromkeys(filter(None, found)))
