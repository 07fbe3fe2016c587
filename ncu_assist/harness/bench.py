"""Timing versions against each other, each once a round, in an order drawn anew. Runs in the child."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow
import pyarrow.parquet
import torch

from ncu_assist.backends.base import Call
from ncu_assist.harness import accelerator
from ncu_assist.harness.names import COPY, EMPTY, LINK
from ncu_assist.harness.problem import Problem, Tensors
from ncu_assist.harness.request import Request
from ncu_assist.harness.stopwatch import Stopwatch

SCHEMA = pyarrow.schema(
    [
        ("bench_id", pyarrow.string()),
        ("workload", pyarrow.string()),
        ("version", pyarrow.string()),
        ("round", pyarrow.int32()),
        ("position", pyarrow.int32()),
        ("time_ns", pyarrow.float64()),
        ("sm_clock_mhz", pyarrow.float64()),
        ("late", pyarrow.bool_()),
    ]
)


@dataclass(frozen=True)
class Progress:
    """Who is told: ``begin`` before each call with its version, ``round`` after each round kept."""

    begin: Callable[[str], None]
    round: Callable[[int], None]


@dataclass
class Samples:
    """The samples of one workload as columns."""

    columns: dict[str, list[object]] = field(default_factory=lambda: {name: [] for name in SCHEMA.names})

    def add(self, *row: object) -> None:
        for column, value in zip(self.columns.values(), row, strict=True):
            column.append(value)

    def write(self, path: Path) -> None:
        """Write Parquet under another name first: a file under ``path`` is whole."""
        unfinished = path.with_suffix(".tmp")
        with unfinished.open("wb") as file:  # opened here: pyarrow takes no path that is not UTF-8
            pyarrow.parquet.write_table(pyarrow.table(self.columns, schema=SCHEMA), file, compression="zstd")
        unfinished.replace(path)


def entries(
    calls: Mapping[str, Call], problem: Problem, seed: int, stopwatch: Stopwatch
) -> dict[str, Callable[[], None]]:
    """Return what a round consists of: every version on the same inputs and outputs, an empty call, a copy.

    The copy moves as many bytes as the workload has to, half read and half written; where inputs lie in memory of the
    host, it is the copy engine's of as many bytes as have to come from there. Without memory for it there is none.
    Raises torch's out-of-memory error if the inputs and outputs do not fit.
    """
    return entries_on(calls, problem, (problem.inputs(seed), problem.outputs()), stopwatch)


def entries_on(
    calls: Mapping[str, Call], problem: Problem, arguments: tuple[Tensors, Tensors], stopwatch: Stopwatch
) -> dict[str, Callable[[], None]]:
    """Return the same on inputs and outputs that are there already."""
    inputs, outputs = arguments
    integers = problem.workload.integers
    runs = {name: _bind(call, inputs, outputs, integers) for name, call in calls.items()}
    runs[EMPTY] = stopwatch.empty
    return runs | _beside(problem)


def _beside(problem: Problem) -> dict[str, Callable[[], None]]:
    kernel, workload, device = problem.kernel, problem.workload, problem.device
    from_host = kernel.host_bytes(workload)
    if from_host is None:
        copy = _copy(kernel.algorithmic_bytes(workload) // 2, device, device)
        return {COPY: copy} if copy else {}
    copy = _copy(from_host, "cpu", device)
    return {LINK: copy} if copy else {}


def run(
    runs: Mapping[str, Callable[[], None]], workload: str, request: Request, stopwatch: Stopwatch, progress: Progress
) -> Samples:
    """Return the samples of all rounds kept; every call has its version announced before it.

    Rounds before the first kept one have negative numbers and are dropped. The order within a round is a permutation
    drawn from the request's first seed, so that it can be repeated. What is late from the start, as often as the
    settings say, is called no more.
    """
    samples, order = Samples(), random.Random(f"{request.seeds[0]} {workload}")
    names, late = list(runs), dict.fromkeys(runs, 0)  # samples so far, of what was never in time
    enough = request.settings.late_enough
    for number in range(-request.settings.warmup, request.settings.rounds):
        order.shuffle(names)
        for position, name in enumerate(names):
            if 0 < enough <= late.get(name, 0):
                continue
            progress.begin(name)
            reading = stopwatch.time(runs[name])
            if not reading.late:
                late.pop(name, None)
            elif name in late:
                late[name] += 1
            if number >= 0:
                row = (number, position, reading.time_ns, reading.sm_clock_mhz, reading.late)
                samples.add(request.bench_id, workload, name, *row)
        if number >= 0:
            progress.round(number)
    return samples


def _bind(
    call: Call, inputs: tuple[object, ...], outputs: tuple[object, ...], integers: Mapping[str, int]
) -> Callable[[], None]:
    return lambda: call(inputs, outputs, integers)


def _copy(size: int, place: str, device: str) -> Callable[[], None] | None:
    try:
        source = torch.ones(size, dtype=torch.uint8, device=place, pin_memory=place != device)
        target = torch.empty(size, dtype=torch.uint8, device=device)
    except RuntimeError as error:
        if accelerator.describe(error).startswith(accelerator.OUT_OF_MEMORY):
            return None
        raise

    def copy() -> None:
        target.copy_(source, non_blocking=True)  # out of pinned memory too: nobody waits behind a held stream

    return copy
