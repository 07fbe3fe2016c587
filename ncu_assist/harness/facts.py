"""The GPU and the tools of a measurement, as the child sees them through torch and NVML. Runs in the child."""

from __future__ import annotations

import ctypes
import hashlib
import mmap
import platform
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from ncu_assist.record import Device, HostMemory, Toolchain

NODES = Path("/sys/devices/system/node")
CPUS = Path("/sys/devices/system/cpu")
PCI = Path("/sys/bus/pci/devices")
MOVE_PAGES = {"x86_64": 279, "aarch64": 239}  # system call numbers (asm/unistd_64.h; asm-generic/unistd.h)
PAGES_ASKED = 256  # spread over the memory: nodes differ by long runs of pages
Empty = Callable[[Any], Any]


def nodes_of_pages(address: int, size: int) -> tuple[int, ...]:
    """Return the nodes that hold the pages of a piece of memory; empty where the system does not tell.

    Linux does not tell of memory that a driver maps, which cudaHostAlloc's may be; with one node it is that one.
    """
    only = _only_node()
    if only is not None:
        return (only,)
    call = MOVE_PAGES.get(platform.machine())
    if call is None or size <= 0:
        return ()
    step = max(mmap.PAGESIZE, size // PAGES_ASKED // mmap.PAGESIZE * mmap.PAGESIZE)
    first = address // mmap.PAGESIZE * mmap.PAGESIZE
    places = range(first, address + size, step)
    pages, status = (ctypes.c_void_p * len(places))(*places), (ctypes.c_int * len(places))(*[-1] * len(places))
    count, none = ctypes.c_ulong(len(places)), ctypes.c_void_p(None)
    # Without target nodes nothing is moved: the call only says where each page is (move_pages(2)).
    failed = _libc().syscall(ctypes.c_long(call), ctypes.c_long(0), count, pages, none, status, ctypes.c_long(0))
    return () if failed else tuple(sorted({node for node in status if node >= 0}))


def node_of_cpu() -> int | None:
    """Return the node of the processor that this thread runs on."""
    try:
        cpu = _libc().sched_getcpu()
    except AttributeError:
        return None
    found = [int(match[1]) for path in CPUS.glob(f"cpu{cpu}/node*") if (match := re.fullmatch(r"node(\d+)", path.name))]
    return found[0] if found else _only_node()


def node_of_device(address: str | None) -> int | None:
    """Return the node of a PCI device such as '0000:17:00.0', None where the firmware does not say."""
    try:
        node = int((PCI / address / "numa_node").read_text()) if address else -1
    except (OSError, ValueError):
        return None
    return node if node >= 0 else None


def _only_node() -> int | None:
    """Return the node of a machine that has one, None where there are several or nobody knows."""
    found = [int(match[1]) for path in NODES.glob("node*") if (match := re.fullmatch(r"node(\d+)", path.name))]
    return found[0] if len(found) == 1 else None


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def pinned_empty(like: Any) -> Any:
    """Return an uninitialized page-locked tensor of the shape and dtype of ``like``.

    torch takes it from cudaHostAlloc. Under unified addressing, which every 64-bit program has, the GPU uses it by the
    address that the host has for it (CUDA C++ Programming Guide, "Unified Virtual Address Space").
    """
    return torch.empty(like.shape, dtype=like.dtype, pin_memory=True)


class Placement:
    """Puts inputs into memory of the host and notes where that lies. On a CPU it is memory like any other."""

    def __init__(self, empty: Empty = pinned_empty) -> None:
        self._empty = empty
        self._noted: HostMemory | None = None

    def place(self, name: str, tensor: Any, device: str) -> Any:
        """Return a contiguous tensor of the host with these elements: page-locked if there is a GPU to read it."""
        if device != "cuda":
            placed = tensor.cpu().contiguous()
        elif tensor.is_pinned() and tensor.is_contiguous():
            placed = tensor
        else:
            placed = self._empty(tensor)
            placed.copy_(tensor)
        self._note(name, placed, device == "cuda")
        return placed

    def noted(self, gpu: HostMemory) -> HostMemory | None:
        """Return what is known of the memory and of its way to the GPU, None if nothing was placed."""
        if self._noted is None:
            return None
        return replace(
            self._noted, gpu_node=gpu.gpu_node, pcie_generation=gpu.pcie_generation, pcie_lanes=gpu.pcie_lanes
        )

    def _note(self, name: str, tensor: Any, is_pinned: bool) -> None:
        old = self._noted or HostMemory((), True)
        nodes = nodes_of_pages(tensor.data_ptr(), tensor.numel() * tensor.element_size())
        self._noted = HostMemory(
            inputs=_union(old.inputs, (name,)),
            pinned=old.pinned and is_pinned,
            nodes=tuple(sorted(_union(old.nodes, nodes))),
            cpu_node=node_of_cpu(),
        )


def _union(old: tuple[Any, ...], new: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys((*old, *new)))


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
