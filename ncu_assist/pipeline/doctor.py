"""What this machine has and lacks for measuring, each lack with one fix."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from ncu_assist import process
from ncu_assist.backends.nvcc import CUOBJDUMP_HINT, find_cuobjdump, find_ninja, find_nvcc
from ncu_assist.environment import NO_DRIVER, VISIBLE, Condition, Examination, chosen_gpu, gpu_here, query_gpus
from ncu_assist.errors import EnvironmentProblem, NcuAssistError
from ncu_assist.executors.sandbox.plan import choose_runner
from ncu_assist.ncu.command import ProfileOptions, child_environment, find_ncu, numbers_of, profile_argv, version_of
from ncu_assist.ncu.failures import profiling_error
from ncu_assist.quantity import quantity

PROBE = "import torch; torch.ones(8, device='cuda').add_(1); torch.cuda.synchronize()"
PROBE_TIMEOUT_S = 120.0
GPU_EXTRA = "pip install 'ncu-assist[gpu]'"
TORCH_AGAIN = "pip install --force-reinstall torch"  # without --force-reinstall pip is content with what is there
READER = "ncu-report"  # NVIDIA's reader of reports
LEAST_FREE_BYTES = 2 << 30  # a report of many launches takes 100 MB, its reading as much again, a build some hundreds
# Programs that collect counters of every process: while one does, ncu gets none (Nsight Compute, FAQ).
OTHER_PROFILERS = {
    "nv-hostengine": "dcgmi profile --pause, and --resume afterwards",
    "dcgm-exporter": "dcgmi profile --pause, and --resume afterwards",
    "nsys": "wait for it to end",
    "ncu": "wait for it to end",
    "nv-nsight-cu-cli": "wait for it to end",
}
PROC = Path("/proc")
COMM_LETTERS = 15  # of a program's name in /proc/PID/comm (TASK_COMM_LEN, proc(5))
WSL = re.compile(r"microsoft", re.IGNORECASE)  # in the name of its kernel
WITHOUT_CUDA = "+cpu"  # how PyTorch marks wheels that no GPU is used by


def examine(more: Mapping[str, Callable[[], Condition]] = MappingProxyType({})) -> Examination:
    """Look at everything that measuring takes, what it needs first; ``more`` is looked at last, by name."""
    driver = _look("driver", lambda: Condition("driver", "ok", query_gpus()[0]))
    has_driver = driver.state == "ok"
    conditions = (
        driver,
        _look("GPU", _gpu_condition if has_driver else _without_driver),
        _look("clocks", _clocks if has_driver else _without_driver, needed=False),
        _look("ncu", _ncu),
        _look("ncu-report", _reader, needed=False),
        _look("counters", _counters if has_driver else _without_driver),
        _look("profilers", _profilers, needed=False),
        *((_look("MIG", _mig, needed=False),) if has_driver else ()),
        *((_wsl(),) if WSL.search(platform.release()) else ()),
        _look("nvcc", _nvcc),
        _look("cuobjdump", _cuobjdump, needed=False),
        _look("torch", _torch),
        _package("triton", GPU_EXTRA, needed=False),
        _look("ninja", _ninja),
        *((_look("disk", _disk),) if hasattr(os, "statvfs") else ()),  # elsewhere nothing is measured
        _look("sandbox", _sandbox, needed=False),
        *(_look(name, look, needed=False) for name, look in more.items()),
    )
    return Examination(conditions)


def _look(name: str, look: Callable[[], Condition], needed: bool = True) -> Condition:
    try:
        return look()
    except NcuAssistError as error:
        return Condition(name, "missing", error.message, error.hint, needed)


def _without_driver() -> Condition:
    raise EnvironmentProblem("not checked: there is no driver", NO_DRIVER)


def _gpu_condition() -> Condition:
    _, gpus = query_gpus()
    used = chosen_gpu(gpus, os.environ.get(VISIBLE))
    memory = "" if used.memory_bytes is None else f", {used.memory_bytes / 2**30:.0f} GiB"
    others = f", {len(gpus) - 1} more in this machine" if len(gpus) > 1 else ""
    return Condition("GPU", "ok", f"{used.name}{memory}{others}")


def _clocks() -> Condition:
    gpu = gpu_here()
    most = "" if gpu.max_sm_clock_mhz is None else f" of {gpu.max_sm_clock_mhz}"
    known = [] if gpu.sm_clock_mhz is None else [f"SM {gpu.sm_clock_mhz}{most} MHz"]
    known += [] if gpu.temperature_c is None else [f"{gpu.temperature_c} °C"]
    if not known:
        return Condition("clocks", "ok", "the driver does not tell them", needed=False)
    return Condition("clocks", "ok", f"{', '.join(known)}; idle clocks are lower", needed=False)


def _ncu() -> Condition:
    ncu = find_ncu()
    return Condition("ncu", "ok", f"{version_of(ncu)} at {ncu}")


def _reader() -> Condition:
    """A reader that is older than ncu may not know what its reports hold."""
    version = _version_of_package(READER)
    if version is None:
        raise EnvironmentProblem("not installed", f"pip install {READER}")
    try:
        ncu = version_of(find_ncu())
    except EnvironmentProblem:
        return Condition(READER, "ok", version, needed=False)
    if numbers_of(version)[:2] < numbers_of(ncu)[:2]:
        raise EnvironmentProblem(f"{version} is older than ncu {ncu}", f"pip install --upgrade {READER}")
    return Condition(READER, "ok", version, needed=False)


def _profilers() -> Condition:
    """Another profiler that runs may hold the counters; of other users' programs the names alone can be seen."""
    shown = {name[:COMM_LETTERS]: name for name in OTHER_PROFILERS}
    running = {shown[comm]: pid for pid, comm in _programs() if comm in shown}
    if not running:
        return Condition("profilers", "ok", "no other profiler is running", needed=False)
    name, pid = next(iter(running.items()))
    raise EnvironmentProblem(f"{name} is running (pid {pid}) and may hold the counters", OTHER_PROFILERS[name])


def _programs() -> Iterator[tuple[int, str]]:
    """Yield pid and name of each program that runs; of what is in a container only what that shows."""
    for entry in PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            yield int(entry.name), (entry / "comm").read_text(errors="replace").strip()


def _mig() -> Condition:
    """On a GPU that is cut into instances, ncu counts within one, and lacks what all of them share."""
    used = gpu_here()
    if not used.is_mig:
        return Condition("MIG", "ok", "off", needed=False)
    if not used.instances:
        fix = "nvidia-smi mig -cgi 0 -C for an instance of the whole GPU, or nvidia-smi -mig 0"
        raise EnvironmentProblem("on, but no instance was made: CUDA sees no device", fix)
    said = "an instance has a part of the SMs and of L2, metrics of units that all share are missing"
    if os.environ.get(VISIBLE, "").startswith("MIG-"):
        return Condition("MIG", "ok", f"{used.uuid} is used: {said}", needed=False)
    raise EnvironmentProblem(f"on: {said}", f"export {VISIBLE}=MIG-… from nvidia-smi -L, or nvidia-smi -mig 0")


def _wsl() -> Condition:
    fix = "on Windows: NVIDIA Control Panel, Developer, Manage GPU Performance Counters, allow all users"
    return Condition("WSL", "ok", f"this is WSL: Windows gives the permission for counters; {fix}", needed=False)


def _disk() -> Condition:
    """Reports, builds and temporary files need room, and folders that may be written to."""
    said = []
    for what, folder, fix in (("here", Path.cwd(), "cd to another folder"), ("TMPDIR", *_temporary())):
        if not os.access(folder, os.W_OK | os.X_OK):
            raise EnvironmentProblem(f"{folder} cannot be written to", fix)
        free = shutil.disk_usage(folder).free
        if free < LEAST_FREE_BYTES:
            raise EnvironmentProblem(f"only {quantity(free, 'byte')} free in {folder}", f"df -h {folder}")
        said.append(f"{quantity(free, 'byte')} free {'here' if what == 'here' else f'in {folder}'}")
    return Condition("disk", "ok", ", ".join(said))


def _temporary() -> tuple[Path, str]:
    """Return the folder for temporary files. Raises EnvironmentProblem where TMPDIR names none."""
    named = os.environ.get("TMPDIR")
    if named and not Path(named).is_dir():
        raise EnvironmentProblem(f"TMPDIR={named} is not a folder", f"mkdir -p {named}, or unset TMPDIR")
    return Path(tempfile.gettempdir()), "export TMPDIR=… to a folder of your own"


def _counters() -> Condition:
    """Profile one kernel with few metrics: the only proof that counters may be read."""
    query_gpus()
    ncu = find_ncu()
    if _version_of_package("torch") is None:
        raise EnvironmentProblem("not tried: the probe needs torch", GPU_EXTRA)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ncu.log"
        options = ProfileOptions(section_set="basic", nvtx_include=None, max_launches=1)
        command = process.python_argv("-c", PROBE)
        argv = profile_argv(ncu, options, Path(folder) / "probe.ncu-rep", log, command)
        done = process.run(argv, env=child_environment(os.environ, Path(folder), None), timeout_s=PROBE_TIMEOUT_S)
        text = (log.read_text(errors="replace") if log.is_file() else "") + done.stdout + done.stderr
        if done.exit_code != 0 or "==PROF== Profiling" not in text:
            raise profiling_error(text, done.exit_code)
    return Condition("counters", "ok", "readable: one kernel was profiled")


def _nvcc() -> Condition:
    nvcc = find_nvcc()
    return Condition("nvcc", "ok", f"{nvcc.version} at {nvcc.path}")


def _cuobjdump() -> Condition:
    """Prints the code of a build, of which `suggest build` counts instructions and loops."""
    path = find_cuobjdump(find_nvcc())
    if path is None:
        raise EnvironmentProblem("not installed, so the instructions of a build are not counted", CUOBJDUMP_HINT)
    return Condition("cuobjdump", "ok", f"at {path}", needed=False)


def _torch() -> Condition:
    version = _version_of_package("torch") or ""
    if version.endswith(WITHOUT_CUDA):
        raise EnvironmentProblem(f"{version} is built without CUDA", TORCH_AGAIN)
    found = _package("torch", GPU_EXTRA)
    return found if found.state == "ok" else replace(found, detail=f"{found.detail}: kernels need it, programs do not")


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
