"""The GPUs of this machine and the one that is used; what ``doctor`` found out, and what a report of a bug says."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ncu_assist.errors import EnvironmentProblem
from ncu_assist.record import gpu_name

VISIBLE = "CUDA_VISIBLE_DEVICES"
# NVML counts GPUs by their PCI address, and CUDA the fastest first unless it is told: children count as we do.
COUNTED_AS_NVML = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
NO_DRIVER = "use a machine on which nvidia-smi works"


@dataclass(frozen=True)
class Gpu:
    """One GPU as NVML sees it: clocks in MHz, memory in bytes. What the driver does not tell of it is None or empty.

    ``capability`` is its compute capability without the dot, such as 90. ``instances`` are the UUIDs of those that it
    is cut into (MIG); where one of them is used, ``uuid`` is that of the instance. ``is_mig``: MIG is on, also if no
    instance was made.
    """

    index: int
    name: str
    uuid: str
    memory_bytes: int | None = None
    sm_clock_mhz: int | None = None
    max_sm_clock_mhz: int | None = None
    temperature_c: int | None = None
    capability: str = ""
    instances: tuple[str, ...] = ()
    is_mig: bool = False


def query_gpus() -> tuple[str, tuple[Gpu, ...]]:
    """Return the driver's version and its GPUs, in NVML's order; without those that are lost or not permitted.

    Raises EnvironmentProblem where there is no driver, or no GPU that answers.
    """
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise EnvironmentProblem(f"there is no working NVIDIA driver: {error}", NO_DRIVER) from error
    found, silent = list[Gpu](), list[str]()
    try:
        driver = str(pynvml.nvmlSystemGetDriverVersion())
        for index in range(pynvml.nvmlDeviceGetCount()):
            try:
                found.append(_gpu(index))
            except pynvml.NVMLError as error:
                silent.append(f"GPU {index}: {error}")
    except pynvml.NVMLError as error:
        raise EnvironmentProblem(f"the NVIDIA driver does not answer: {error}", "nvidia-smi") from error
    finally:
        pynvml.nvmlShutdown()
    if not found:
        why = f" that answers: {'; '.join(silent)}" if silent else ""
        raise EnvironmentProblem(f"the NVIDIA driver has no GPU{why}", "nvidia-smi -L")
    return driver, tuple(found)


def _gpu(index: int) -> Gpu:
    """A vGPU, an instance and a Jetson do not answer every question."""
    import pynvml

    handle = pynvml.nvmlDeviceGetHandleByIndex(index)

    def ask(question: Callable[..., Any], *more: int) -> Any:
        try:
            return question(handle, *more)
        except pynvml.NVMLError:
            return None

    memory = ask(pynvml.nvmlDeviceGetMemoryInfo)
    is_mig = bool((ask(pynvml.nvmlDeviceGetMigMode) or [0])[0])
    return Gpu(
        index=index,
        name=gpu_name(str(pynvml.nvmlDeviceGetName(handle))),
        uuid=str(pynvml.nvmlDeviceGetUUID(handle)),
        memory_bytes=None if memory is None else int(memory.total),
        sm_clock_mhz=ask(pynvml.nvmlDeviceGetClockInfo, pynvml.NVML_CLOCK_SM),
        max_sm_clock_mhz=ask(pynvml.nvmlDeviceGetMaxClockInfo, pynvml.NVML_CLOCK_SM),
        temperature_c=ask(pynvml.nvmlDeviceGetTemperature, pynvml.NVML_TEMPERATURE_GPU),
        capability="".join(map(str, ask(pynvml.nvmlDeviceGetCudaComputeCapability) or ())),
        instances=tuple(_instances(handle)) if is_mig else (),
        is_mig=is_mig,
    )


def _instances(handle: Any) -> Iterator[str]:
    import pynvml

    for number in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            yield str(pynvml.nvmlDeviceGetUUID(pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, number)))
        except pynvml.NVMLError:  # none of this number was made
            continue


def called(gpus: Sequence[Gpu], word: str) -> Gpu | None:
    """Return the GPU that one word of CUDA_VISIBLE_DEVICES means, with the UUID that is used of it; None for none.

    A word is an index as NVML counts, the UUID of a GPU or of an instance, or a beginning of a UUID that is its alone.
    Of a GPU that is cut into instances CUDA uses the first, unless one is named.
    """
    if word.isascii() and word.isdigit():
        found = {gpu.uuid: gpu for gpu in gpus if gpu.index == int(word)}
    elif word.startswith(("GPU-", "MIG-")):
        uuids = {uuid: gpu for gpu in gpus for uuid in (gpu.uuid, *gpu.instances)}
        found = {word: uuids[word]} if word in uuids else {u: gpu for u, gpu in uuids.items() if u.startswith(word)}
    else:
        return None
    if len(found) != 1:
        return None
    ((uuid, gpu),) = found.items()
    return replace(gpu, uuid=gpu.instances[0] if gpu.instances and uuid not in gpu.instances else uuid)


def visible_gpus(gpus: Sequence[Gpu], visible: str | None) -> list[Gpu]:
    """Return the GPUs that a value of CUDA_VISIBLE_DEVICES leaves, in its order; all where it is not set.

    Like CUDA, it takes none from the first word on that names none.
    """
    words = [str(gpu.index) for gpu in gpus] if visible is None else [word.strip() for word in visible.split(",")]
    found: list[Gpu] = []
    for word in words:
        gpu = called(gpus, word)
        if gpu is None:
            break
        found.append(gpu)
    return found


def chosen_gpu(gpus: Sequence[Gpu], visible: str | None) -> Gpu:
    """Return the GPU that a program uses: the first that CUDA_VISIBLE_DEVICES leaves. Raises EnvironmentProblem."""
    found = visible_gpus(gpus, visible)
    if not found:
        raise EnvironmentProblem(f"{VISIBLE}={visible!r} names no GPU of this machine", f"unset {VISIBLE}")
    return found[0]


def gpu_here() -> Gpu:
    """Return the GPU that a program started here would use. Raises EnvironmentProblem where there is none."""
    return chosen_gpu(query_gpus()[1], os.environ.get(VISIBLE))


@dataclass(frozen=True)
class Condition:
    """One thing looked at. Without a ``needed`` one measuring is impossible; ``fix`` is one command or step to try."""

    name: str
    state: Literal["ok", "missing"]
    detail: str
    fix: str = ""
    needed: bool = True


@dataclass(frozen=True)
class Examination:
    """All conditions, in the order they were looked at."""

    conditions: tuple[Condition, ...]

    @property
    def can_measure(self) -> bool:
        """Whether everything that measuring needs is there."""
        return all(c.state == "ok" for c in self.conditions if c.needed)

    @property
    def is_complete(self) -> bool:
        """Whether nothing at all is missing."""
        return all(c.state == "ok" for c in self.conditions)


@dataclass(frozen=True)
class LastError:
    """The last command of this user that failed; ``traceback`` is empty for what a user can act on."""

    when: str
    version: str
    command: str
    exit_code: int
    message: str
    hint: str
    traceback: str = ""


@dataclass(frozen=True)
class BugReport:
    """What a maintainer asks for first, without names of people and machines; packages by name, those that are here."""

    version: str
    python: str
    platform: str
    packages: dict[str, str]
    examination: Examination
    last_error: LastError | None
