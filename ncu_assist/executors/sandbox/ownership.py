"""Lends job folders to the user that the sandbox runs programs as, and takes them back."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from ncu_assist.errors import EnvironmentProblem
from ncu_assist.executors.sandbox.tree import everything

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
