"""What the driver says about the GPUs of this machine, through NVML; no CUDA context is made."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.errors import EnvironmentProblem

NO_DRIVER = "run it where nvidia-smi answers"


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
