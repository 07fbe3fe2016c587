"""The device that the child works on: is it there, is it still alive, is it out of memory. Runs in the child."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import threading
from typing import Any

from ncu_assist.errors import EnvironmentProblem, NoTorch

OUT_OF_MEMORY = "not enough memory"  # how describe() begins then
TEXT_LIMIT = 2000  # characters of an exception that are kept


def load_torch(for_gpu: bool = True) -> None:
    """Import torch and, meanwhile, start the driver, which torch would do after that.

    No context is made, and no memory of the GPU taken but 4 MB. Raises NoTorch.
    """
    os.environ.setdefault("CUDA_MODULE_LOADING", "LAZY")  # as torch does before it starts the driver
    driver = threading.Thread(target=_start_driver)
    if for_gpu:
        driver.start()
    try:
        import torch  # noqa: F401
    except ImportError as error:
        hint = "pip install 'ncu-assist[gpu]'"
        raise NoTorch(f"torch cannot be imported: {error}", hint) from error
    if for_gpu:
        driver.join()


def _start_driver() -> None:
    """Call ``cuInit``, which torch would call later; where it fails, torch says why."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libcuda.so.1").cuInit(0)


def open_device(device: str) -> None:
    """Make the device usable; raises EnvironmentProblem if torch or the GPU is missing."""
    load_torch(device == "cuda")
    if device != "cuda":
        return
    import torch

    if not torch.cuda.is_available():
        built = torch.version.cuda
        why = "it finds no GPU" if built else "it is built without CUDA"
        raise EnvironmentProblem(f"torch {torch.__version__} cannot use a GPU: {why}", "ncu-assist doctor")
    try:
        torch.cuda.init()
        torch.zeros(1, device="cuda")
    except RuntimeError as error:
        raise EnvironmentProblem(f"the GPU cannot be used: {describe(error)}", "nvidia-smi") from error


def synchronize(device: str) -> None:
    """Wait until everything on the device has ended; raises RuntimeError for an error of anything before."""
    if device == "cuda":
        import torch

        torch.cuda.synchronize()


def is_dead(device: str) -> bool:
    """Return whether an earlier error, such as an illegal address, has left the GPU context unusable."""
    if device != "cuda":
        return False
    import torch

    try:
        torch.cuda.synchronize()
        return bool(torch.ones(1, device="cuda").item() != 1.0)
    except RuntimeError:
        return True


def release() -> None:
    """Give memory that is no longer used back to the device."""
    import torch

    gc.collect()
    if torch.cuda.is_available() and not is_dead("cuda"):
        torch.cuda.empty_cache()


def describe(error: BaseException) -> str:
    """Return an exception in plain words; out of memory names what was asked for."""
    import torch

    text = " ".join(str(error).split())[:TEXT_LIMIT]
    is_of_cuda = text.startswith("CUDA error: ")
    if is_of_cuda:
        text = text.split(" CUDA kernel errors might be", 1)[0].split(" Search for ", 1)[0]
    if isinstance(error, torch.cuda.OutOfMemoryError | MemoryError) or _is_out_of_memory(error):
        return f"{OUT_OF_MEMORY}: {text}"
    if is_of_cuda:
        return text
    message = getattr(error, "message", None)
    return str(message) if message else f"{type(error).__name__}: {text}"


def _is_out_of_memory(error: Any) -> bool:
    """Tell of the errors that have no class of their own: memory of the host, pinned (cudaHostAlloc) or not."""
    words = ("DefaultCPUAllocator", "CUDA error: out of memory")
    return isinstance(error, RuntimeError) and any(word in str(error) for word in words)
