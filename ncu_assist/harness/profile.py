"""The calls that ncu profiles, each in NVTX ranges that name version and workload. Runs in the child, under ncu."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ncu_assist.backends.base import Call
from ncu_assist.harness import accelerator
from ncu_assist.harness.names import RANGE, range_name
from ncu_assist.harness.problem import Problem

WARMUP_CALLS = 2  # the first compiles and loads, the second finds everything in place


def profile(call: Call, version: str, problem: Problem, seed: int, repeats: int) -> None:
    """Warm up outside the ranges, then call inside them, each time in its own, everything before and after finished."""
    inputs, outputs, integers = problem.inputs(seed), problem.outputs(), problem.workload.integers
    for _ in range(WARMUP_CALLS):
        call(inputs, outputs, integers)
    accelerator.synchronize(problem.device)
    for repeat in range(repeats):
        with ranges(range_name(version, problem.workload.name, repeat), problem.device):
            call(inputs, outputs, integers)
            accelerator.synchronize(problem.device)


@contextmanager
def ranges(name: str, device: str) -> Iterator[None]:
    """Stand in the two NVTX ranges of a profiled call for the length of a with block; on a CPU there are none."""
    if device != "cuda":
        yield
        return
    torch.cuda.nvtx.range_push(RANGE)
    torch.cuda.nvtx.range_push(name)
    try:
        yield
    finally:
        torch.cuda.nvtx.range_pop()
        torch.cuda.nvtx.range_pop()
