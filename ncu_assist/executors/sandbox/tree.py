"""Looks at all that lies below folders which untrusted programs could write to."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ncu_assist.executors.sandbox.limits import Overflow

MOST_DEPTH = 64  # folders in folders; what is deeper is there to break whoever walks through it


def everything(folders: tuple[Path, ...]) -> Iterator[os.DirEntry[str]]:
    """Yield each entry below some folders, without following links; what changes meanwhile is passed over.

    Raises Overflow where folders are nested too deep to be looked at.
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


def _entries(folder: str, depth: int) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            return []
        found, depth = [], MOST_DEPTH + 1
    if depth > MOST_DEPTH:
        raise Overflow(f"the program nested folders deeper than {MOST_DEPTH} and was ended")
    return found
