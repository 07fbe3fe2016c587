"""The GPU and the tools of a measurement, as the child sees them through torch and NVML. Runs in the child."""

from __future__ import annotations

import hashlib
import platform
import sys
from typing import Any

import torch

from ncu_assist.harness.host_memory import node_of_device
from ncu_assist.record import Device, HostMemory, Toolchain

# Bits of nvmlDeviceGetCurrentClocksEventReasons (nvml.h). Bit 0 (idle) is left out: between two samples a GPU is idle.
REASONS = {
    0x02: "application clock setting",
    0x04: "software power cap",
    0x08: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
    0x100: "display clock setting",
}


class Nvml:
    """One GPU by its UUID; every answer is None where NVML is missing or does not know."""

    def __init__(self, uuid: str | None) -> None:
        self._handle: Any = None
        try:
            import pynvml

            pynvml.nvmlInit()
            self._nvml: Any = pynvml
            self._handle = pynvml.nvmlDeviceGetHandleByUUID(uuid) if uuid else None
        except Exception:  # no package, no driver, a GPU that NVML does not list
            self._handle = None

    def temperature_c(self) -> float | None:
        """Return the GPU's temperature in degrees Celsius."""
        value = self._ask("nvmlDeviceGetTemperature", 0)
        return None if value is None else float(value)

    def throttle_reasons(self) -> tuple[str, ...] | None:
        """Return why the clocks are lower than they could be, in words; empty if they are not."""
        mask = self._ask("nvmlDeviceGetCurrentClocksEventReasons")
        if mask is None:
            mask = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons")
        return None if mask is None else reasons_in_words(int(mask))

    def power_w(self) -> float | None:
        """Return what the board draws, in watts: on GPUs since Ampere the mean of the last second."""
        return _watts(self._ask("nvmlDeviceGetPowerUsage"))

    def power_limit_w(self) -> float | None:
        """Return the watts that the board may draw: above them its clocks are lowered."""
        return _watts(self._ask("nvmlDeviceGetEnforcedPowerLimit"))

    def driver(self) -> str | None:
        """Return the version of the driver."""
        if self._handle is None:
            return None
        try:
            value = self._nvml.nvmlSystemGetDriverVersion()
        except self._nvml.NVMLError:
            return None
        return value.decode() if isinstance(value, bytes) else str(value)

    def pcie(self) -> tuple[int | None, int | None]:
        """Return generation and lanes of the link to the host as it is now: an idle GPU may have slowed it down."""
        generation, lanes = (
            self._ask("nvmlDeviceGetCurrPcieLinkGeneration"),
            self._ask("nvmlDeviceGetCurrPcieLinkWidth"),
        )
        return (None if generation is None else int(generation), None if lanes is None else int(lanes))

    def pci_address(self) -> str | None:
        """Return the GPU's address as Linux writes it, such as '0000:17:00.0'."""
        found = self._ask("nvmlDeviceGetPciInfo")
        if found is None:
            return None
        return f"{found.domain:04x}:{found.bus:02x}:{found.device:02x}.0"

    def _ask(self, function: str, *arguments: int) -> Any:
        if self._handle is None or not hasattr(self._nvml, function):
            return None
        try:
            return getattr(self._nvml, function)(self._handle, *arguments)
        except self._nvml.NVMLError:
            return None


def _watts(milliwatts: float | None) -> float | None:
    return None if milliwatts is None else milliwatts / 1000.0


def reasons_in_words(mask: int) -> tuple[str, ...]:
    """Return the words for the bits of a clocks event mask, idle left out."""
    return tuple(words for bit, words in REASONS.items() if mask & bit)


def gpu_uuid(device: str) -> str | None:
    """Return the UUID of the current GPU as NVML writes it, None on a CPU or where torch does not tell."""
    if device != "cuda":
        return None
    uuid = getattr(torch.cuda.get_device_properties(torch.cuda.current_device()), "uuid", None)
    if uuid is None:
        return None
    return str(uuid) if str(uuid).startswith("GPU-") else f"GPU-{uuid}"


def device_facts(device: str, nvml: Nvml) -> Device | None:
    """Return the current GPU, None on a CPU."""
    if device != "cuda":
        return None
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    return Device(
        name=properties.name,
        uuid_sha256=hashlib.sha256((gpu_uuid(device) or "").encode()).hexdigest(),
        compute_capability=f"{properties.major}.{properties.minor}",
        sm_count=properties.multi_processor_count,
        l2_bytes=getattr(properties, "L2_cache_size", None),
        memory_bytes=properties.total_memory,
        driver=nvml.driver(),
    )


def link_facts(nvml: Nvml) -> HostMemory:
    """Return what is known of the GPU's place in the host and of its link, without inputs yet."""
    generation, lanes = nvml.pcie()
    node = node_of_device(nvml.pci_address())
    return HostMemory((), False, gpu_node=node, pcie_generation=generation, pcie_lanes=lanes)


def toolchain(nvcc: str | None) -> Toolchain:
    """Return the versions of what took part; triton only if a version imported it."""
    triton = sys.modules.get("triton")
    return Toolchain(
        python=platform.python_version(),
        torch=str(torch.__version__),
        triton=getattr(triton, "__version__", None),
        nvcc=nvcc,
    )
