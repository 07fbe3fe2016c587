"""Writing a file so that it is there as a whole or not at all, and what a user names in place of a file."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

TEMPORARY_PREFIX = ".writing-"  # what is not finished yet; the leading dot keeps it out of every listing


@contextlib.contextmanager
def atomic_write(path: Path, *, sync: bool = False, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """Open a file that replaces ``path`` when the block ends; nothing is left where the block or the disk fails.

    With ``sync`` it is flushed to disk before. Raises OSError.
    """
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{secrets.token_hex(6)}")
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
            if sync:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def is_stream(path: Path) -> bool:
    """Return whether a path is a FIFO, a device, or the stdout or stderr of this process: nothing may replace it."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or _own_stream(path) is not None


def _own_stream(path: Path) -> int | None:
    """Return the file descriptor of stdout or stderr if a path, such as /dev/stdout, is the same file."""
    for number in (1, 2):
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(number), path.stat()):
                return number
    return None


@contextlib.contextmanager
def open_output(path: Path, *, sync: bool = False) -> Iterator[IO[bytes]]:
    """Open the output that a user names: a stream as it is, a file as ``atomic_write`` does. Raises OSError."""
    if not is_stream(path):
        with atomic_write(path, sync=sync) as file:
            yield file
        return
    own = _own_stream(path)  # opened again, a redirected stdout would begin at its first byte
    with path.open("wb") if own is None else os.fdopen(os.dup(own), "wb") as file:
        yield file
