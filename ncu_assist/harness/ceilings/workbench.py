"""The kernels that show what a GPU can reach, measured one after another: by events, or in NVTX ranges for ncu.

Runs in the child.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import median
from typing import Any

import torch

from ncu_assist.harness.ceilings import DEFAULT_WAY, WAYS, CeilingsRequest, Probe, ProbeResult
from ncu_assist.harness.events import RANGE
from ncu_assist.harness.stopwatch import DeviceStopwatch, TimedCall

VECTOR = 16  # bytes of a vector load
LINE, SECTOR = 128, 32  # bytes
L2_TRAFFIC = 4e9  # bytes read from L2 in one call: half a millisecond on an H200
THREADS_PER_SM = 2048  # that each kernel of memory.cu and pipes.cu launches at once
WARPS_PER_SM = THREADS_PER_SM // 32
MATMUL = 8192  # rows and columns of torch's matrix product
TRIALS = 5  # samples of each way of moving before one is chosen
WARMUP_CALLS = 2  # the first loads the kernel


@dataclass(frozen=True)
class ProbeWork:
    """The call, what one call does, and the check of its result, which returns what is wrong.

    ``amount`` is bytes for memory and links, warp instructions for pipes, operations for tensor.
    """

    call: Callable[[], None]
    amount: float
    read_bytes: int = 0
    write_bytes: int = 0
    footprint_bytes: int = 0
    fault: Callable[[], str] | None = None


PIPES = ("fma", "fp64", "fp16", "imad", "alu", "xu", "lsu")  # numbered so in pipes.cu
PIPE_STEPS = 128  # instructions that a warp makes there in one round
# Kernels of tensor.cu: the number there, and the depth of one product, which is what a sum counts.
PRODUCTS = {
    "mma_bf16": (0, 16),
    "mma_fp16": (1, 16),
    "mma_tf32": (2, 8),
    "mma_int8": (3, 32),
}
MMA_WARPS, MMA_TILES, MMA_ROWS, MMA_COLUMNS = 16, 8, 16, 8  # a multiprocessor; products a warp and round; their shape
WGMMA_GROUPS, WGMMA_STEPS, WGMMA_ROWS, WGMMA_COLUMNS, WGMMA_DEPTH = 2, 2, 64, 256, 16


class ProbeKernels:
    """Makes the work of a probe; buffers are allocated once, as large as the largest probe needs."""

    def __init__(self, request: CeilingsRequest) -> None:
        self._request = request
        self._libraries = {name: ctypes.CDLL(path) for name, path in request.libraries.items() if name != "device"}
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        self._sms, self._l2_bytes = int(properties.multi_processor_count), int(properties.L2_cache_size)
        self._sink = torch.zeros(1, dtype=torch.int32, device="cuda")

    def work(self, probe: Probe, way: int) -> ProbeWork:
        """Return what to run for a probe; raises RuntimeError where its kernel could not be built."""
        makers: dict[str, Callable[[Probe, int], ProbeWork]] = {
            "dram": self._dram,
            "l2": self._l2,
            "shared": self._shared,
            "link": self._link,
            "pipe": self._pipe,
            "tensor": self._tensor,
        }
        return makers[probe.kind](probe, way)

    def _dram(self, probe: Probe, way: int) -> ProbeWork:
        return self._move(probe, way, self._input.data_ptr(), self._output.data_ptr())

    def _move(self, probe: Probe, way: int, source: int, target: int) -> ProbeWork:
        (reads, writes), each = probe.arrays, probe.bytes_each
        call = self._call("memory", "move", reads, writes, way, _p(source), _p(target), each, self._p_sink)
        return ProbeWork(call, (reads + writes) * each, reads * each, writes * each)

    def _l2(self, probe: Probe, way: int) -> ProbeWork:
        sweep = self._sms * THREADS_PER_SM * VECTOR
        size = max(1, int(probe.share * self._l2_bytes) // sweep) * sweep
        loads = max(4, int(L2_TRAFFIC) // sweep // 4 * 4)
        call = self._call("memory", "l2", _p(self._input.data_ptr()), size, loads, self._p_sink, self._sms)
        return ProbeWork(call, loads * sweep, loads * sweep, footprint_bytes=size)

    def _shared(self, probe: Probe, way: int) -> ProbeWork:
        call = self._call("memory", "shared", probe.rounds, self._p_sink, self._sms)
        return ProbeWork(call, self._sms * THREADS_PER_SM * probe.rounds * 8 * VECTOR)

    def _link(self, probe: Probe, way: int) -> ProbeWork:
        host, device = self._pinned, self._input[: self._pinned.numel()]
        size = host.numel()
        if probe.name == "host_to_device":
            return ProbeWork(partial(device.copy_, host, non_blocking=True), size, size, 0)
        if probe.name == "device_to_host":
            return ProbeWork(partial(host.copy_, device, non_blocking=True), size, 0, size)
        if probe.name == "zero_copy_sectors":
            lines = size // LINE
            call = self._call("memory", "host_sectors", _p(host.data_ptr()), lines, self._p_sink)
            return ProbeWork(call, lines * SECTOR, lines * SECTOR, 0)
        mix = Probe("dram", "read" if probe.name == "zero_copy_read" else "fill", 1, size)
        return self._move(mix, DEFAULT_WAY, host.data_ptr(), host.data_ptr())

    def _pipe(self, probe: Probe, way: int) -> ProbeWork:
        call = self._call("pipes", "pipe", PIPES.index(probe.name), probe.rounds, self._p_sink, self._sms)
        return ProbeWork(call, self._sms * WARPS_PER_SM * PIPE_STEPS * probe.rounds)

    def _tensor(self, probe: Probe, way: int) -> ProbeWork:
        if probe.name.startswith("matmul"):
            a, b = (torch.randn(MATMUL, MATMUL, dtype=torch.bfloat16, device="cuda") for _ in range(2))
            return ProbeWork(partial(torch.mm, a, b, out=torch.empty_like(a)), 2.0 * MATMUL**3)
        if probe.name.startswith("wgmma"):
            threads = self._sms * WGMMA_GROUPS * 128
            call = self._call("wgmma", "wgmma", probe.rounds, _p(self._sums.data_ptr()), self._sms)
            shape, count = WGMMA_ROWS * WGMMA_COLUMNS * WGMMA_DEPTH, self._sms * WGMMA_GROUPS * WGMMA_STEPS
            return ProbeWork(
                call, 2.0 * shape * count * probe.rounds, fault=self._fault(threads, 16 * 2 * probe.rounds)
            )
        number, depth = PRODUCTS[probe.name]
        call = self._call("tensor", "mma", number, probe.rounds, _p(self._sums.data_ptr()), self._sms)
        shape, count = MMA_ROWS * MMA_COLUMNS * depth, self._sms * MMA_WARPS * MMA_TILES
        fault = self._fault(self._sms * MMA_WARPS * 32, depth * probe.rounds)
        return ProbeWork(call, 2.0 * shape * count * probe.rounds, fault=fault)

    def _fault(self, threads: int, expected: int) -> Callable[[], str]:
        """Operands are ones: every sum must have counted exactly how deep all products together were."""

        def look() -> str:
            wrong = int((self._sums[:threads] != float(expected)).sum())
            found = float(self._sums[0])
            return (
                f"{wrong} of {threads} threads have wrong sums, the first {found:g}, expected {expected}"
                if wrong
                else ""
            )

        return look

    def _call(self, library: str, name: str, *arguments: int | ctypes.c_void_p) -> Callable[[], None]:
        if library not in self._libraries:
            raise RuntimeError(f"{library}.cu was not built for this GPU")
        function = self._libraries[library][f"ceilings_{name}"]
        values = [a if isinstance(a, ctypes.c_void_p) else ctypes.c_int64(a) for a in arguments]

        def call() -> None:
            status = function(*values, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
            if status != 0:
                raise RuntimeError(f"CUDA error: ceilings_{name} returned cudaError_t {status}")

        return call

    @property
    def _p_sink(self) -> ctypes.c_void_p:
        return _p(self._sink.data_ptr())

    @cached_property
    def _input(self) -> Any:
        """Random bytes: what a stream reads."""
        words = torch.empty(self._largest // 4, dtype=torch.int32, device="cuda")
        return words.random_().view(torch.uint8)

    @cached_property
    def _output(self) -> Any:
        return torch.zeros(self._largest, dtype=torch.uint8, device="cuda")

    @cached_property
    def _pinned(self) -> Any:
        size = max(p.bytes for p in self._request.probes if p.kind == "link")
        return torch.ones(size, dtype=torch.uint8).pin_memory()

    @cached_property
    def _sums(self) -> Any:
        return torch.zeros(self._sms * THREADS_PER_SM, dtype=torch.float32, device="cuda")

    @property
    def _largest(self) -> int:
        return max(self._l2_bytes, *(p.bytes for p in self._request.probes))


def _p(address: int) -> ctypes.c_void_p:
    return ctypes.c_void_p(address)


class Workbench:
    """One child process's kernels, buffers and stopwatch."""

    def __init__(self, request: CeilingsRequest) -> None:
        self._request = request
        self._kernels = ProbeKernels(request)
        helpers = request.libraries.get("device", "")
        self._stopwatch = DeviceStopwatch(helpers, "read") if request.mode == "events" else None

    def measure(self, probe: Probe) -> ProbeResult:
        """Return the result of a probe; raises RuntimeError where CUDA fails or a kernel computed something wrong."""
        way = self._fastest(probe) if probe.kind == "dram" and probe.way is None else probe.way or 0
        work = self._work(probe, way)
        self._warm_up(work)
        if self._stopwatch is None:
            self._inside_ranges(probe, work)
            readings: list[TimedCall] = []
        else:
            readings = [self._stopwatch.time(work.call) for _ in range(probe.samples)]
        return _result(probe, way, work, [r for r in readings if not r.late])

    def _work(self, probe: Probe, way: int) -> ProbeWork:
        if probe.kind == "empty" and self._stopwatch is not None:
            return ProbeWork(self._stopwatch.empty, 0.0)
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

    def _warm_up(self, work: ProbeWork) -> None:
        for _ in range(WARMUP_CALLS):
            work.call()
        torch.cuda.synchronize()
        fault = work.fault() if work.fault else ""
        if fault:
            raise RuntimeError(fault)

    def _inside_ranges(self, probe: Probe, work: ProbeWork) -> None:
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


def _result(probe: Probe, way: int, work: ProbeWork, readings: list[TimedCall]) -> ProbeResult:
    clocks = tuple(None if math.isnan(r.sm_clock_mhz) else r.sm_clock_mhz for r in readings)
    times = tuple(r.time_ns for r in readings)
    return ProbeResult(probe, way, times, clocks, work.amount, work.read_bytes, work.write_bytes, work.footprint_bytes)
