"""Watches from outside how much a program in the sandbox writes, and ends it when that is too much."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from ncu_assist.executors.sandbox.limits import Limits, Overflow
from ncu_assist.executors.sandbox.tree import everything

INTERVAL_S = 0.2
REST = 10  # times as long as looking took is waited before the next look, so that watching costs at most a tenth
BLOCK_BYTES = 512  # what st_blocks counts, stat(2)


class GrowthWatch:
    """Answers ``is_stuck`` like the question it is given, and raises Overflow when folders have grown too much."""

    def __init__(self, folders: tuple[Path, ...], limits: Limits, is_stuck: Callable[[], bool] | None) -> None:
        self._folders, self._limits, self._is_stuck = folders, limits, is_stuck
        self._bytes, self._files = _usage(folders)
        self._floors = {folder: min(limits.free_bytes, _free(folder) // 2) for folder in folders}
        self._next = time.monotonic() + INTERVAL_S

    def is_stuck(self) -> bool:
        """Return what the wrapped question says; raise Overflow when a limit is passed."""
        started = time.monotonic()
        if started >= self._next:
            self.check()
            now = time.monotonic()
            self._next = now + max(INTERVAL_S, REST * (now - started))
        return self._is_stuck is not None and self._is_stuck()

    def check(self) -> None:
        """Raise Overflow if more was written than the limits allow."""
        size, files = _usage(self._folders)
        if size - self._bytes > self._limits.folder_bytes:
            raise Overflow(f"the program wrote more than {_in_words(self._limits.folder_bytes)} and was ended")
        if files - self._files > self._limits.folder_files:
            raise Overflow(f"the program left more than {self._limits.folder_files} files and was ended")
        for folder, floor in self._floors.items():
            if _free(folder) < floor:
                raise Overflow(f"the program was ended: the disk of {folder} has less than {_in_words(floor)} free")


def _usage(folders: tuple[Path, ...]) -> tuple[int, int]:
    """Return bytes on disk and number of entries below some folders, without following links."""
    size = files = 0
    for entry in everything(folders):
        files += 1
        with contextlib.suppress(FileNotFoundError):  # gone by now
            size += entry.stat(follow_symlinks=False).st_blocks * BLOCK_BYTES
    return size, files


def _free(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def _in_words(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB" if size >= 1 << 30 else f"{size / (1 << 20):.0f} MiB"
