"""Measure the ceilings of this GPU, or return known ones: stored, imported, or shipped with the tool.

The kernels are built, timed in one child and counted in two under ncu; the results of each stage are stored at once.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from ncu_assist import __version__
from ncu_assist.backends.cuda import Source, compile_sources
from ncu_assist.backends.nvcc import find_arch, find_nvcc
from ncu_assist.ceilings import Ceilings, Conditions, Stage, ceilings_of, decode, path_of, save, shipped, stored
from ncu_assist.ceilings.records import KnownGpu, attribute_peak, known_rates
from ncu_assist.ceilings.storage import problems, product
from ncu_assist.environment import gpu_here
from ncu_assist.errors import DamagedData, EnvironmentProblem, NcuAssistError, StageFailed, UsageProblem
from ncu_assist.executors.base import Executor
from ncu_assist.harness import ceilings as harness_ceilings
from ncu_assist.harness import client
from ncu_assist.harness.ceilings import SEPARATOR, CeilingsRequest, Mode, Probe, ProbeResult, results
from ncu_assist.harness.events import Event, error_of, parse
from ncu_assist.harness.request import DEVICE_SOURCE, write_request
from ncu_assist.harness.results import MeasurementFacts, read_facts
from ncu_assist.ncu.command import ProfileOptions, profile_argv
from ncu_assist.ncu.compressed import is_compressed
from ncu_assist.ncu.failures import ProfiledLaunch
from ncu_assist.ncu.report import Report
from ncu_assist.ncu.report_file import MAGIC
from ncu_assist.pipeline import ceilings_plan as plan
from ncu_assist.pipeline.ncu_stage import ncu_stage
from ncu_assist.pipeline.opened_reports import named
from ncu_assist.process import module_argv
from ncu_assist.project import Project
from ncu_assist.record import Device
from ncu_assist.render.redact import redact_text
from ncu_assist.steps import Reporter
from ncu_assist.store import StoredRun

CHILD = "ncu_assist.harness.ceilings"
SOURCES = Path(harness_ceilings.__file__).parent
KERNELS = ("memory", "pipes", "tensor")
WGMMA_ARCH = {"sm_90": "sm_90a", "sm_90a": "sm_90a"}  # only these architectures have wgmma
SILENCE_S = 120.0
STDERR_TAIL = 2000  # characters
PATH_FLAGS = ("--log-file", "-o")  # their values name folders


def probes_sha256() -> str:
    """Return the hash of the kernels and of the plan of sizes and repeats."""
    every = sorted(path for path in SOURCES.iterdir() if path.suffix in (".cu", ".py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in every)).hexdigest()


@dataclass(frozen=True)
class BuiltKernels:
    """The libraries that compiled, by the name of their source, and why others did not."""

    libraries: dict[str, str]
    nvcc: str
    problem: str


@dataclass(frozen=True)
class CeilingsStages:
    """Runs the stages in a folder below the project's cache, on the executor's GPU."""

    project: Project
    folder: Path
    executor: Executor
    reporter: Reporter

    @cached_property
    def built(self) -> BuiltKernels:
        """Our kernels, compiled for the GPU here. Raises EnvironmentProblem without a compiler."""
        self.reporter.status("building the kernels")
        out, arch = self.project.work / "build" / "ceilings", find_arch(find_nvcc())
        outcomes = compile_sources([Source(n, SOURCES / f"{n}.cu", SOURCES) for n in KERNELS], out)
        if arch in WGMMA_ARCH:
            wgmma = [Source("wgmma", SOURCES / "wgmma.cu", SOURCES)]
            outcomes |= compile_sources(wgmma, out, arch=WGMMA_ARCH[arch])
        harness = self.project.work / "build" / "harness"
        outcomes |= compile_sources([Source("device", DEVICE_SOURCE, DEVICE_SOURCE.parent)], harness)
        libraries = {name: str(o.artifact) for name, o in outcomes.items() if o.artifact is not None}
        broken = [f"{name}.cu does not compile:\n{o.log.strip()}" for name, o in outcomes.items() if not o.artifact]
        return BuiltKernels(libraries, find_nvcc().version, "\n".join(broken))

    def request(self, name: str, mode: Mode, probes: tuple[Probe, ...]) -> CeilingsRequest:
        """Return a request of this name, written into a folder of its own."""
        libraries, nvcc = self.built.libraries, self.built.nvcc
        made = CeilingsRequest(mode, probes, libraries, nvcc, str((self.folder / name).resolve()))
        write_request(made)
        return made

    def time(self, request: CeilingsRequest) -> None:
        """Time a request with CUDA events. Raises the child's error, and StageFailed if the child crashed or hung."""
        watch = client.Watch(self._show, SILENCE_S)
        done = self.executor.run(
            module_argv(CHILD, str(request.path)),
            env=client.child_environment(),
            cwd=self.project.root,
            on_line=watch.line,
            is_stuck=watch.is_stuck,
        )
        if watch.problem is not None:
            raise error_of(watch.problem)
        if done.exit_code != 0:
            words = f"{client.what_happened(done, watch.limit_s)}\n{done.stderr[-STDERR_TAIL:].strip()}"
            at = f" at {watch.current.version}" if watch.current else ""
            raise StageFailed(f"the measuring process{at} {words}".rstrip(), "ncu-assist doctor")

    def count(self, request: CeilingsRequest, metrics: tuple[str, ...]) -> Report:
        """Run a request under ncu with the flags of `profile`, these metrics instead of its set; return the report."""
        stage = ncu_stage(self.project, Path(request.out), self.executor, ProfileOptions(metrics=metrics))
        stage = replace(stage, limits=replace(stage.limits, silence_s=SILENCE_S))
        path = os.path.relpath(request.path, self.project.root)
        total = sum(probe.samples for probe in request.probes)

        def line(text: str) -> None:
            event = parse(text)
            if event is not None and event.event == "problem":
                self.reporter.note(event.text)

        def launch(one: ProfiledLaunch) -> bool:
            self.reporter.status(f"ncu: launch {one.index + 1} of {total} · {one.name}")
            return False

        return stage.run(module_argv(CHILD, path), line, launch).report

    def _show(self, event: Event) -> None:
        if event.event == "begin":
            self.reporter.status(f"events: {event.index} of {event.total} · {in_words(event.version)}")


def in_words(probe_id: str) -> str:
    """Return a readable name of a probe."""
    kind, name, size = probe_id.split(SEPARATOR)
    return f"{kind} {name}" + (f" {int(size) >> 20} MiB" if int(size) else "")


class CeilingsSession:
    """Runs the stages in order and collects their results; ``ceilings`` is None until there is one."""

    def __init__(self, runner: CeilingsStages, quick: bool, memory_bytes: int) -> None:
        self.ceilings: Ceilings | None = None
        self.first_error: NcuAssistError | None = None
        self._runner, self._quick = runner, quick
        self._memory_bytes = memory_bytes
        self._stages: tuple[Stage, ...] = ()
        self._notes: tuple[str, ...] = ()
        self._timed: dict[str, ProbeResult] = {}
        self._created = datetime.now(UTC).isoformat(timespec="seconds")

    def run(self) -> None:
        if self._runner.built.problem:
            self._note(self._runner.built.problem)
        self._stage("events", self._time)
        if self.ceilings is None:
            return
        self._stage("ncu dram", self._count_streams)
        self._stage("ncu pipes", self._count_pipes)

    def _stage(self, name: str, work: Callable[[], None]) -> None:
        started, problem = time.monotonic(), "interrupted"
        try:
            work()
            problem = ""
        except NcuAssistError as error:
            problem, self.first_error = error.message, self.first_error or error
            self._runner.reporter.note(f"{name}: {error.message}" + (f"; try: {error.hint}" if error.hint else ""))
        finally:
            self._stages = (*self._stages, Stage(name, time.monotonic() - started, problem))
            self._store()

    def _store(self) -> None:
        if self.ceilings is None:
            return
        self.ceilings = replace(self.ceilings, stages=self._stages, notes=self._notes)
        save(self._runner.project.reports, self.ceilings)

    def _time(self) -> None:
        probes = plan.event_probes(self._memory_bytes, self._quick)
        request = self._runner.request("events", "events", probes)
        try:
            self._runner.time(request)
        finally:
            self._take_times(request)

    def _take_times(self, request: CeilingsRequest) -> None:
        """Take the times of a child, even if it crashed, because it writes each result at once."""
        facts = read_facts(Path(request.out))
        if facts is None or facts.device is None:
            return
        found = self._results(request)
        self._timed = {r.probe.id: r for r in found}
        self.ceilings = Ceilings(
            device=facts.device,
            created=self._created,
            tool=__version__,
            conditions=_conditions(facts, self._timed.get(Probe("empty", "empty", 0).id)),
            dram=plan.timed_points(found, "dram"),
            l2=plan.timed_points(found, "l2"),
            link=plan.timed_points(found, "link"),
            rates=plan.timed_rates(found, facts.device.sm_count),
        )

    def _count_streams(self) -> None:
        probes = plan.counted_streams(self._memory_bytes, self._quick, self._timed)
        metrics = plan.known_metrics(plan.DRAM_METRICS, self._before.device.compute_capability)
        report, counted, found = self._count("ncu-dram", probes, metrics)
        clocks = plan.CountedLaunches(report.launches)
        conditions = replace(
            self._before.conditions,
            toolchain=replace(self._before.conditions.toolchain, ncu=report.ncu_version),
            ncu_flags=_flags(metrics),
            clock_control=ProfileOptions().clock_control,
            cache_control=ProfileOptions().cache_control,
            sm_clock_mhz=plan.mhz(clocks.median(plan.SM_CLOCK)),
            memory_clock_mhz=plan.mhz(clocks.median(plan.MEMORY_CLOCK)),
        )
        curve = plan.counted_points(found, counted, "dram")
        self.ceilings = replace(self._before, conditions=conditions, dram=(*curve, *self._before.dram))

    def _count_pipes(self) -> None:
        probes = plan.counted_pipes(self._quick)
        metrics = plan.pipe_metrics(self._before.device.compute_capability)
        _, counted, found = self._count("ncu-pipes", probes, metrics)
        rates = plan.counted_rates(found, counted, self._before.device.sm_count)
        hits = plan.counted_points(found, counted, "l2")
        self.ceilings = replace(self._before, rates=(*rates, *self._before.rates), l2=(*hits, *self._before.l2))

    def _count(
        self, name: str, probes: tuple[Probe, ...], metrics: tuple[str, ...]
    ) -> tuple[Report, dict[str, plan.CountedLaunches], list[ProbeResult]]:
        request = self._runner.request(name, "ncu", probes)
        report = self._runner.count(request, metrics)
        return report, plan.by_probe(report.launches), self._results(request)

    def _results(self, request: CeilingsRequest) -> list[ProbeResult]:
        found = list(results(Path(request.out)))
        for result in found:
            if result.problem:
                self._note(f"{in_words(result.probe.id)}: {result.problem}")
        return found

    def _note(self, words: str) -> None:
        if words not in self._notes:
            self._runner.reporter.note(words)
            self._notes = (*self._notes, words)

    @property
    def _before(self) -> Ceilings:
        assert self.ceilings is not None
        return self.ceilings


def _conditions(facts: MeasurementFacts, empty: ProbeResult | None) -> Conditions:
    seconds = plan.spread(empty.time_ns) if empty else None
    return Conditions(
        facts.toolchain,
        flush="read",
        empty_seconds=seconds.median if seconds else None,
        temperature_c=facts.temperature_c,
        throttle_reasons=facts.throttle_reasons,
        probes_sha256=probes_sha256(),
    )


def _flags(metrics: tuple[str, ...]) -> tuple[str, ...]:
    """Return the flags that ncu ran with, without those that name files."""
    argv = profile_argv(Path("ncu"), ProfileOptions(metrics=metrics), Path("x"), Path("x"), ())[1:-1]
    skipped = {i + step for i, word in enumerate(argv) if word in PATH_FLAGS for step in (0, 1)}
    return tuple(word for i, word in enumerate(argv) if i not in skipped)


def measure_ceilings(project: Project, executor: Executor, quick: bool, reporter: Reporter) -> tuple[Ceilings, Path]:
    """Measure this machine's GPU and return the stored ceilings and their path.

    A failed stage is noted, and the others go on. Raises the error if nothing could be measured: no GPU, no compiler,
    no torch. Ctrl-C keeps the finished stages.
    """
    gpu = gpu_here()
    folder = project.work / "measure" / f"ceilings-{secrets.token_hex(4)}"
    session = CeilingsSession(CeilingsStages(project, folder, executor, reporter), quick, gpu.memory_bytes or 0)
    session.run()
    if session.ceilings is None:
        raise session.first_error or EnvironmentProblem("nothing could be measured", "ncu-assist doctor")
    if not any(stage.problem for stage in session.ceilings.stages):  # the files of a failure stay, for inspection
        shutil.rmtree(folder, ignore_errors=True)
    return (session.ceilings, path_of(project.reports, session.ceilings.device))


EXPORT = "on the machine that measured them: ncu-assist ceilings --export FILE"
MOST_BYTES = 16 << 20  # ten thousand points; the shipped files take 53 kB
SHOWN = 3  # impossible values in an error


def why_no_gpu() -> EnvironmentProblem | None:
    """Return the reason why this machine cannot measure, None if it can try."""
    try:
        gpu_here()
    except EnvironmentProblem as problem:
        return problem
    return None


def known(project: Project) -> tuple[tuple[Ceilings, Path | None], ...]:
    """Return the ceilings of this machine's GPU; without a GPU, all that are in the archive or came with the tool.

    Each has its path in the archive, None if it came with the tool.

    Raises DamagedData for a file that cannot be read.
    """
    try:
        gpu = gpu_here()
    except EnvironmentProblem:
        here = [(one, path_of(project.reports, one.device)) for one in stored(project.reports)]
        return (*here, *((one, None) for one in shipped()))
    digest = hashlib.sha256(gpu.uuid.encode()).hexdigest()
    found = ceilings_of(Device(gpu.name, digest, "", None, None, None, None), project.reports)
    if found is None:
        return ()
    path = path_of(project.reports, found.device)
    return ((found, path if path.is_file() else None),)


def ceilings_to_export(project: Project, gpu: str | None) -> Ceilings:
    """Return the ceilings to export, of this machine's GPU or the one named, without data that identifies the machine.

    Raises UsageProblem if none are known, or if several GPUs have some and none was named.
    """
    every = [one for one, _ in known(project)] if gpu is None else [*stored(project.reports), *shipped()]
    found = every if gpu is None else [one for one in every if product(gpu) in product(one.device.name)]
    names = sorted({one.device.name for one in found})
    if not found:
        what = f"no ceilings are known for '{gpu}'" if gpu else "no ceilings are known for this GPU"
        raise UsageProblem(what, "ncu-assist ceilings, or --show to list those known")
    if len(names) > 1:
        raise UsageProblem(f"ceilings of several GPUs are known: {', '.join(names)}", f"--gpu '{names[0]}'")
    newest = max(found, key=lambda one: one.created)
    stages = tuple(replace(stage, problem=redact_text(stage.problem)) for stage in newest.stages)
    return replace(newest, stages=stages, notes=tuple(map(redact_text, newest.notes)), origin="live")


def import_ceilings(project: Project, path: Path, force: bool) -> tuple[Ceilings, Path, bool]:
    """Check ceilings from another machine and store them in the archive, for all reports of that GPU model.

    Return the stored ceilings, their path, and whether the same ceilings were already there.

    Raises UsageProblem for any other file, and for one that would replace other ceilings of this GPU; DamagedData for
    a file that was changed or has impossible values; NewerData for a file of a later version.
    """
    ceilings = replace(read(path), origin="imported")
    target = path_of(project.reports, ceilings.device)
    same = [one for one in stored(project.reports) if path_of(project.reports, one.device) == target]
    if any(replace(one, origin="imported", digest="") == replace(ceilings, digest="") for one in same):
        return ceilings, target, True
    if same and not force:
        raise UsageProblem(
            f"ceilings of this {ceilings.device.name} are stored already, of {same[0].created[:10]}; "
            f"{path.name} has those of {ceilings.created[:10]}",
            "--force to replace them",
        )
    return ceilings, save(project.reports, ceilings), False


def read(path: Path) -> Ceilings:
    """Return the ceilings in a file, checked. Raises as ``import_ceilings`` does."""
    data = _bytes(path)
    _refuse_others(path.name, data)
    ceilings = decode(data, path.name, EXPORT)
    if wrong := problems(ceilings):
        more = f"; and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        raise DamagedData(f"{path.name} has impossible values: {'; '.join(wrong[:SHOWN])}{more}", EXPORT)
    return ceilings


def _bytes(path: Path) -> bytes:
    try:
        if path.is_file() and path.stat().st_size > MOST_BYTES:
            raise UsageProblem(f"{path.name} has {path.stat().st_size} bytes, too large for a file of ceilings", EXPORT)
        return path.read_bytes()
    except OSError as error:
        raise UsageProblem(f"{path} cannot be read: {error.strerror}", EXPORT) from error


def _refuse_others(name: str, data: bytes) -> None:
    """Raise UsageProblem for a file of another kind, which it names."""
    if data.startswith(MAGIC) or is_compressed(data):
        kind = "a report of Nsight Compute" if data.startswith(MAGIC) else "a compressed file"
        raise UsageProblem(f"{name} is {kind}, not ceilings", f"ncu-assist ceilings --show {name}")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageProblem(f"{name} is not JSON, so it has no ceilings: {error}", EXPORT) from error
    said = str(found.get("schema", "")) if isinstance(found, dict) else ""
    if isinstance(found, dict) and "gpus" in found:
        raise UsageProblem(f"{name} is the output of `ncu-assist ceilings --json`, not of --export", EXPORT)
    if not said.startswith("ncu-assist.ceilings/"):
        what = f"of the schema '{said}'" if said else "without a schema"
        raise UsageProblem(f"{name} is JSON {what}, not ceilings", EXPORT)


BUS_WIDTH = "device__attribute_global_memory_bus_width"  # bits
MEMORY_CLOCKS = ("device__attribute_max_mem_frequency_khz", "device__attribute_memory_clock_rate")  # kHz, both


def known_of(project: Project, reference: str) -> KnownGpu:
    """Return the known data of the GPU of a run or a report; raises as ``named`` does, and if it names no GPU."""
    (stored,) = named(project, (reference,), None)
    device = stored.run.device
    if device is None:
        raise UsageProblem(f"{stored.reference} does not say on which GPU it was measured", "name another run")
    ceilings = ceilings_of(device, project.reports)
    return KnownGpu(stored.reference, device, ceilings, known_rates(device, ceilings, dram_peak(stored)))


def dram_peak(stored: StoredRun) -> float | None:
    """Return DRAM's peak in bytes a second from the device attributes of a run, None if they lack it."""
    values = stored.metrics()
    found = {name: values.loc[values["metric"] == name, "value"].dropna() for name in (BUS_WIDTH, *MEMORY_CLOCKS)}
    width, *clocks = [float(column.iloc[0]) if len(column) else 0.0 for column in found.values()]
    clock = next((one for one in clocks if one), 0.0)
    return attribute_peak(width, clock, stored.run.device.compute_capability if stored.run.device else "")
