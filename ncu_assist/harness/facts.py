"""The GPU and the tools of a measurement, as the child sees them. Runs in the child."""

from __future__ import annotations

import hashlib
import platform
import sys

import torch

from ncu_assist.harness.numa import node_of_device
from ncu_assist.harness.nvml import Nvml
from ncu_assist.record import Device, HostMemory, Toolchain


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
