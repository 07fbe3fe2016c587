"""Build, check, time and profile versions of a kernel, and save a run for each, even if others fail."""

from __future__ import annotations

import contextlib
import importlib
import os
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType

from ncu_assist import process
from ncu_assist.analysis.ladder import KernelOutcome, VersionOutcome
from ncu_assist.backends.base import BuildOutcome
from ncu_assist.commits import commit_of
from ncu_assist.errors import EnvironmentProblem, NcuAssistError, StageFailed
from ncu_assist.executors.base import Executor
from ncu_assist.executors.local import Local, Warm
from ncu_assist.harness import client
from ncu_assist.harness.request import HarnessRequest, HarnessSettings, new_request, unbuilt_request
from ncu_assist.harness.sanitizer import Sanitized, sanitized_workloads
from ncu_assist.ncu.child import end_ready, get_ready
from ncu_assist.ncu.command import ADAPTIVE, ProfileOptions, set_words
from ncu_assist.ncu.report import READER
from ncu_assist.ncu.source.reading import READER as CODE_READER
from ncu_assist.pipeline.archiving import Measurement, save, timings_of
from ncu_assist.pipeline.ncu_stage import NCU_START_S, NcuStage, cost_words, ncu_stage
from ncu_assist.pipeline.profiling import (
    ExpectedLaunches,
    ProfilingResult,
    adaptive_options,
    may_be_bound_by_memory,
    merged,
    was_bound_by_memory,
)
from ncu_assist.pipeline.work_units import (
    SANITIZER_S,
    START_S,
    Built,
    Bundle,
    OneGpu,
    UnitResult,
    WorkPlace,
    WorkUnit,
    bench_seconds,
    build_here,
    bundle_of,
    in_groups,
    ncu_seconds,
    took_before,
    unpacked,
)
from ncu_assist.project import Project
from ncu_assist.quantity import duration, number_of
from ncu_assist.record import Commit, Device, Run, Timing
from ncu_assist.render.words.sanitizer import result_words
from ncu_assist.spec import Kernel, Version, Workload, unserved
from ncu_assist.steps import Reporter
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.reading import REPORTS

SECOND = timedelta(seconds=1)
FULL, FULL_PASSES = "full", 38  # of 2025.3.1, on an H200 (docs/sources.md, Cost)
LONG_S = 5.0
NOT_BUILT = Built()


@dataclass(frozen=True)
class MeasureJob:
    """What to measure. ``options``: None for no counters; ``counted``: workloads to take counters on, empty for all.

    ``beside`` lists versions that are checked and timed with the others, without counters. ``on`` names the one GPU
    to use of several. ``sanitize`` lists the compute-sanitizer tools to run versions under, on the ``workloads`` if
    ``named``, else on small ones. ``ncu`` is a stage of ncu that has begun and waits for the counters' request.
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
    on: str = ""
    ncu: NcuStage | None = None

    @property
    def timed(self) -> tuple[Version, ...]:
        """All versions that are checked and timed, in the order of their numbers."""
        return tuple(sorted({*self.versions, *self.beside}, key=lambda version: version.number))

    @property
    def command(self) -> str:
        """The command line that asks for this job again."""
        what = "profile" if self.options else "bench" if "bench" in self.settings.stages else "check"
        if self.project.work in self.kernel.folder.parents:  # the versions are Python functions
            names = [version.name.split("_", 1)[1] for version in self.versions]
            return f"ncu_assist.{what}([{', '.join(names)}])"
        everything = len(self.versions) == len(self.kernel.versions)
        names = [] if everything else [version.short for version in self.versions]
        workload = "all" if len(self.workloads) > 1 else self.workloads[0].name
        section_set = set_words(self.options) if self.options else []
        if self.settings.profile_repeats > 1:
            section_set += ["--repeats", str(self.settings.profile_repeats)]
        return " ".join(["ncu-assist", what, self.kernel.name, *names, "--workload", workload, *section_set])


def measure(
    job: MeasureJob,
    reporter: Reporter,
    on_timed: Callable[[KernelOutcome], None] | None = None,
    place: WorkPlace | None = None,
) -> KernelOutcome:
    """Measure a job and return its saved runs, with the reason for each version without one.

    ``on_timed`` gets the outcome before counters are taken: separate runs with the times. ``place`` is where units are
    measured; the default is this process and its GPU.

    A version whose packages are not installed is skipped. Raises EnvironmentProblem for a problem of every version,
    even if they would be skipped. Ctrl-C saves finished work and is passed on.
    """
    return measure_all([job], reporter, on_timed, place)[0]


@contextmanager
def _warming(job: MeasureJob) -> Iterator[MeasureJob]:
    """Start the job's measuring processes, which import torch while nvcc builds: ours, and the one under ncu.

    Meanwhile this process imports what reads samples.
    """
    local = job.executor
    if type(local) is not Local or not hasattr(os, "mkfifo"):
        yield job
        return
    if "bench" in job.settings.stages:
        threading.Thread(target=_import_pandas, daemon=True).start()
    with contextlib.ExitStack() as begun:
        warm = Warm(job.settings.device, local)
        begun.callback(warm.close)
        warm.start(client.child_environment(), job.kernel.folder.parent.parent)
        if job.options is not None:
            folder = job.project.work / "measure" / f"ncu-{secrets.token_hex(4)}"
            with contextlib.suppress(EnvironmentProblem, OSError):  # no ncu, no room: told where it is needed
                stage = ncu_stage(job.project, folder, local, _first_options(job, job.options)).begun(local)
                begun.callback(end_ready, READER, CODE_READER)
                begun.callback(stage.close)
                job = replace(job, ncu=stage)
        yield replace(job, executor=warm)


def _first_options(job: MeasureJob, options: ProfileOptions) -> ProfileOptions:
    """Return what ncu will probably collect first; the bench chooses the sections of an adaptive profile in the end."""
    if options.section_set != ADAPTIVE:
        return options
    names, store = [one.name for one in job.counted or job.workloads], Store(job.project.reports)
    last = [_last_counted(store.runs(job.kernel.name, one.name)) for one in job.versions]
    return adaptive_options(options, all(was_bound_by_memory(one, names) for one in last))


def measure_all(
    jobs: Sequence[MeasureJob],
    reporter: Reporter,
    on_timed: Callable[[KernelOutcome], None] | None = None,
    place: WorkPlace | None = None,
) -> list[KernelOutcome]:
    """Measure several jobs at one place, each as ``measure`` does, and save each as soon as it is finished.

    Raises the first error that ended a job, after all others are done.
    """
    place = place or OneGpu()
    if isinstance(place, OneGpu) and len(jobs) == 1:
        with _warming(jobs[0]) as warmed:
            return _measure_all([warmed], reporter, on_timed, place)
    return _measure_all(jobs, reporter, on_timed, place)


def _measure_all(
    jobs: Sequence[MeasureJob], reporter: Reporter, on_timed: Callable[[KernelOutcome], None] | None, place: WorkPlace
) -> list[KernelOutcome]:
    works = []
    for job in jobs:
        gpus, kernels = place.gpus_for(job.on), sum(one.on == job.on for one in jobs)
        works.append(KernelWork(job, reporter, gpus, kernels, place.is_away, on_timed))
    errors: list[BaseException] = []
    try:
        for work in works:
            place.build(work, work.build)
        for work, unit, result in place.finished(reporter):
            for more in work.take(unit, result):
                place.submit(work, more)
            if work.is_done:
                _finish(work, errors)
    except KeyboardInterrupt as interrupted:
        place.close()
        errors.insert(0, interrupted)
    for work in works:
        if not work.is_done and work.is_begun:
            work.end(errors[0])
            _finish(work, errors)
    if errors:
        raise errors[0]
    return [work.outcome for work in works if work.outcome is not None]


def _finish(work: KernelWork, errors: list[BaseException]) -> None:
    try:
        work.finish()
    except (KeyboardInterrupt, NcuAssistError) as error:
        if error not in errors:
            errors.append(error)


class KernelWork:
    """A job in progress: the units left, the results of the others, and finally its runs.

    It is cut into units for ``gpus`` GPUs that measure ``kernels`` kernels at once, on other machines if ``is_away``.
    """

    def __init__(
        self,
        job: MeasureJob,
        reporter: Reporter,
        gpus: int,
        kernels: int,
        is_away: bool,
        on_timed: Callable[[KernelOutcome], None] | None,
    ) -> None:
        self.job, self.reporter, self.on_timed = job, reporter, on_timed
        self.outcome: KernelOutcome | None = None
        self._gpus, self._kernels, self._is_away = gpus, kernels, is_away
        self._bundle: Bundle | None = None
        self._built = NOT_BUILT
        self._request: HarnessRequest | None = None
        self._left: list[WorkUnit] = []
        self._order: list[str] = []
        self._parts: dict[str, client.Measured] = {}
        self._measured: client.Measured | None = None
        self._profiled = ProfilingResult({}, {})
        self._sanitized: dict[str, tuple[Sanitized, ...]] = {}
        self._stopped: BaseException | None = None
        store = Store(job.project.reports)
        self._runs = {version.name: store.runs(job.kernel.name, version.name) for version in job.timed}

    @property
    def is_begun(self) -> bool:
        return self._request is not None

    @property
    def is_done(self) -> bool:
        """Whether no unit is left, or an error ended the job."""
        return self._stopped is not None or (self._measured is not None and not self._left)

    def build(self) -> None:
        """Build the versions and write the request for all of them.

        Other machines build what they measure. They get a copy of the kernel's files, which is also archived.
        """
        job, work = self.job, self.job.project.work
        self._moment = datetime.now(UTC)
        self._command, self._commit = job.command, commit_of(job.kernel.folder)
        _tell_cost(job, self.reporter)
        if self._is_away:
            self._bundle = bundle_of(job.kernel)
            self.job = job = _of(unpacked(self._bundle, work / "bundles"), job)
            names = [version.name for version in job.timed]
            self._request = unbuilt_request(job.kernel, names, job.workloads, job.settings, work)
            return
        self.reporter.status(f"building {number_of(len(job.timed), 'version')}")
        self._built = build_here(job.kernel, job.timed, work)
        _tell_build(self._built, self.reporter)
        self._request = new_request(job.kernel, self._built.outcomes, job.workloads, job.settings, work)

    def take(self, unit: WorkUnit | None, result: UnitResult) -> list[WorkUnit]:
        """Take the result of a unit, or of the build (unit None), and return the units that can start now."""
        if self.is_done:  # an error ended the job while others of its units were running
            return []
        if unit is not None:
            self._left = [one for one in self._left if one.name != unit.name]
        if result.error is not None:
            self.end(result.error)
            return []
        if result.built is not None:
            _tell_build(result.built, self.reporter, self._built)
            self._built = self._built.merged_with(result.built)
        if unit is None:
            self._left = self._benches()
            self._order = [one.name for one in self._left]
            return self._left
        if result.measured is not None:
            self._parts[unit.name] = result.measured
            if self._left:
                return []
            self._measured = self._merged()
            self._tell_wrong(self._measured)
            self._left = self._sanitizes()
            return self._left or self._timed(self._measured)
        if result.sanitized is not None:
            self._sanitized |= result.sanitized
            return [] if self._left or self._measured is None else self._timed(self._measured)
        if result.profiled is not None:
            self._count(result.profiled, result.gpu_sha256)
        return []

    def _get_readers_ready(self, measured: client.Measured, count: int, folder: Path) -> None:
        """Start what reads the report that will come: its values, and the code of versions.

        The latter gets ready with a report that an earlier run keeps of this chip.
        """
        get_ready(READER, 1)
        chip = _chip(measured.device)
        every = (one for found in self._runs.values() for one in found)
        alike = (one for one in every if _chip(one.run.device) == chip and set(REPORTS) & one.run.files.keys())
        with contextlib.suppress(NcuAssistError, OSError):
            folder.mkdir(parents=True)
            if (one := next(alike, None)) and (report := one.report_file(folder)):
                get_ready(CODE_READER, min(count, process.side_by_side()), str(report))

    def _count(self, profiled: ProfilingResult, gpu: str) -> None:
        assert self._measured is not None
        own = self._measured.device.uuid_sha256 if self._measured.device else gpu
        if gpu and gpu != own:
            captures = {name: replace(one, gpu=gpu) for name, one in profiled.captures.items()}
            profiled = replace(profiled, captures=captures)
        self._profiled = merged(self._profiled, profiled)
        if profiled.interrupted:
            self._stopped = KeyboardInterrupt()

    def end(self, error: BaseException) -> None:
        """End the job now; the results of finished units are kept."""
        self._stopped = error
        assert self._request is not None or isinstance(error, NcuAssistError)
        if self._request is None or self._measured is not None:
            return
        for unit in self._left:  # its child may have left files here
            self._parts[unit.name] = client.collect(unit.request)
        self._measured = self._merged()
        if isinstance(error, EnvironmentProblem) and not self._measured.checks:
            _tell_built(self.job, self._built.outcomes, self.reporter)

    def finish(self) -> None:
        """Save the runs. Raises the error that ended the job."""
        if self._request is None:
            assert self._stopped is not None
            raise self._stopped
        stopped, measured = self._stopped, self._measured
        assert measured is not None
        self.outcome = self._saved(self.job, measured)
        if self.on_timed is not None and self.job.options is None and stopped is None:
            self.on_timed(self.outcome)
        _tell_notes(self.outcome, self.reporter)
        broken = [name for name, build in self._built.outcomes.items() if build.artifact is None]
        if broken and isinstance(stopped, EnvironmentProblem):
            said = f"{', '.join(broken)} cannot be built (see above), and nothing was checked here: {stopped.message}"
            raise StageFailed(said, f"fix it, then ncu-assist check {self.job.kernel.name} {broken[0]}")
        if stopped is not None:
            raise stopped
        if self.outcome.exit_code == 0:  # the files of a failure stay, for inspection
            shutil.rmtree(self._request.out, ignore_errors=True)
            if self.job.ncu is not None:
                shutil.rmtree(self.job.ncu.folder, ignore_errors=True)

    def _saved(self, job: MeasureJob, measured: client.Measured) -> KernelOutcome:
        when = self._moment, self._command, self._commit
        return _save(job, *when, self._built, measured, self._profiled, self._sanitized)

    def _benches(self) -> list[WorkUnit]:
        """Return the check and bench of all versions, one unit for each group of workloads."""
        request = self._request
        assert request is not None
        runs = [found[0].run for found in self._runs.values() if found]
        costs = {name: bench_seconds(runs, name) for name in request.workloads}
        groups = in_groups(costs, START_S, self._gpus, self._kernels)
        return [
            self._unit(f"bench {', '.join(group)}", client.on(request, group), sum(costs[name] for name in group))
            for group in groups
        ]

    def _sanitizes(self) -> list[WorkUnit]:
        """Return the units that run versions under compute-sanitizer, if the job asks for it."""
        job, request = self.job, self._request
        assert request is not None
        looked_at = {name: on for name, on in (_looked_at(job) if job.sanitize else {}).items() if on}
        costs = {name: SANITIZER_S * len(job.sanitize) for name in request.versions if name in looked_at}
        units = []
        for group in in_groups(costs, SANITIZER_S, self._gpus, self._kernels) if costs else ():
            short = [job.kernel.version(name).short for name in group]
            unit = self._unit(f"compute-sanitizer {', '.join(short)}", request, sum(costs[name] for name in group))
            units.append(replace(unit, tools=job.sanitize, looked_at={name: looked_at[name] for name in group}))
        return units

    def _unit(self, what: str, request: HarnessRequest, expected_s: float) -> WorkUnit:
        job = self.job
        name = f"{job.kernel.name}: {what}"
        unit = WorkUnit(name, job.project, request, job.executor, expected_s=expected_s, on=job.on)
        return replace(unit, bundle=self._bundle)

    def _merged(self) -> client.Measured:
        assert self._request is not None
        parts = [self._parts[name] for name in self._order if name in self._parts]
        return client.merged(parts or [client.collect(self._request)])

    def _tell_wrong(self, measured: client.Measured) -> None:
        for version, checks in measured.checks.items():
            for check in checks:
                if not check.passed:
                    self.reporter.note(f"{version} {check.workload}: wrong: {check.reason}")

    def _timed(self, measured: client.Measured) -> list[WorkUnit]:
        """Report the times, and return the units that take counters."""
        job = self.job
        if job.options is None:
            return []
        if self.on_timed is not None:
            self.on_timed(self._saved(replace(job, options=None), measured))
            self._moment = max(datetime.now(UTC), self._moment + SECOND)  # a run's id has a resolution of one second
        self._left = self._counts(measured, job.options)
        return self._left

    def _counts(self, measured: client.Measured, options: ProfileOptions) -> list[WorkUnit]:
        """Return the units that run ncu over all correct versions, cut by versions: a run has one report."""
        job, request = self.job, self._request
        assert request is not None
        names = tuple(workload.name for workload in job.counted) or request.workloads
        wrong = tuple((v, c.workload) for v, checks in measured.checks.items() for c in checks if not c.passed)
        counted = {version.name for version in job.versions} & set(request.versions)
        right = {v: _right_on(v, measured) & set(names) for v in request.versions if v in counted}
        expected = {v: ExpectedLaunches(len(on), _profiled_before(job, v)[1]) for v, on in right.items() if on}
        asked = replace(request, workloads=names, skip=wrong)
        for line in _long_calls(job, measured, right):
            self.reporter.note(line)
        threading.Thread(target=_prepare_pages, args=(job,), daemon=True).start()  # during ncu's passes
        if job.ncu is not None:
            self._get_readers_ready(measured, len(expected), job.ncu.folder / "ready")
        counted_runs = {v: _last_counted(self._runs[v]) for v in expected}
        runs = {v: one.run if one else None for v, one in counted_runs.items()}
        if options.section_set == ADAPTIVE:
            timed = {v: _timings(measured, v) for v in expected}
            guessed = {v: may_be_bound_by_memory(counted_runs[v], timed[v]) for v in expected}
            expected = {v: replace(one, by_memory=guessed[v]) for v, one in expected.items()}
        costs = {v: ncu_seconds(runs[v], options, one) for v, one in expected.items()}
        units = []
        for group in in_groups(costs, NCU_START_S, self._gpus, self._kernels):
            short = [job.kernel.version(name).short for name in group]
            unit = self._unit(f"ncu {', '.join(short)}", asked, sum(costs[name] for name in group))
            expected_here = {name: expected[name] for name in group}
            units.append(replace(unit, options=options, expected=expected_here, ncu=job.ncu))
        return units


def _tell_cost(job: MeasureJob, reporter: Reporter) -> None:
    """Report the planned work before it starts, with the minutes that it should take according to earlier runs."""
    if job.options is None:
        return
    counted = job.counted or job.workloads
    launches = seconds = guessed = 0.0
    is_counted = True
    for one in job.versions:
        workloads = sum(one.serves(workload) for workload in counted) * job.settings.profile_repeats
        run, a_call = _profiled_before(job, one.name)
        launches += workloads * a_call
        seconds += ncu_seconds(run, job.options, ExpectedLaunches(workloads, a_call))
        guessed += 0.0 if took_before(run, job.options) else workloads * a_call
        is_counted = is_counted and run is not None
    cost = cost_words(job.options, launches, seconds, guessed, is_counted)
    if cost:
        what = f"{number_of(len(job.versions), 'version')} on {number_of(len(job.workloads), 'workload')}"
        reporter.note(f"{what}: checks, {number_of(job.settings.rounds, 'round')}, {cost}")


def _of(kernel: Kernel, job: MeasureJob) -> MeasureJob:
    """Return a job with its kernel replaced by a copy."""
    versions, beside = (tuple(kernel.version(one.name) for one in group) for group in (job.versions, job.beside))
    return replace(job, kernel=kernel, versions=versions, beside=beside)


def _tell_build(built: Built, reporter: Reporter, known: Built = NOT_BUILT) -> None:
    """Report the versions that are skipped or cannot be used, except those in ``known``."""
    for name, why in built.skipped.items():
        if name not in known.skipped:
            reporter.note(f"{name} is skipped: {why}")
    for name, build in built.outcomes.items():
        if name in known.outcomes:
            continue
        if build.problem:
            reporter.note(f"{name} cannot be called: {build.problem}")
        elif build.artifact is None:
            reporter.note(f"{name} does not build:\n{build.log.rstrip()}")


def _tell_built(job: MeasureJob, builds: dict[str, BuildOutcome], reporter: Reporter) -> None:
    """Report which versions compiled if nothing more can be done here. Python is not compiled ahead."""
    sources = {version.path for version in job.timed}
    built = [build.version for build in builds.values() if build.artifact and build.artifact not in sources]
    if built:
        reporter.note(f"built, but not checked: {', '.join(built)}")


def _long_calls(job: MeasureJob, measured: client.Measured, right: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield a line for each version that is slow enough to report its time under ncu, with a cheaper choice."""
    assert job.options is not None
    if job.options.section_set != FULL:
        return
    for version, names in right.items():
        for timing in _timings(measured, version):
            seconds = FULL_PASSES * job.settings.profile_repeats * timing.median_ns / 1e9
            if timing.workload in names and seconds > LONG_S:
                bytes_of = {one.name: job.kernel.algorithmic_bytes(one) for one in job.kernel.workloads}
                less = [name for name in bytes_of if bytes_of[name] < bytes_of[timing.workload]]
                small = f" or --workload {min(less, key=lambda name: bytes_of[name])}" if less else ""
                took = duration(timing.median_ns)
                said = f"a call takes {took}, and ncu repeats it {FULL_PASSES} times: at least {seconds:.0f} s"
                yield f"{version} {timing.workload}: {said}; --adaptive{small} takes less"


def _import_pandas() -> None:
    with contextlib.suppress(Exception):  # whoever needs it meets it again
        importlib.import_module("pandas")


def _prepare_pages(job: MeasureJob) -> None:
    """Do what can be done of the pages before ncu has ended."""
    from ncu_assist.pipeline.pages.writing import prepare_pages

    with contextlib.suppress(Exception):  # a bug in a page is met again, and told, when it is written
        prepare_pages(job.project, job.kernel.name, len(job.timed))


def _chip(device: Device | None) -> str | None:
    return device.compute_capability if device else None


def _timings(measured: client.Measured, version: str) -> tuple[Timing, ...]:
    return () if measured.samples is None else timings_of(measured.samples, version)


def _profiled_before(job: MeasureJob, version: str) -> tuple[Run | None, float]:
    """Return the last profiled run of a version and its launches per call, or None and 1."""
    stored = _last_counted(Store(job.project.reports).runs(job.kernel.name, version))
    if stored is None:
        return None, 1.0
    return stored.run, len(stored.run.launches) / len({one.call for one in stored.run.launches})


def _last_counted(runs: Sequence[StoredRun]) -> StoredRun | None:
    """Return the newest run with counters of these, newest first."""
    return next((one for one in runs if one.run.launches), None)


def _right_on(version: str, measured: client.Measured) -> set[str]:
    """Return the workloads to profile a version on: those where it was correct, if it did not fail."""
    checks = measured.checks.get(version, ()) if version not in measured.failures else ()
    return {check.workload for check in checks if check.passed}


def _save(
    job: MeasureJob,
    moment: datetime,
    command: str,
    commit: Commit | None,
    built: Built,
    measured: client.Measured,
    profiled: ProfilingResult,
    sanitized: Mapping[str, tuple[Sanitized, ...]] = MappingProxyType({}),
) -> KernelOutcome:
    shared = Measurement(
        kernel=job.kernel,
        workloads=job.workloads,
        moment=moment,
        measured=measured,
        options=job.options,
        command=command,
        repeats=job.settings.profile_repeats,
        commit=commit,
        toolchains=built.toolchains,
        machine=built.machine,
    )
    store = Store(job.project.reports)

    def saved(version: Version) -> VersionOutcome:
        if version.name not in built.outcomes:
            skipped = built.skipped.get(version.name, "")
            return VersionOutcome(version.name, None, skipped=skipped, is_peer=version.is_peer)
        results, capture = sanitized.get(version.name, ()), profiled.captures.get(version.name)
        found = (f"compute-sanitizer, {result_words(one)}" for one in results if one.findings)
        notes = (*_counted_on(job, version), *found)
        has_run = measured.checks.get(version.name) or capture
        return VersionOutcome(
            version.name,
            save(store, shared, version, built.outcomes[version.name].log, capture, notes) if has_run else None,
            _failure(version.name, built.outcomes, measured, profiled, results),
            unserved=unserved(version, job.workloads),
            is_peer=version.is_peer,
            sanitized=results,
        )

    with ThreadPoolExecutor(process.side_by_side()) as pool:  # most of the time is spent in children that read code
        rows = tuple(pool.map(saved, job.timed))
    return KernelOutcome(job.kernel.name, tuple(w.name for w in job.workloads), "live", rows)


def _counted_on(job: MeasureJob, version: Version) -> tuple[str, ...]:
    """Return a note on the workloads with counters, if they are not all measured workloads."""
    if job.options is None or not job.counted:
        return ()
    names = ", ".join(workload.name for workload in job.counted if version.serves(workload))
    return (f"counters were taken on {names or 'other workloads'} only",)


def _tell_notes(outcome: KernelOutcome, reporter: Reporter) -> None:
    for version in outcome.versions:
        for note in version.run.run.notes if version.run else ():
            reporter.note(f"{version.version}: {note}")


def _looked_at(job: MeasureJob) -> dict[str, tuple[Workload, ...]]:
    """Return the workloads to run each version on under compute-sanitizer: those named, else small ones."""
    if job.named:
        return {one.name: tuple(w for w in job.workloads if one.serves(w)) for one in job.versions}
    return {one.name: sanitized_workloads(job.kernel, one, job.kernel.workloads) for one in job.versions}


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
