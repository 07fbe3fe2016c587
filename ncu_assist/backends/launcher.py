"""The loading half of the cuda backend: a shared object's ``extern "C"`` launcher as a call on torch tensors."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ncu_assist.backends.base import Call
from ncu_assist.errors import StageFailed
from ncu_assist.spec import Kernel


def load_launcher(artifact: Path, kernel: Kernel) -> Call:
    """Return the launcher named like the kernel; the call raises RuntimeError for a cudaError_t other than 0.

    It gets pointers and 64-bit integers in the order of ``kernel.arguments`` and torch's current stream last;
    ``kernel.numbers`` go as integers.
    Raises StageFailed if the shared object cannot be loaded or has no such function.
    """
    launcher = _function(artifact, kernel.name)
    places = {name: index for index, name in enumerate((*kernel.inputs, *(o.name for o in kernel.outputs)))}
    stream = _current_stream()

    def call(inputs: tuple[Any, ...], outputs: tuple[Any, ...], integers: Mapping[str, int]) -> None:
        given = (*inputs, *outputs)
        numbers = {**integers, **{name: given[places[name]] for name in kernel.numbers}}
        values = [
            ctypes.c_int64(numbers[name]) if name in numbers else ctypes.c_void_p(given[places[name]].data_ptr())
            for name in kernel.arguments
        ]
        status = launcher(*values, ctypes.c_void_p(stream()))
        if status != 0:
            raise RuntimeError(f"CUDA error: {kernel.name} returned {_error_name(status)}")

    return call


def _function(artifact: Path, name: str) -> Any:
    try:
        function = getattr(ctypes.CDLL(str(artifact)), name)
    except OSError as error:
        raise StageFailed(f"{artifact.name} cannot be loaded: {error}") from error
    except AttributeError as error:
        hint = f'declare it: extern "C" cudaError_t {name}(..., cudaStream_t stream)'
        raise StageFailed(f"{artifact.name} has no function '{name}'", hint) from error
    function.restype = ctypes.c_int
    return function


def _current_stream() -> Callable[[], int]:
    import torch

    if not torch.cuda.is_available():
        return lambda: 0
    return lambda: int(torch.cuda.current_stream().cuda_stream)


def _error_name(status: int) -> str:
    import torch

    try:
        return f"{torch.cuda.cudart().cudaGetErrorString(torch.cuda.cudart().cudaError(status))} ({status})"
    except Exception:  # a torch without CUDA, or an error that it does not know
        return f"cudaError_t {status}"
