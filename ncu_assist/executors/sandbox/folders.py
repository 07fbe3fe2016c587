"""The folders that untrusted programs can write to: lent to them, watched, swept, read and removed."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from ncu_assist.errors import DamagedData, EnvironmentProblem
from ncu_assist.executors.sandbox.plan import LimitExceeded, SandboxLimits

MOST_DEPTH = 64  # folders in folders; what is deeper is there to break whoever walks through it


def everything(folders: tuple[Path, ...]) -> Iterator[os.DirEntry[str]]:
    """Yield each entry below some folders, without following links; what changes meanwhile is passed over.

    Raises LimitExceeded where folders are nested too deep to be looked at.
    """
    waiting = [(str(folder), 0) for folder in folders]
    while waiting:
        folder, depth = waiting.pop()
        for entry in _entries(folder, depth):
            yield entry
            if entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, depth + 1))


def sweep(folders: tuple[Path, ...], spared: tuple[Path, ...]) -> None:
    """Remove all that is neither a folder nor a regular file: a link or a pipe leaves no sandbox.

    Whoever reads results afterwards cannot be led away or made to wait. Folders of ``spared`` that lie in these stay as
    they are: they were not writable.
    """
    inner = [path for path in spared if any(path != folder and path.is_relative_to(folder) for folder in folders)]
    for entry in everything(folders):
        mode = entry.stat(follow_symlinks=False).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode) and not any(map(Path(entry.path).is_relative_to, inner)):
            Path(entry.path).unlink()


def remove(folder: Path) -> None:
    """Remove a folder and all below it, however deep it is nested; what the disk refuses stays.

    What lies in a folder is moved up beside it, so that no path grows and nothing recurses. For when nothing runs there
    any more.
    """
    with contextlib.suppress(OSError):
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            _empty(top)
        finally:
            os.close(top)
        folder.rmdir()


def _empty(top: int) -> None:
    names = (f"{secrets.token_hex(8)}-{number}" for number in itertools.count())
    while found := _names(top):
        for name in found:
            if not stat.S_ISDIR(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=top)
                continue
            os.chmod(name, stat.S_IRWXU, dir_fd=top)
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=top)
            try:
                for below in _names(inner):
                    os.rename(below, next(names), src_dir_fd=inner, dst_dir_fd=top)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=top)


def _names(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def _entries(folder: str, depth: int) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            return []
        found, depth = [], MOST_DEPTH + 1
    if depth > MOST_DEPTH:
        raise LimitExceeded(f"the program nested folders deeper than {MOST_DEPTH} and was ended")
    return found


OTHERS = 0o005  # read and enter, for those who are neither owner nor in the group


@contextlib.contextmanager
def lent(folders: tuple[Path, ...], uid: int | None) -> Iterator[None]:
    """Give folders and all in them to another user for the length of a with block; with None, leave them alone.

    Links are never followed. Taking back also strips set-user-ID bits, as Linux does with every change of owner: a
    program may not leave one behind that would run as us. Raises EnvironmentProblem if the owner cannot be changed.
    """
    if uid is None:
        yield
        return
    for folder in folders:
        _give(folder, uid, uid)
    try:
        yield
    finally:  # nothing runs in there any more, so that nobody can put a link in our way
        for folder in folders:
            _give(folder, os.geteuid(), os.getegid())


def check_readable(folders: tuple[Path, ...], uid: int | None) -> None:
    """Raise EnvironmentProblem for a folder that the sandbox's user could not look into."""
    for folder in folders:
        if uid is not None and folder.is_dir() and folder.stat().st_mode & OTHERS != OTHERS:
            words = f"{folder} is closed to other users, and root runs untrusted programs as another user"
            raise EnvironmentProblem(words, f"chmod -R o+rX {folder}")


def _give(folder: Path, uid: int, gid: int) -> None:
    try:
        os.chown(folder, uid, gid, follow_symlinks=False)
        for entry in everything((folder,)):
            os.chown(entry.path, uid, gid, follow_symlinks=False)
    except OSError as error:
        words = f"cannot change the owner of {error.filename or folder}: {error.strerror}"
        raise EnvironmentProblem(words, "run ncu-assist as the user who owns the project") from error


INTERVAL_S = 0.2
REST = 10  # times as long as looking took is waited before the next look, so that watching costs at most a tenth
BLOCK_BYTES = 512  # what st_blocks counts, stat(2)


MEMORY = Path("/proc/meminfo")


class GrowthWatch:
    """Answers ``is_stuck`` like the question it is given; raises LimitExceeded when too much disk or memory is taken.

    Memory is that of the machine. Where a container has less, the kernel ends the sandbox's programs first.
    """

    def __init__(self, folders: tuple[Path, ...], limits: SandboxLimits, is_stuck: Callable[[], bool] | None) -> None:
        self._folders, self._limits, self._is_stuck = folders, limits, is_stuck
        self._bytes, self._files = _usage(folders)
        self._floors = {folder: min(limits.free_bytes, _free(folder) // 2) for folder in folders}
        self._free_memory = min(limits.free_memory_bytes, _available_memory() // 2)
        self._next = time.monotonic() + INTERVAL_S

    def is_stuck(self) -> bool:
        """Return what the wrapped question says; raise LimitExceeded when a limit is passed."""
        started = time.monotonic()
        if started >= self._next:
            self.check()
            now = time.monotonic()
            self._next = now + max(INTERVAL_S, REST * (now - started))
        return self._is_stuck is not None and self._is_stuck()

    def check(self) -> None:
        """Raise LimitExceeded if more was taken than the limits allow."""
        if _available_memory() < self._free_memory:
            least = _in_words(self._free_memory)
            raise LimitExceeded(f"the program was ended: the machine has less than {least} of memory free")
        size, files = _usage(self._folders)
        if size - self._bytes > self._limits.folder_bytes:
            raise LimitExceeded(f"the program wrote more than {_in_words(self._limits.folder_bytes)} and was ended")
        if files - self._files > self._limits.folder_files:
            raise LimitExceeded(f"the program left more than {self._limits.folder_files} files and was ended")
        for folder, floor in self._floors.items():
            if _free(folder) < floor:
                raise LimitExceeded(
                    f"the program was ended: the disk of {folder} has less than {_in_words(floor)} free"
                )


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


def _available_memory() -> int:
    """Return the bytes that programs can take before the machine swaps, proc(5)."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", MEMORY.read_text(), re.MULTILINE)
    return int(found[1]) * 1024 if found else sys.maxsize


def _in_words(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB" if size >= 1 << 30 else f"{size / (1 << 20):.0f} MiB"


def read_result(folder: Path, name: str, limit_bytes: int) -> bytes:
    """Return the content of a file below a folder that untrusted programs could write to.

    ``name`` is relative, with / between its parts. ``folder`` is trusted, every step below it is not: links are not
    followed, and only a regular file is read. Raises DamagedData for anything else, for a file that is missing or
    larger than ``limit_bytes``; ValueError for a name that leads out of the folder.
    """
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or parts[0] == "/":
        raise ValueError(f"{name!r} is not a name below a folder")
    try:
        handle = _open(folder, parts)
    except OSError as error:
        raise DamagedData(f"{name}, a result of a program in the sandbox, cannot be read: {error.strerror}") from error
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise DamagedData(f"{name}, a result of a program in the sandbox, is not a regular file")
        if found.st_size > limit_bytes:
            raise DamagedData(f"{name}, a result of a program in the sandbox, has {found.st_size} bytes: too large")
        with os.fdopen(os.dup(handle), "rb") as file:
            return file.read(limit_bytes)
    finally:
        os.close(handle)


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading that an untrusted program may be writing; raises OSError for a link or no plain file."""
    handle = os.open(path, _step() | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return os.fdopen(handle, "rb")


def _step() -> int:
    """Return how each step is opened: flags that Windows, where no sandbox is, does not have."""
    return os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


def _open(folder: Path, parts: tuple[str, ...]) -> int:
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            below = os.open(part, _step() | os.O_DIRECTORY, dir_fd=here)
            os.close(here)
            here = below
        return os.open(parts[-1], _step() | os.O_NONBLOCK, dir_fd=here)
    finally:
        os.close(here)
