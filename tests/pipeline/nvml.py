"""A made-up NVML with two GPUs, or one that fails as the real one does."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

NAMES = ("NVIDIA H200", "NVIDIA L4")
UUIDS = ("GPU-aaaa1111-0000", "GPU-bbbb2222-0000")
CAPABILITIES = ((9, 0), (8, 9))
INSTANCES = ("MIG-cccc3333-0000", "MIG-dddd4444-0000")


class NVMLError(Exception):
    """As pynvml names it."""


def pretend(
    patch: pytest.MonkeyPatch,
    gpus: int = 2,
    init: str = "",
    query: str = "",
    mig: bool = False,
    instances: tuple[str, ...] = INSTANCES,
    unsupported: tuple[str, ...] = (),
    lost: tuple[int, ...] = (),
) -> None:
    """Put an NVML with ``gpus`` GPUs in place; ``init`` and ``query`` are what it fails with.

    With ``mig`` the first GPU is cut into ``instances``. ``unsupported`` are questions that it does not answer,
    ``lost`` the GPUs that have fallen off the bus.
    """

    def start() -> None:
        if init:
            raise NVMLError(init)

    def count() -> int:
        if query:
            raise NVMLError(query)
        return gpus

    def refuse(*_: object) -> None:
        raise NVMLError("Not Supported")

    def handle(index: int) -> int:
        if index in lost:
            raise NVMLError("GPU is lost")
        return index

    def instance(index: int, number: int) -> str:
        if number >= len(instances):
            raise NVMLError("Not Found")
        return instances[number]

    module = ModuleType("pynvml")
    module.__dict__.update(
        NVMLError=NVMLError,
        NVML_CLOCK_SM=1,
        NVML_TEMPERATURE_GPU=0,
        nvmlInit=start,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=count,
        nvmlSystemGetDriverVersion=lambda: "580.95",
        nvmlDeviceGetHandleByIndex=handle,
        nvmlDeviceGetName=lambda index: NAMES[index],
        nvmlDeviceGetUUID=lambda handle: UUIDS[handle] if isinstance(handle, int) else handle,
        nvmlDeviceGetCudaComputeCapability=lambda index: CAPABILITIES[index],
        nvmlDeviceGetMemoryInfo=lambda index: SimpleNamespace(total=(141 - index) * 2**30),
        nvmlDeviceGetClockInfo=lambda index, kind: 345,
        nvmlDeviceGetMaxClockInfo=lambda index, kind: 1980,
        nvmlDeviceGetTemperature=lambda index, kind: 33,
        nvmlDeviceGetMigMode=lambda index: [int(mig and index == 0)] * 2,
        nvmlDeviceGetMaxMigDeviceCount=lambda index: 7,
        nvmlDeviceGetMigDeviceHandleByIndex=instance,
        nvmlDeviceGetHandleByUUID=lambda uuid: uuid,
        nvmlDeviceGetCpuAffinity=refuse,
    )
    module.__dict__.update(dict.fromkeys(unsupported, refuse))
    patch.setitem(sys.modules, "pynvml", module)
