"""Reads what a program in the sandbox left, without being led anywhere else or made to wait."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from ncu_assist.errors import DamagedData


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
