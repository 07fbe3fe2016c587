"""The worker's side of same_code.py and power.py: checks, then times with the product's bench, in one process."""

from __future__ import annotations

import random
import secrets
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow
import pyarrow.parquet
import torch
from sampling import Job, Subject, say

from ncu_assist.backends import BACKENDS
from ncu_assist.backends.base import Call
from ncu_assist.backends.python import import_file
from ncu_assist.harness import accelerator, bench, results
from ncu_assist.harness.check import check
from ncu_assist.harness.events import COPY, EMPTY
from ncu_assist.harness.facts import Nvml, device_facts, gpu_uuid, toolchain
from ncu_assist.harness.problem import Problem
from ncu_assist.harness.request import HarnessRequest
from ncu_assist.harness.stopwatch import DeviceStopwatch, HostStopwatch, Stopwatch
from ncu_assist.spec_file import read_kernel

SILENT = (lambda version: None), (lambda number: None)
FLOATS = ("time_ns", "sm_clock_mhz")  # kept in single precision: CUDA's events give no more
BALLAST_BYTES = (1 << 20, 64 << 20)  # torch takes small and large buffers from different pools

Runs = dict[str, Callable[[], None]]


@dataclass(frozen=True)
class Loaded:
    """A subject ready to be called: a problem a workload, a call an artifact."""

    subject: Subject
    problems: tuple[Problem, ...]
    calls: tuple[Call, ...]


Arrange = Callable[[Loaded, int, random.Random, Stopwatch], tuple[str, Runs]]
"""(subject, number, random numbers, stopwatch) to the kind of these samples and what a round of them consists of."""


def work(path: str, arrange: Arrange) -> int:
    """Do the job in a file and return the exit code: 1 if a subject failed, its reason noted for the parent."""
    job = msgspec.json.decode(Path(path).read_bytes(), type=Job)
    accelerator.open_device(job.settings.device)
    nvml = Nvml(gpu_uuid(job.settings.device))
    before, reasons, is_whole = nvml.temperature_c(), set(nvml.throttle_reasons() or ()), True
    stopwatch = HostStopwatch() if job.helpers is None else DeviceStopwatch(job.helpers, job.settings.flush)
    worker = _Worker(job, arrange, stopwatch)
    for number in (None, *job.numbers):  # None: loading
        for subject in job.subjects:
            is_whole &= worker.attempt(subject, number)
        reasons.update(nvml.throttle_reasons() or ())
        worker.write()
    after = nvml.temperature_c()
    temperature = None if before is None or after is None else (before, after)
    seen = None if nvml.throttle_reasons() is None else tuple(sorted(reasons))
    facts = results.MeasurementFacts(toolchain(job.nvcc), device_facts(job.settings.device, nvml), temperature, seen)
    results.write_facts(Path(job.out), facts)
    return 0 if is_whole else 1


def ballast(numbers: random.Random, device: str) -> list[torch.Tensor]:
    """Return memory of random sizes: what is allocated while it is held lies somewhere else each time."""
    return [torch.empty(numbers.randrange(1, most), dtype=torch.uint8, device=device) for most in BALLAST_BYTES]


class _Worker:
    """The subjects of one process that have not failed, and their samples so far."""

    def __init__(self, job: Job, arrange: Arrange, stopwatch: Stopwatch) -> None:
        self._job, self._arrange, self._stopwatch = job, arrange, stopwatch
        self._loaded: dict[str, Loaded] = {}
        self._tables: dict[str, list[pyarrow.Table]] = defaultdict(list)

    def attempt(self, subject: Subject, number: int | None) -> bool:
        """Load a subject (None) or take one bench of it; one that fails is left out from then on."""
        if number is not None and subject.name not in self._loaded:
            return True  # its failure is noted
        try:
            if number is None:
                self._loaded[subject.name] = load(subject, self._job)
            else:
                self._sample(self._loaded[subject.name], number)
            return True
        except Exception as error:
            reason = accelerator.describe(error)
            say(f"{subject.name}: {reason}")
            stage = "check" if number is None else "bench"
            results.append_failure(Path(self._job.out), results.VersionFailure(subject.name, stage, "", reason, False))
            self._loaded.pop(subject.name, None)
            return False

    def write(self) -> None:
        """Leave a file a subject with all samples so far: a crash later on loses no more than one number."""
        for name, tables in self._tables.items():
            path = Path(self._job.out) / f"{name}-{self._job.index:02d}.parquet"
            pyarrow.parquet.write_table(pyarrow.concat_tables(tables), path, compression="zstd")

    def _sample(self, loaded: Loaded, number: int) -> None:
        job, name = self._job, loaded.subject.name
        numbers = random.Random(f"{job.seed} {job.index} {name} {number}")
        if job.settings.device == "cuda":
            torch.cuda.empty_cache()  # the buffers of the bench before
        held = ballast(numbers, job.settings.device)
        kind, runs = self._arrange(loaded, number, numbers, self._stopwatch)
        del held
        for run in runs.values():
            run()  # compiles and loads before anything is timed
        accelerator.synchronize(job.settings.device)
        request = HarnessRequest("", (), (), job.settings, (numbers.randrange(2**31),), secrets.token_hex(6), job.out)
        samples = bench.run_rounds(runs, _label(loaded), request, self._stopwatch, *SILENT)
        self._tables[name].append(tagged(samples, number, job.kind or kind))
        say(f"{name} {number} {job.kind or kind}: {_medians(samples)}")


def load(subject: Subject, job: Job) -> Loaded:
    """Return a subject ready to be called; raises RuntimeError if a version does not do what the reference does."""
    kernel = read_kernel(Path(subject.folder))
    reference = import_file(kernel.reference)
    workloads = [workload for name in subject.workloads for workload in kernel.select_workloads(name)]
    problems = tuple(Problem(kernel, workload, reference, job.settings.device) for workload in workloads)
    calls = tuple(BACKENDS[a.backend].load(Path(a.path), kernel) for a in subject.artifacts)
    for problem, call in ((p, c) for p in problems for c in calls if job.check):
        outcome = check(call, problem, (job.seed,), 1)
        if not outcome.passed:
            raise RuntimeError(f"{subject.name} is wrong on {problem.workload.name}: {outcome.reason}")
    return Loaded(subject, problems, calls)


def tagged(columns: Mapping[str, list[object]], number: int, kind: str) -> pyarrow.Table:
    """Return samples as a table of ``bench.SCHEMA``, times in single precision, with the columns pair and kind."""
    table = pyarrow.table(dict(columns), schema=bench.SCHEMA)
    for name in FLOATS:
        values = table.column(name).cast(pyarrow.float32(), safe=False)
        table = table.set_column(table.schema.get_field_index(name), name, values)
    table = table.append_column("pair", pyarrow.array([number] * table.num_rows, pyarrow.int32()))
    return table.append_column("kind", pyarrow.array([kind] * table.num_rows, pyarrow.string()))


def _label(loaded: Loaded) -> str:
    """The column workload: that of the only one, else the kernel, whose workloads are then the versions."""
    names = [problem.workload.name for problem in loaded.problems]
    return names[0] if len(names) == 1 else loaded.problems[0].kernel.name


def _medians(columns: Mapping[str, list[Any]]) -> str:
    times: dict[str, list[float]] = defaultdict(list)
    for version, time_ns in zip(columns["version"], columns["time_ns"], strict=True):
        times[version].append(time_ns)
    late = sum(map(bool, columns["late"]))
    middle = {name: sorted(values)[len(values) // 2] / 1e3 for name, values in times.items()}
    words = [f"{name} {us:.2f}" for name, us in sorted(middle.items()) if name not in (EMPTY, COPY)]
    return f"{', '.join(words)} us{f', {late} late' if late else ''}"
