"""A hold on the current stream: what is enqueued under it starts only when all of it is there. Runs in the child."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

import torch

from ncu_assist.harness.stopwatch import HOLD_LIMIT_NS


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
