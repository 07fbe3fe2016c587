"""How much a program in the sandbox may take of what it shares with everybody else."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from ncu_assist.errors import StageFailed

GIB = 1 << 30
PROCESSES_PER_CORE = 16  # torch's two thread pools, nvcc's and ninja's children each grow with the number of cores
PROCESSES = 512  # CUDA, ncu and the interpreter on any machine


def _processes() -> int:
    return PROCESSES + PROCESSES_PER_CORE * (os.cpu_count() or 1)


class Overflow(StageFailed):
    """A program in the sandbox wrote more than it may, and was ended for that."""


@dataclass(frozen=True)
class Limits:
    """What one program may use, all its children together unless said otherwise.

    ``processes`` counts threads too. ``file_bytes`` and ``open_files`` are for each file and process.
    ``folder_bytes`` and ``folder_files`` are for all writable folders together, beyond what was there; they are
    watched from outside a few times a second, the others are kept by the kernel. ``free_bytes`` stay free on the disk
    of those folders, which also holds for deleted files that are still open. ``tmp_bytes`` and ``shm_bytes`` are
    memory.
    """

    seconds: float = 600.0
    processes: int = field(default_factory=_processes)
    file_bytes: int = 1 * GIB  # a full report of some hundred launches has tens of MiB
    folder_bytes: int = 4 * GIB
    folder_files: int = 50_000
    free_bytes: int = 1 * GIB
    tmp_bytes: int = 1 * GIB
    shm_bytes: int = 1 * GIB
    open_files: int = 4096
