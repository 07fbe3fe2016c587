"""Which NUMA node a page, a processor or a device of this machine belongs to, as Linux tells; nothing elsewhere."""

from __future__ import annotations

import ctypes
import mmap
import platform
import re
from pathlib import Path

NODES = Path("/sys/devices/system/node")
CPUS = Path("/sys/devices/system/cpu")
PCI = Path("/sys/bus/pci/devices")
MOVE_PAGES = {"x86_64": 279, "aarch64": 239}  # system call numbers (asm/unistd_64.h; asm-generic/unistd.h)
PAGES_ASKED = 256  # spread over the memory: nodes differ by long runs of pages


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
