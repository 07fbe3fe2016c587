"""Writing a file so that it is there as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
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
