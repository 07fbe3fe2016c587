"""What this machine has and lacks for measuring, each lack with one fix; its GPUs as the driver tells through NVML."""

from __future__ import annotations

import importlib.metadata
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ncu_assist import process
from ncu_assist.backends.nvcc import find_ninja, find_nvcc
from ncu_assist.environment import Condition, Examination
from ncu_assist.errors import EnvironmentProblem, NcuAssistError
from ncu_assist.executors.sandbox.runners import choose_runner
from ncu_assist.ncu.command import ProfileOptions, child_environment, find_ncu, profile_argv, version_of
from ncu_assist.ncu.failures import profiling_error

NO_DRIVER = "run it where nvidia-smi answers"
PROBE = "import torch; torch.ones(8, device='cuda').add_(1); torch.cuda.synchronize()"
PROBE_TIMEOUT_S = 120.0
GPU_EXTRA = "pip install 'ncu-assist[gpu]'"
WITHOUT_CUDA = "+cpu"  # how PyTorch marks wheels that no GPU is used by


@dataclass(frozen=True)
class Gpu:
    """One GPU as NVML sees it: clocks in MHz, memory in bytes."""

    index: int
    name: str
    uuid: str
    memory_bytes: int
    sm_clock_mhz: int
    max_sm_clock_mhz: int
    temperature_c: int


@dataclass(frozen=True)
class Gpus:
    """The driver's version and its GPUs, in NVML's order."""

    driver: str
    gpus: tuple[Gpu, ...]


def query_gpus() -> Gpus:
    """Return driver and GPUs. Raises EnvironmentProblem where there is no driver or no GPU."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise EnvironmentProblem(f"no NVIDIA driver answers: {error}", NO_DRIVER) from error
    try:
        found = tuple(_gpu(index) for index in range(pynvml.nvmlDeviceGetCount()))
        driver = str(pynvml.nvmlSystemGetDriverVersion())
    except pynvml.NVMLError as error:
        raise EnvironmentProblem(f"the NVIDIA driver does not answer: {error}", "nvidia-smi") from error
    finally:
        pynvml.nvmlShutdown()
    if not found:
        raise EnvironmentProblem("the NVIDIA driver has no GPU", "nvidia-smi -L")
    return Gpus(driver, found)


def _gpu(index: int) -> Gpu:
    import pynvml

    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    return Gpu(
        index=index,
        name=str(pynvml.nvmlDeviceGetName(handle)),
        uuid=str(pynvml.nvmlDeviceGetUUID(handle)),
        memory_bytes=int(pynvml.nvmlDeviceGetMemoryInfo(handle).total),
        sm_clock_mhz=int(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)),
        max_sm_clock_mhz=int(pynvml.nvmlDeviceGetMaxClockInfo(handle, pynvml.NVML_CLOCK_SM)),
        temperature_c=int(pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)),
    )


def chosen_gpu(gpus: Gpus, visible: str | None) -> Gpu:
    """Return the GPU that CUDA_VISIBLE_DEVICES names first, by index or UUID; the first one where it is not set.

    Raises EnvironmentProblem when it names none.
    """
    if visible is None:
        return gpus.gpus[0]
    first = visible.split(",")[0].strip()
    for gpu in gpus.gpus:
        if first == str(gpu.index) or (first and gpu.uuid.startswith(first)):
            return gpu
    raise EnvironmentProblem(
        f"CUDA_VISIBLE_DEVICES={visible!r} names no GPU of this machine", "unset CUDA_VISIBLE_DEVICES"
    )


def examine() -> Examination:
    """Look at driver, GPU, clocks, ncu, counter permission, nvcc, torch, triton, ninja and sandbox, in that order."""
    driver = _look("driver", _driver)
    has_driver = driver.state == "ok"
    conditions = (
        driver,
        _look("GPU", _gpu_condition if has_driver else _without_driver),
        _look("clocks", _clocks if has_driver else _without_driver, needed=False),
        _look("ncu", _ncu),
        _look("counters", _counters if has_driver else _without_driver),
        _look("nvcc", _nvcc),
        _look("torch", _torch),
        _package("triton", GPU_EXTRA, needed=False),
        _look("ninja", _ninja),
        _look("sandbox", _sandbox, needed=False),
    )
    return Examination(conditions)


def _look(name: str, look: Callable[[], Condition], needed: bool = True) -> Condition:
    try:
        return look()
    except NcuAssistError as error:
        return Condition(name, "missing", error.message, error.hint, needed)


def _without_driver() -> Condition:
    raise EnvironmentProblem("not looked at: there is no driver", NO_DRIVER)


def _driver() -> Condition:
    return Condition("driver", "ok", query_gpus().driver)


def _gpu_condition() -> Condition:
    gpus = query_gpus()
    used = chosen_gpu(gpus, os.environ.get("CUDA_VISIBLE_DEVICES"))
    others = f", {len(gpus.gpus) - 1} more here" if len(gpus.gpus) > 1 else ""
    return Condition("GPU", "ok", f"{used.name}, {used.memory_bytes / 2**30:.0f} GiB{others}")


def _clocks() -> Condition:
    gpu = chosen_gpu(query_gpus(), os.environ.get("CUDA_VISIBLE_DEVICES"))
    detail = f"SM {gpu.sm_clock_mhz} of {gpu.max_sm_clock_mhz} MHz, {gpu.temperature_c} °C"
    return Condition("clocks", "ok", f"{detail}; idle clocks are lower", needed=False)


def _ncu() -> Condition:
    ncu = find_ncu()
    return Condition("ncu", "ok", f"{version_of(ncu)} at {ncu}")


def _counters() -> Condition:
    """Profile one kernel with few metrics: the only proof that counters may be read."""
    query_gpus()
    ncu = find_ncu()
    if _version_of_package("torch") is None:
        raise EnvironmentProblem("not tried: the probe needs torch", GPU_EXTRA)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ncu.log"
        options = ProfileOptions(section_set="basic", nvtx_include=None, max_launches=1)
        command = [sys.executable, "-c", PROBE]
        argv = profile_argv(ncu, options, Path(folder) / "probe.ncu-rep", log, command)
        done = process.run(argv, env=child_environment(os.environ, Path(folder), None), timeout_s=PROBE_TIMEOUT_S)
        text = (log.read_text(errors="replace") if log.is_file() else "") + done.stdout + done.stderr
        if done.exit_code != 0 or "==PROF== Profiling" not in text:
            raise profiling_error(text, done.exit_code)
    return Condition("counters", "ok", "read, proven by profiling one kernel")


def _nvcc() -> Condition:
    nvcc = find_nvcc()
    return Condition("nvcc", "ok", f"{nvcc.version} at {nvcc.path}")


def _torch() -> Condition:
    version = _version_of_package("torch") or ""
    if version.endswith(WITHOUT_CUDA):
        raise EnvironmentProblem(f"{version} is built without CUDA", GPU_EXTRA)
    return _package("torch", GPU_EXTRA)


def _ninja() -> Condition:
    return Condition("ninja", "ok", _version_of_package("ninja") or f"at {find_ninja()}")


def _sandbox() -> Condition:
    return Condition("sandbox", "ok", f"drafts of a model run in {choose_runner()}", needed=False)


def _package(name: str, fix: str, needed: bool = True) -> Condition:
    version = _version_of_package(name)
    if version is None:
        return Condition(name, "missing", "not installed", fix, needed)
    return Condition(name, "ok", version, needed=needed)


def _version_of_package(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
