"""Writing a page so that it is there as a whole or not at all, and never over a file that is no page of ours."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from ncu_assist.errors import EnvironmentProblem, UsageProblem
from ncu_assist.store.writing import HINTS

GENERATOR = b'<meta name="generator" content="ncu-assist '  # of base.html.j2
HEAD = 4_000  # bytes in which it stands


def check_place(path: Path, force: bool) -> None:
    """Raise UsageProblem where no page may be written: into no folder, over a folder, over what is no page of ours."""
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else "would lie in a folder that does not exist"
        raise UsageProblem(f"{path} {what}", "name another file with --output")
    if not force and (path.exists() or path.is_symlink()) and not is_our_page(path):
        raise UsageProblem(f"{path} exists already and is no page of ncu-assist", "--force to replace it, or --output")


def is_our_page(path: Path) -> bool:
    """Tell whether a file is a page that this tool wrote; a link is none."""
    try:
        with path.open("rb") as file:
            return not path.is_symlink() and GENERATOR in file.read(HEAD)
    except OSError:
        return False


def made_of(path: Path, reference: str) -> bool:
    """Tell whether a page of ours names a run, as its foot does with every run that it is made of."""
    return is_our_page(path) and reference.encode("utf-8", "replace") in path.read_bytes()


def write_page(path: Path, text: str, force: bool = False) -> None:
    """Write a page, flushed to disk before it gets its name.

    Raises UsageProblem as ``check_place`` does, EnvironmentProblem when the disk refuses; nothing is left behind then.
    """
    check_place(path, force)
    temporary = path.with_name(f".{path.name[:100]}.{os.getpid()}.tmp")
    try:
        with temporary.open("xb") as target:
            target.write(text.encode("utf-8", "replace"))
            target.flush()
            os.fsync(target.fileno())
        temporary.replace(path)
    except OSError as error:
        hint = HINTS.get(error.errno or 0, "name another file with --output")
        raise EnvironmentProblem(f"{path} cannot be written: {error.strerror or error}", hint) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
