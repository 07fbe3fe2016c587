"""A fake GPU for a worker: an executor that replays recorded runs, in as much time as it is told, and fails on demand.

The measuring child is played in this process: its events, its checks and its samples, which are those of recorded
runs under other names. Programs, ncu among them, are started; the fake ncu replays its report.

A fault is a file ``KIND.KERNEL`` in the folder ``faults``: whoever renames it first has it, so that it happens once.
Kinds:

kill          the worker's process is killed by SIGKILL
quit          the worker's process ends as by SIGTERM
gone          the GPU answers no more: the child says so and ends
full          the disk is full when results are written
child-full    the child cannot write its results
hang          the version gives no sign of life
crash         the version kills its child
ncu           ncu dies
ncu-kill      the worker's process is killed while ncu runs
ncu-full      the disk is full when ncu's report is written
throttled     the GPU lowers its clocks as it is too hot
"""

from __future__ import annotations

import errno
import functools
import hashlib
import io
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

import msgspec

from ncu_assist import process
from ncu_assist.harness import results
from ncu_assist.harness.events import Event
from ncu_assist.harness.request import HarnessRequest, read_request
from ncu_assist.pipeline.archiving import Tools
from ncu_assist.process import Completed, RunOptions, module_argv
from ncu_assist.record import Check
from ncu_assist.store import Store, StoredRun, samples_parquet

HARNESS = module_argv("ncu_assist.harness")
RECORDED = Path(__file__).parents[2] / "reports"
FAMILY = "softmax"
STEP_S = 0.02
DRIVER = "580.95"


@dataclass(frozen=True)
class FakeGpu:
    """``bench_s`` is what a version takes on a workload, by kernel; ``ncu_s`` what ncu takes, ``start_s`` any start."""

    bench_s: Mapping[str, float] = field(default_factory=dict)
    ncu_s: Mapping[str, float] = field(default_factory=dict)
    start_s: float = 0.0
    faults: Path | None = None
    always: str = ""  # a kind of fault that happens each time
    program: tuple[str, ...] = ()  # what is started for each version, and waited for
    did: Path | None = None  # a file to which each piece of work is appended: what, from, to
    name: str = "fake"

    def run(self, argv: Sequence[str], **options: Unpack[RunOptions]) -> Completed:
        began = time.monotonic()
        if list(argv[:-1]) == HARNESS:
            request = read_request(Path(argv[-1]), HarnessRequest)
            done = self._child(request, options)
            self._note(f"bench {Path(request.kernel_folder).name} {' '.join(request.workloads)}", began)
            return done
        kernel = next((name for name in self.ncu_s if any(f"/{name}/" in word for word in argv)), "")
        if not kernel and "--" in argv:  # the request that ncu's program gets says of which kernel it is
            path = Path(options.get("cwd") or ".") / argv[-1]
            kernel = Path(read_request(path, HarnessRequest).kernel_folder).name
        self._sleep(self.ncu_s.get(kernel, 0.0) + self.start_s, options)
        if self._has("ncu-kill", kernel):
            os.kill(os.getpid(), signal.SIGKILL)
        if self._has("ncu", kernel):
            return _ended(-signal.SIGSEGV)
        if self._has("ncu-full", kernel):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "report.ncu-rep")
        done = process.run(argv, **options)
        self._tell_ranges(Path(options.get("cwd") or ".") / argv[-1], options)
        self._note(f"ncu {kernel}", began)
        return done

    def _note(self, what: str, began: float) -> None:
        if self.did is not None:
            with self.did.open("a") as file:
                file.write(f"{os.environ.get('CUDA_VISIBLE_DEVICES', '')}\t{what}\t{began}\t{time.monotonic()}\n")

    def _tell_ranges(self, request: Path, options: RunOptions) -> None:
        """Say what the profiled program would have said."""
        part = read_request(request, HarnessRequest)
        for version in part.versions:
            for workload in part.workloads:
                _say(options, Event("begin", "profile", version, workload))
                _say(options, Event("end", "profile", version, workload))

    def _child(self, request: HarnessRequest, options: RunOptions) -> Completed:
        kernel, out = Path(request.kernel_folder).name, Path(request.out)
        if self._has("gone", kernel):
            _say(options, Event("problem", text="the GPU cannot be used: GPU is lost", hint="nvidia-smi", exit_code=6))
            return _ended(6)
        if self._has("full", kernel):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), request.out)
        if self._has("child-full", kernel):
            said = f"results cannot be written to {request.out}: {os.strerror(errno.ENOSPC)}"
            _say(options, Event("problem", text=said, hint="free space there", exit_code=5))
            return _ended(5)
        _say(options, Event("ready"))
        self._sleep(self.start_s, options)
        failed = {one.version for one in results.read_failures(out) if one.everywhere}
        checked = {(v, c.workload) for v, checks in results.read_checks(out).items() for c in checks}
        todo = [(w, v) for w in request.workloads for v in request.versions if v not in failed]
        for workload, version in todo:
            if (version, workload) in checked:
                continue
            _say(options, Event("begin", "check", version, workload))
            if self._has("hang", kernel):
                return self._hang(options)
            if self._has("crash", kernel):
                return _ended(-signal.SIGSEGV)
            if self._has("kill", kernel):
                os.kill(os.getpid(), signal.SIGKILL)
            if self._has("quit", kernel):
                os.kill(os.getpid(), signal.SIGTERM)
            self._sleep(self.bench_s.get(kernel, 0.0), options)
            if self.program:
                process.run(self.program, is_stuck=options.get("is_stuck"))
            results.append_check(out, version, Check(workload, True, "", request.seeds, 0.0, 0.0))
            _say(options, Event("end", "check", version, workload))
        if "bench" in request.settings.stages:
            self._write_samples(request, todo)
        throttled = ("hardware thermal slowdown",) if self._has("throttled", kernel) else ()
        results.write_facts(out, replace(_facts(), throttle_reasons=throttled, temperature_c=(40.0, 50.0)))
        return _ended(0)

    def _write_samples(self, request: HarnessRequest, todo: Sequence[tuple[str, str]]) -> None:
        import pandas

        for name in request.workloads:
            frames = []
            for number, (workload, version) in enumerate(todo):
                if workload == name:
                    frame = _recorded_samples(number % 2)
                    frames.append(frame.assign(version=version, workload=name, bench_id=request.bench_id))
            if frames:
                path = results.samples_path(Path(request.out), name)
                path.write_bytes(samples_parquet(pandas.concat(frames, ignore_index=True)))

    def _hang(self, options: RunOptions) -> Completed:
        is_stuck = options.get("is_stuck")
        while is_stuck is None or not is_stuck():
            time.sleep(STEP_S)
        return replace(_ended(-signal.SIGINT), timed_out=True)

    def _sleep(self, seconds: float, options: RunOptions) -> None:
        until, is_stuck = time.monotonic() + seconds, options.get("is_stuck")
        while time.monotonic() < until:
            if is_stuck is not None:
                is_stuck()
            time.sleep(min(STEP_S, max(0.0, until - time.monotonic())))

    def _has(self, kind: str, kernel: str) -> bool:
        """Tell whether a fault of this kind is due here, and take it."""
        if self.faults is None or kind == self.always:
            return kind == self.always
        try:
            (self.faults / f"{kind}.{kernel}").rename(self.faults / f"done-{kind}.{kernel}")
        except FileNotFoundError:
            return False
        return True


def _say(options: RunOptions, event: Event) -> None:
    on_line: Callable[[str], None] | None = options.get("on_line")
    if on_line is not None:
        on_line(msgspec.json.encode(event).decode())


def _ended(code: int) -> Completed:
    return Completed(("fake",), code, "", "", 0.0, False)


def _facts() -> results.MeasurementFacts:
    device = _recorded()[0].run.device
    assert device is not None
    uuid = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    name = os.environ.get("FAKE_CHIP", device.name)
    device = replace(device, name=name, driver=DRIVER, uuid_sha256=hashed(uuid))
    return results.MeasurementFacts(Tools().for_need(("python", ())), device)


def hashed(uuid: str) -> str:
    return hashlib.sha256(uuid.encode()).hexdigest()


@functools.cache
def _recorded() -> tuple[StoredRun, ...]:
    return tuple(sorted(Store(RECORDED).runs(FAMILY), key=lambda stored: stored.run.version))


@functools.cache
def _recorded_samples(number: int) -> Any:
    """Return the samples of one of the recorded versions on its first workload."""
    import pandas

    stored = _recorded()[number]
    samples = pandas.read_parquet(io.BytesIO(stored.read("samples.parquet")))
    own = samples[(samples["version"] == stored.run.version) & (samples["workload"] == stored.run.workloads[0].name)]
    return own.reset_index(drop=True)


def gpus(count: int) -> Iterator[Any]:
    """Yield slots of fake GPUs."""
    from ncu_assist.pipeline.gpu_workers import GpuSlot

    for index in range(count):
        yield GpuSlot(index, f"GPU-fake-{index}")
