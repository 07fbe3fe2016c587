"""Looks at all that lies below folders which untrusted programs could write to, and removes it."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import secrets
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
        raise Overflow(f"the program nested folders deeper than {MOST_DEPTH} and was ended")
    return found
