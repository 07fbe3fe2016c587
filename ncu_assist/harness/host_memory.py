"""Inputs in pinned memory of the host: allocated so, and on which NUMA node their pages came to lie. In the child.

Linux tells the nodes; elsewhere nothing does.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from ncu_assist.record import HostMemory

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
            self._noted,
            gpu_node=gpu.gpu_node,
            pcie_generation=gpu.pcie_generation,
            pcie_lanes=gpu.pcie_lanes,
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
