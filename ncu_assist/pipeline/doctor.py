"""What this machine has and lacks for measuring, each lack with one fix."""

from __future__ import annotations

import importlib.metadata
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from ncu_assist import process
from ncu_assist.backends.nvcc import find_ninja, find_nvcc
from ncu_assist.environment import Condition, Examination
from ncu_assist.errors import EnvironmentProblem, NcuAssistError
from ncu_assist.executors.sandbox.runners import choose_runner
from ncu_assist.ncu.command import ProfileOptions, child_environment, find_ncu, profile_argv, version_of
from ncu_assist.ncu.failures import profiling_error
from ncu_assist.pipeline.gpus import NO_DRIVER, chosen_gpu, query_gpus

PROBE = "import torch; torch.ones(8, device='cuda').add_(1); torch.cuda.synchronize()"
PROBE_TIMEOUT_S = 120.0
GPU_EXTRA = "pip install 'ncu-assist[gpu]'"
WITHOUT_CUDA = "+cpu"  # how PyTorch marks wheels that no GPU is used by


def examine() -> Examination:
    """Look at driver, GPU, clocks, ncu, counter permission, nvcc, torch, triton, ninja and sandbox, in that order."""
    driver = _look("driver", _driver)
    has_driver = driver.state == "ok"
    conditions = (
        driver,
        _look("GPU", _gpu if has_driver else _without_driver),
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


def _gpu() -> Condition:
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
