"""A project of variants of a kernel's versions, made of their sources by regular expressions: to bench them at once."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

KERNELS = Path("kernels")


def write_project(
    root: Path, kernel: str, versions: Iterable[tuple[str, str]], shared: tuple[str, ...] = (), settings: str = ""
) -> None:
    """Write a project with these versions, idea and code, of a kernel; ``shared`` are files that they include.

    Raises FileExistsError for a folder that is there.
    """
    root.mkdir(parents=True)
    folder = root / "kernels" / kernel
    folder.mkdir(parents=True)
    (root / "pyproject.toml").write_text(f"[tool.ncu-assist]\n{settings}", encoding="utf-8")
    for name in ("reference.py", "kernel.toml", *shared):
        shutil.copy(KERNELS / kernel / name, folder)
    for number, (idea, code) in enumerate(versions):
        (folder / f"v{number}_{idea}.cu").write_text(code, encoding="utf-8")


def source(kernel: str, idea: str) -> str:
    """Return the source of a version by the idea in its name."""
    (path,) = (KERNELS / kernel).glob(f"v*_{idea}.cu")
    return path.read_text(encoding="utf-8")


def changed(pattern: str, text: str, code: str, times: int = 1) -> str:
    """Return code with a pattern replaced, which must stand in it so many times."""
    code, found = re.subn(pattern, text, code)
    assert found == times, (pattern, found)
    return code


def with_constants(code: str, constants: dict[str, int]) -> str:
    """Return code with other values of its integer constants."""
    for name, value in constants.items():
        code = changed(rf"(constexpr int {name} = )\d+", rf"\g<1>{value}", code)
    return code
