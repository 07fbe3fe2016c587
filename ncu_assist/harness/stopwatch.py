"""Timing one call on the GPU: stream held, clocks stamped, L2 flushed, events around the call. Runs in the child."""

from __future__ import annotations

import contextlib
import ctypes
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy
import torch

from ncu_assist.harness.request import Flush

HOLD_LIMIT_NS = 50_000_000  # a call that takes longer to enqueue, or waits for the device itself, is late
FLUSH_FACTOR = 3  # times the L2: replacement is not strictly by age
NS_PER_MS = 1e6


@dataclass(frozen=True)
class TimedCall:
    """One timed call. ``sm_clock_mhz`` is NaN where unknown; ``late``: the hold ended before all was enqueued."""

    time_ns: float
    sm_clock_mhz: float
    late: bool


class Stopwatch(Protocol):
    """Times calls on one device."""

    def time(self, call: Callable[[], None]) -> TimedCall:
        """Call once and return how long the device was busy with it."""
        ...

    def empty(self) -> None:
        """Enqueue the least work there is."""
        ...


class HostStopwatch:
    """Times on a CPU by the wall clock; the bench's logic is tested with it.

    The clock is looked up now: what is loaded later cannot put another in its place.
    """

    def __init__(self) -> None:
        self._now = time.perf_counter_ns

    def time(self, call: Callable[[], None]) -> TimedCall:
        start = self._now()
        call()
        return TimedCall(float(self._now() - start), float("nan"), False)

    def empty(self) -> None:
        pass


class DeviceStopwatch:
    """Times on the GPU, on the default stream: every backend's work is ordered with it, whatever stream it takes.

    What measures is looked up now: what is loaded later cannot put something else in its place.
    """

    def __init__(self, library: str, flush: Flush) -> None:
        self._library = ctypes.CDLL(library)
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        self._sms = int(properties.multi_processor_count)
        self._flush = flush
        self._clean = torch.zeros(FLUSH_FACTOR * int(properties.L2_cache_size), dtype=torch.uint8, device="cuda")
        self._sink = torch.zeros(1, device="cuda")
        # Pinned memory has one address for host and device; numpy writes it without going through a stream.
        self._flags = torch.zeros(2, dtype=torch.int32, pin_memory=True)
        self._stamps = torch.zeros(2, self._sms, 2, dtype=torch.int64, pin_memory=True)
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self._start, self._stop = start.record, stop.record
        self._elapsed_ms = partial(start.elapsed_time, stop)
        self._synchronize, self._current_stream = torch.cuda.synchronize, torch.cuda.current_stream

    def time(self, call: Callable[[], None]) -> TimedCall:
        flags, stamps = self._flags.numpy(), self._stamps.numpy()
        flags[:] = 0
        stamps[:] = 0
        if self._flush != "none":
            self._launch("unpin")
        try:
            self._launch("hold", self._flags.data_ptr(), self._flags.data_ptr() + 4, ctypes.c_int64(HOLD_LIMIT_NS))
            self._stamp(0)
            self._empty_cache()
            self._start()
            call()
            self._stop()
            self._stamp(1)
        finally:
            flags[0] = 1
        self._synchronize()
        time_ns = self._elapsed_ms() * NS_PER_MS
        return TimedCall(time_ns, sm_clock_mhz(stamps), bool(flags[1]))

    def empty(self) -> None:
        self._launch("empty")

    def _stamp(self, index: int) -> None:
        self._launch("stamp", self._stamps[index].data_ptr(), ctypes.c_int64(self._sms))

    def _empty_cache(self) -> None:
        size = ctypes.c_int64(self._clean.numel())
        if self._flush == "read":
            self._launch("read", self._clean.data_ptr(), size, self._sink.data_ptr(), ctypes.c_int64(self._sms))
        elif self._flush == "memset":
            self._launch("memset", self._clean.data_ptr(), size)

    def _launch(self, name: str, *arguments: Any) -> None:
        values = [a if isinstance(a, ctypes.c_int64) else ctypes.c_void_p(a) for a in arguments]
        stream = ctypes.c_void_p(self._current_stream().cuda_stream)
        status = self._library[f"bench_{name}"](*values, stream)
        if status != 0:
            raise RuntimeError(f"CUDA error: bench_{name} returned cudaError_t {status}")


def sm_clock_mhz(stamps: Any) -> float:
    """Return the median SM clock between two stamps [2, SMs, (cycles, ns)]; NaN if no SM has both.

    The global timer ticks every 32 ns on an H200, so over a flush of 45 µs a clock is good to 0.1 %.
    """
    before, after = stamps[0].astype(numpy.float64), stamps[1].astype(numpy.float64)
    cycles, elapsed_ns = after[:, 0] - before[:, 0], after[:, 1] - before[:, 1]
    seen = (before[:, 1] > 0) & (elapsed_ns > 0)
    return float(numpy.median(cycles[seen] / elapsed_ns[seen]) * 1e3) if seen.any() else float("nan")


class Hold:
    """Spins a kernel on the stream until the host releases it, or a time limit. Without a library it does nothing."""

    def __init__(self, library: str | None) -> None:
        self._library = ctypes.CDLL(library) if library else None
        # Pinned memory has one address for host and device; numpy writes it without going through a stream.
        self._flags = torch.zeros(2, dtype=torch.int32, pin_memory=library is not None)
        self._current_stream = torch.cuda.current_stream

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the stream for the length of a with block."""
        flags = self._flags.numpy()
        flags[:] = 0
        if self._library is not None:
            self._start(self._library)
        try:
            yield
        finally:
            flags[0] = 1

    def _start(self, library: ctypes.CDLL) -> None:
        release, stream = self._flags.data_ptr(), self._current_stream().cuda_stream
        status = library["bench_hold"](
            ctypes.c_void_p(release),
            ctypes.c_void_p(release + 4),
            ctypes.c_int64(HOLD_LIMIT_NS),
            ctypes.c_void_p(stream),
        )
        if status != 0:
            raise RuntimeError(f"CUDA error: bench_hold returned cudaError_t {status}")
