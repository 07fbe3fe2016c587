"""Where the bytes of an export go: to a file that appears whole or not at all, or to stdout."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from ncu_assist.errors import EnvironmentProblem, UsageProblem


def check_output(path: Path | None, force: bool, binary: bool) -> None:
    """Raise UsageProblem where nothing may be written: to a file that exists, or bytes to a terminal."""
    if path is None:
        if binary and sys.stdout.isatty():
            raise UsageProblem("this format is not text and would garble the terminal", "--output FILE")
        return
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else "would lie in a folder that does not exist"
        raise UsageProblem(f"{path} {what}", "name another file")
    if path.exists() and not force:
        raise UsageProblem(f"{path} exists already", "--force to replace it, or name another file")


def write_bytes(chunks: Iterable[bytes], path: Path | None) -> None:
    """Write all chunks to ``path``, or to stdout where it is None. Raises EnvironmentProblem when a disk refuses."""
    if path is None:
        for chunk in chunks:
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("xb") as target:
            target.writelines(chunks)
        temporary.replace(path)
    except OSError as error:
        raise EnvironmentProblem(f"{path} cannot be written: {error.strerror}", "name another file") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
