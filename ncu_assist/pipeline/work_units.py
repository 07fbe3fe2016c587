"""Define units of work for one GPU, and the places that do them: check and bench of versions together, or ncu.

Times are compared only within one unit, and a unit is one child process after another on one GPU. So no verdict ever
compares two GPUs. A unit for another machine includes the kernel's files, which are built there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import Any, Protocol

from ncu_assist.backends import build_versions
from ncu_assist.backends.base import BuildOutcome
from ncu_assist.errors import DamagedData, EnvironmentProblem, NcuAssistError, UsageProblem
from ncu_assist.executors.base import Executor
from ncu_assist.harness import client
from ncu_assist.harness.client import child_folder
from ncu_assist.harness.events import Event
from ncu_assist.harness.request import HarnessRequest, with_builds, write_request
from ncu_assist.harness.sanitizer import Sanitized, SanitizerRequest, find_sanitizer, sanitize
from ncu_assist.ncu.command import ADAPTIVE, ProfileOptions, check_set, find_ncu
from ncu_assist.pipeline.archiving import BENCH, NCU, Need, Setup, Tools, setup_here
from ncu_assist.pipeline.ncu_stage import LAUNCH_S, NcuStage, ncu_stage
from ncu_assist.pipeline.profiling import ExpectedLaunches, ProfilingResult, profile_adaptively, profile_versions
from ncu_assist.project import Project
from ncu_assist.record import Run, Toolchain
from ncu_assist.render.words.sanitizer import clean_words, result_words
from ncu_assist.sources import source_files
from ncu_assist.spec import Kernel, Version, Workload, why_skipped
from ncu_assist.spec_file import read_kernel
from ncu_assist.steps import Pace, Reporter
from ncu_assist.store import machine_hash

BENCH_S = 1.0  # check and bench of one version on one workload, if there is no earlier run
START_S = 4.0  # a process before its first version: python, torch and the GPU
SANITIZER_S = 8.0  # a version under one tool of compute-sanitizer, on small workloads


@dataclass(frozen=True)
class WorkUnit:
    """Work for one GPU. ``options`` None: check and bench as the request says; else ncu over versions of ``expected``.

    With ``tools``, the work is to run these tools of compute-sanitizer over the versions and workloads of
    ``looked_at``. ``expected_s`` is the expected time; ``name`` describes the unit; ``on`` names the only GPU, or chip,
    that may do it. A unit with a ``bundle`` is for another machine, which first builds its versions. ``ncu`` is a stage
    of ncu that has begun on this machine.
    """

    name: str
    project: Project
    request: HarnessRequest
    executor: Executor
    options: ProfileOptions | None = None
    expected: Mapping[str, ExpectedLaunches] = field(default_factory=dict)
    tools: tuple[str, ...] = ()
    looked_at: Mapping[str, Sequence[Workload]] = field(default_factory=dict)
    expected_s: float = 0.0
    on: str = ""
    bundle: Bundle | None = None
    ncu: NcuStage | None = None

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions that the unit needs."""
        return tuple(self.expected or self.looked_at or self.request.versions)

    def apart(self) -> WorkUnit:
        """Write the same unit into a folder of its own, without files of an earlier attempt, and return it."""
        request = replace(self.request, out=str(Path(self.request.out) / secrets.token_hex(4)))
        write_request(request)
        return replace(self, request=request)


@dataclass(frozen=True)
class UnitResult:
    """The result of a unit: its measurements or counters, or the error that ended it.

    ``gpu_sha256`` is the hash of the GPU's UUID, empty if there is only one GPU or it is unknown. ``built`` has the
    builds of another machine.
    """

    measured: client.Measured | None = None
    profiled: ProfilingResult | None = None
    sanitized: dict[str, tuple[Sanitized, ...]] | None = None
    error: NcuAssistError | None = None
    seconds: float = 0.0
    gpu_sha256: str = ""
    built: Built | None = None


class WorkPlace(Protocol):
    """A place that works on units, on other machines if ``is_away``."""

    @property
    def is_away(self) -> bool: ...

    def gpus_for(self, on: str) -> int:
        """Return the number of GPUs that have this name or chip (empty: all)."""
        ...

    def setups(self, on: str, needs: Collection[Need], has_gpu: bool, has_ncu: bool) -> Sequence[Setup]:
        """Return the setup of each machine that would measure, for the chip or GPU of this name.

        The result is empty if it is unknown. Raises EnvironmentProblem if a need is not met.
        """
        ...

    def build(self, owner: Hashable, work: Callable[[], object]) -> None:
        """Run a build, in parallel with the GPUs if possible. ``finished`` yields its result."""
        ...

    def submit(self, owner: Hashable, unit: WorkUnit) -> None:
        """Take a unit."""
        ...

    def finished(self, reporter: Reporter) -> Iterator[tuple[Any, WorkUnit | None, UnitResult]]:
        """Yield owner, unit (None: a build) and result of each task as it is done, including tasks added meanwhile."""
        ...

    def close(self) -> None:
        """End all work in progress."""
        ...


@dataclass
class OneGpu:
    """The GPU of this process, which does units one after another in the order of submission."""

    is_away: bool = False
    _todo: list[tuple[Hashable, WorkUnit | Callable[[], object]]] = field(default_factory=list)

    def gpus_for(self, on: str) -> int:
        return 1

    def setups(self, on: str, needs: Collection[Need], has_gpu: bool, has_ncu: bool) -> Sequence[Setup]:
        return [setup_here(needs, has_gpu, has_ncu)]

    def build(self, owner: Hashable, work: Callable[[], object]) -> None:
        self._todo.append((owner, work))

    def submit(self, owner: Hashable, unit: WorkUnit) -> None:
        self._todo.append((owner, unit))

    def finished(self, reporter: Reporter) -> Iterator[tuple[Any, WorkUnit | None, UnitResult]]:
        while self._todo:
            owner, work = self._todo.pop(0)
            if isinstance(work, WorkUnit):
                yield owner, work, do(work, reporter)
            else:
                yield owner, None, built(work)

    def close(self) -> None:
        self._todo.clear()


def built(work: Callable[[], object]) -> UnitResult:
    """Run a build, and return its error, if any, as a result."""
    try:
        work()
    except NcuAssistError as error:
        return UnitResult(error=error)
    except OSError as error:
        return UnitResult(error=EnvironmentProblem(f"there is no room to build in: {error}", "df -h"))
    return UnitResult()


def settled(unit: WorkUnit, below: Path) -> tuple[WorkUnit, Built]:
    """Build a unit of another machine below a folder; return it as work for this machine, with the builds.

    Raises the error if the unit cannot run here, which includes a set that this ncu does not know.
    """
    assert unit.bundle is not None
    if unit.options is not None and unit.options.section_set != ADAPTIVE:
        check_set(find_ncu(), unit.options.section_set)
    kernel = unpacked(unit.bundle, below)
    project = replace(unit.project, root=kernel.folder.parents[1])
    built = build_here(kernel, [kernel.version(name) for name in unit.versions], project.work)
    tools = Tools()
    toolchains = {name: tools.of(kernel.version(name)) for name in built.outcomes}
    request = with_builds(unit.request, kernel, built.outcomes, project.work)
    request = replace(request, out=str(project.work / "measure" / request.bench_id))
    return (
        replace(unit, project=project, request=request),
        replace(built, toolchains=toolchains, machine=machine_hash()),
    )


def do(unit: WorkUnit, reporter: Reporter) -> UnitResult:
    """Work on a unit in this process and return its result. A bench passes KeyboardInterrupt on.

    Under ncu the interrupt is in the result, together with the finished versions.
    """
    started = time.monotonic()
    try:
        if unit.tools:
            found = UnitResult(
                sanitized=sanitize_versions(unit.request, unit.tools, unit.looked_at, unit.executor, reporter)
            )
        elif unit.options is None:
            found = UnitResult(measured=_check_and_bench(unit, reporter))
        else:
            found = UnitResult(profiled=_profile(unit, unit.options, reporter))
    except NcuAssistError as error:
        found = UnitResult(error=error)
    except OSError as error:  # this process, not the child, met a full disk
        found = UnitResult(error=EnvironmentProblem(f"results cannot be kept: {error}", "df -h"))
    return replace(found, seconds=time.monotonic() - started)


def _check_and_bench(unit: WorkUnit, reporter: Reporter) -> client.Measured:
    request = unit.request
    if not request.artifacts:
        return client.collect(request)
    paces: dict[str, Pace] = {}
    took_s: dict[str, float] = {}
    heard = [time.monotonic()]

    def show(event: Event) -> None:
        before, now = heard[0], time.monotonic()
        heard[0] = now
        if event.workload:
            took_s[event.workload] = took_s.get(event.workload, 0.0) + now - before
        if event.event == "begin" and event.version:
            reporter.status(f"{event.stage}: {event.version} {event.workload}")
        elif event.event == "round":
            left = paces.setdefault(event.workload, Pace(event.total)).left(event.index)
            reporter.status(f"bench: {event.workload} round {event.index} of {event.total}{left}")

    measured = client.measure(request, unit.executor, show, unit.project.settings.version_timeout_s)
    return replace(measured, took_s=took_s)


def _profile(unit: WorkUnit, options: ProfileOptions, reporter: Reporter) -> ProfilingResult:
    stage = unit.ncu or ncu_stage(unit.project, Path(unit.request.out), unit.executor, options)
    launches = unit.project.settings.max_launches
    profiled = profile_adaptively if options.section_set == ADAPTIVE else profile_versions
    return profiled(unit.request, unit.expected, stage, launches, reporter)


def in_groups(costs_s: Mapping[str, float], start_s: float, gpus: int, kernels: int) -> list[tuple[str, ...]]:
    """Return the names in the number of groups that finishes first on ``gpus`` GPUs, each in the order given.

    Each group costs another start; one GPU gets one group. K ``kernels`` are measured at once, each in n groups that
    take T seconds in total and S to start: the busiest of G GPUs does ceil(K*n/G) groups, of T/n + S seconds each.
    """
    total = sum(costs_s.values())

    def ends_s(number: int) -> float:
        return ceil(kernels * number / gpus) * (total / number + start_s)

    wanted = min(range(1, len(costs_s) + 1), key=ends_s, default=1) if gpus > 1 else 1
    groups: list[list[str]] = [[] for _ in range(wanted)]
    for name in sorted(costs_s, key=lambda name: -costs_s[name]):
        min(groups, key=lambda group: sum(costs_s[one] for one in group)).append(name)
    return [tuple(name for name in costs_s if name in group) for group in groups if group]


def bench_seconds(runs: Sequence[Run], workload: str) -> float:
    """Return the expected seconds of check and bench of versions on a workload, from the newest run of each."""
    took = [seconds for run in runs if (seconds := run.took_s.get(f"{BENCH} {workload}"))]
    return max(took, default=BENCH_S * max(1, len(runs)))


def ncu_seconds(run: Run | None, options: ProfileOptions, expected: ExpectedLaunches) -> float:
    """Return a version's expected seconds under ncu, from a run with the same set, else from a typical launch."""
    known = took_before(run, options)
    return expected.launches * expected.workloads * (known or LAUNCH_S.get(options.section_set, LAUNCH_S["full"]))


def took_before(run: Run | None, options: ProfileOptions) -> float | None:
    """Return the seconds of a launch under ncu with the same set in an earlier run, None if unknown."""
    if run is None or run.profile is None or run.profile.section_set != options.section_set or not run.launches:
        return None
    return run.took_s[NCU] / len(run.launches) if NCU in run.took_s else None


SANITIZER_LIMIT_S = 240.0  # per version and tool, which take 5 to 12 s on small workloads
SANITIZER_FOLDER = "sanitizer"


def sanitize_versions(
    request: HarnessRequest,
    tools: Sequence[str],
    workloads: Mapping[str, Sequence[Workload]],
    executor: Executor,
    reporter: Reporter,
) -> dict[str, tuple[Sanitized, ...]]:
    """Return the findings of each tool in each built version on its ``workloads``; versions without any are left out.

    The tools' output goes to files below the request's folder. Raises EnvironmentProblem if there is no
    compute-sanitizer, or no GPU for it.
    """
    program, found = find_sanitizer(), dict[str, tuple[Sanitized, ...]]()
    for artifact in (one for one in request.artifacts if workloads.get(one.version)):
        names = tuple(one.name for one in workloads[artifact.version])
        folder = Path(request.out) / SANITIZER_FOLDER / artifact.version
        asked = SanitizerRequest(
            request.kernel_folder, artifact, names, request.seeds[0], str(folder), request.settings.device
        )
        write_request(asked)
        results = []
        for tool in tools:
            reporter.status(f"{tool}: {artifact.version} {', '.join(names)}")
            result = sanitize(asked, tool, executor, child_folder(request), SANITIZER_LIMIT_S, program)
            log = folder / f"{tool}.txt"
            log.write_text(result.log, encoding="utf-8")
            if said := result_words(result):
                reporter.note(f"{artifact.version}: {said}; its words: {os.path.relpath(log)}")
            results.append(result)
        found[artifact.version] = tuple(results)
        if clean := clean_words(results):
            reporter.note(f"{artifact.version}: {clean}")
    return found


LARGEST = 64_000_000  # bytes of a kernel's files, which are sent with each unit


@dataclass(frozen=True)
class Bundle:
    """A kernel folder as it was when work on it began: its files by their paths in the project, and the hash of all.

    The files include those that versions include from elsewhere in the project. ``folder`` is the path of the kernel.
    """

    folder: str
    files: Mapping[str, bytes]
    sha256: str


def bundle_of(kernel: Kernel) -> Bundle:
    """Return a kernel's files as they are now. Raises UsageProblem if they are too large to send."""
    folder = kernel.folder.absolute()
    root = folder.parents[1]
    own = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    included = [
        Path(os.path.normpath(file.absolute())) for version in kernel.versions for file in source_files(version.path)
    ]
    paths = {path for path in (*own, *included) if path.is_relative_to(root)}
    sizes = {path: path.stat().st_size for path in paths}
    if sum(sizes.values()) > LARGEST:
        largest = max(sizes, key=lambda path: sizes[path])
        said = f"the files of {kernel.name} are more than {LARGEST // 1_000_000} MB, the most of it {largest.name}"
        raise UsageProblem(said, "keep data out of the kernel's folder: reference.py can make it")
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(paths)}
    return Bundle(folder.relative_to(root).as_posix(), files, _hash_of(files))


def _hash_of(files: Mapping[str, bytes]) -> str:
    lines = [f"{hashlib.sha256(data).hexdigest()} {name}\n" for name, data in sorted(files.items())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def unpacked(bundle: Bundle, below: Path) -> Kernel:
    """Unpack a bundle below a folder, into one named by its hash, and return its kernel.

    The files are written if they are missing or were changed. Raises DamagedData for a bundle that changed on the way.
    """
    names = (bundle.folder, *bundle.files)
    if _hash_of(bundle.files) != bundle.sha256 or any(Path(n).is_absolute() or ".." in Path(n).parts for n in names):
        raise DamagedData(f"the files of {Path(bundle.folder).name} are not those that were sent", "try again")
    root = below / bundle.sha256[:32]
    if not _holds(root, bundle):
        shutil.rmtree(root, ignore_errors=True)
        unfinished = below / f"{root.name}.{secrets.token_hex(4)}"
        try:
            for name, data in bundle.files.items():
                (unfinished / name).parent.mkdir(parents=True, exist_ok=True)
                (unfinished / name).write_bytes(data)
            with contextlib.suppress(OSError):  # another worker of this machine was first
                unfinished.rename(root)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return read_kernel(root / bundle.folder)


def _holds(root: Path, bundle: Bundle) -> bool:
    try:
        return all((root / name).read_bytes() == data for name, data in bundle.files.items())
    except OSError:
        return False


@dataclass(frozen=True)
class Built:
    """The builds of one machine: outcomes, reasons for skipped versions, and another machine's tools and hash."""

    outcomes: dict[str, BuildOutcome] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    toolchains: dict[str, Toolchain] = field(default_factory=dict)
    machine: str | None = None

    def merged_with(self, other: Built) -> Built:
        """Return the builds of both; if both built a version, this one's counts."""
        return Built(
            other.outcomes | self.outcomes,
            other.skipped | self.skipped,
            other.toolchains | self.toolchains,
            self.machine or other.machine,
        )


def build_here(kernel: Kernel, versions: Sequence[Version], work: Path) -> Built:
    """Build the versions whose packages are installed. Raises EnvironmentProblem if there are none."""
    skipped = {version.name: why for version in versions if (why := why_skipped(version))}
    if len(skipped) == len(versions):
        said = "; ".join(f"{name} is skipped: {why}" for name, why in skipped.items())
        raise EnvironmentProblem(said, "install it for the Python that runs ncu-assist")
    return Built(build_versions(kernel, [one for one in versions if one.name not in skipped], work), skipped)
