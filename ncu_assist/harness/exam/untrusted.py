"""Taking what a sandbox left: files of a bounded size, read without being led anywhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ncu_assist.errors import DamagedData
from ncu_assist.executors.sandbox import read_result


def read_exactly(folder: Path, name: str, size: int) -> bytearray:
    """Return the bytes of a regular file in ``folder``; raises DamagedData unless it has exactly ``size`` of them."""
    data = read_result(folder, name, size)
    if len(data) != size:
        raise DamagedData(f"{name}, a result of a program in the sandbox, has {len(data)} bytes, not {size}")
    return bytearray(data)


def take(folder: Path, limits: Mapping[str, int], into: Path) -> tuple[str, ...]:
    """Copy those of the files that are there, regular and of no more bytes than allowed, by name.

    Returns what is wrong with others, in words.
    """
    into.mkdir(parents=True, exist_ok=True)
    faults = []
    for name, limit in limits.items():
        if not os.path.lexists(folder / name):
            continue
        try:
            (into / name).write_bytes(read_result(folder, name, limit))
        except DamagedData as error:
            faults.append(error.message)
    return tuple(faults)
