"""g++ for CUDA C that runs on the host: CUDA's headers from beside nvcc; what all versions share is compiled once."""

from __future__ import annotations

import functools
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from requirements import require

from ncu_assist.backends.nvcc import find_nvcc
from ncu_assist.errors import EnvironmentProblem

INCLUDED_FROM = re.compile(r'-I"?([^"\s]+)')
# -fno-gnu-unique: the shared memory of a template kernel is its own, not that of the library loaded before.
FLAGS = ("-std=c++17", "-w", "-fPIC", "-pthread", "-fno-gnu-unique")
TIMEOUT_S = 120


def compiled(code: str, stem: Path, first: Sequence[Path], parts: Sequence[Path], folder: Path) -> Path:
    """Return code as a shared object beside ``stem``; before it stand the headers ``first``, read once for all.

    ``parts`` are sources that are linked to it, compiled once for all; ``folder`` is that of its own headers. Skips
    where there is no compiler or no CUDA header.
    """
    require("g++")
    source, library = stem.with_suffix(".cpp"), stem.with_suffix(".so")
    source.write_text(f'#include "{_precompiled(tuple(first))}"\n{code}', encoding="utf-8")
    _run(*FLAGS, "-Og", "-shared", f"-I{_headers()}", f"-I{folder}", source, *map(_object, parts), "-o", library)
    return library


@functools.cache
def _object(part: Path) -> Path:
    """Return what g++ makes of a source, for shared objects to have in them."""
    made = Path(_folder().name) / f"{part.stem}.o"
    _run(*FLAGS, "-O2", "-c", f"-I{_headers()}", part, "-o", made)
    return made


@functools.cache
def _precompiled(headers: tuple[Path, ...]) -> Path:
    """Return a header that includes these; g++ finds what it made of it beside it, which spares half of the time."""
    together = Path(_folder().name) / f"first{len(list(Path(_folder().name).glob('*.h')))}.h"
    together.write_text("".join(f'#include "{header}"\n' for header in headers), encoding="utf-8")
    _run(*FLAGS, "-Og", f"-I{_headers()}", "-x", "c++-header", together, "-o", f"{together}.gch")
    return together


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="host-compiler-")


def _run(*arguments: str | Path) -> None:
    subprocess.run(["g++", *arguments], check=True, timeout=TIMEOUT_S)


@functools.cache
def _headers() -> Path:
    """The folder that nvcc takes cuda_fp16.h from: a wrapper may stand before nvcc, so it is asked."""
    try:
        argv = [find_nvcc().path, "--dryrun", "-E", "-x", "cu", "/dev/null"]
    except EnvironmentProblem as missing:
        pytest.skip(missing.message)
    asked = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    folders = [Path(folder) for folder in INCLUDED_FROM.findall(asked.stderr)]
    found = [folder for folder in folders if (folder / "cuda_fp16.h").is_file()]
    return found[0] if found else pytest.skip("no CUDA headers beside nvcc")
