"""Measuring one probe after another on the GPU, by events or inside NVTX ranges for ncu. Runs in the child."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

import torch

from ncu_assist.harness.ceilings.kernels import Kernels
from ncu_assist.harness.ceilings.plan import DEFAULT_WAY, WAYS, Probe, Request, Result
from ncu_assist.harness.ceilings.work import Work
from ncu_assist.harness.names import RANGE
from ncu_assist.harness.stopwatch import DeviceStopwatch, Reading

TRIALS = 5  # samples of each way of moving before one is chosen
WARMUP_CALLS = 2  # the first loads the kernel


class Workbench:
    """One child process's kernels, buffers and stopwatch."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._kernels = Kernels(request)
        helpers = request.libraries.get("device", "")
        self._stopwatch = DeviceStopwatch(helpers, "read") if request.mode == "events" else None

    def measure(self, probe: Probe) -> Result:
        """Return the result of a probe; raises RuntimeError where CUDA fails or a kernel computed something wrong."""
        way = self._fastest(probe) if probe.kind == "dram" and probe.way is None else probe.way or 0
        work = self._work(probe, way)
        self._warm_up(work)
        if self._stopwatch is None:
            self._inside_ranges(probe, work)
            readings: list[Reading] = []
        else:
            readings = [self._stopwatch.time(work.call) for _ in range(probe.samples)]
        return _result(probe, way, work, [r for r in readings if not r.late])

    def _work(self, probe: Probe, way: int) -> Work:
        if probe.kind == "empty" and self._stopwatch is not None:
            return Work(self._stopwatch.empty, 0.0)
        return self._kernels.work(probe, way)

    def _fastest(self, probe: Probe) -> int:
        if self._stopwatch is None:
            return DEFAULT_WAY
        times: dict[int, float] = {}
        for way in range(WAYS):
            work = self._kernels.work(probe, way)
            work.call()
            times[way] = median(self._stopwatch.time(work.call).time_ns for _ in range(TRIALS))
        return min(times, key=lambda way: times[way])

    def _warm_up(self, work: Work) -> None:
        for _ in range(WARMUP_CALLS):
            work.call()
        torch.cuda.synchronize()
        fault = work.fault() if work.fault else ""
        if fault:
            raise RuntimeError(fault)

    def _inside_ranges(self, probe: Probe, work: Work) -> None:
        for _ in range(probe.samples):
            with _range(RANGE), _range(probe.id):
                work.call()
                torch.cuda.synchronize()


@contextmanager
def _range(name: str) -> Iterator[None]:
    torch.cuda.nvtx.range_push(name)
    try:
        yield
    finally:
        torch.cuda.nvtx.range_pop()


def _result(probe: Probe, way: int, work: Work, readings: list[Reading]) -> Result:
    clocks = tuple(None if math.isnan(r.sm_clock_mhz) else r.sm_clock_mhz for r in readings)
    times = tuple(r.time_ns for r in readings)
    return Result(probe, way, times, clocks, work.amount, work.read_bytes, work.write_bytes, work.footprint_bytes)
