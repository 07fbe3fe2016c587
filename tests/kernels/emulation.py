"""CUDA C versions compiled for the host, so that their indices are proved without a GPU."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from host_compiler import compiled

from ncu_assist.backends.base import Call
from ncu_assist.backends.cuda import load_launcher
from ncu_assist.backends.python import import_file
from ncu_assist.sources import source_files
from ncu_assist.spec import Kernel, Version, Workload
from ncu_assist.spec_file import read_kernel

KERNELS = Path(__file__).parents[2] / "kernels"
HEADER = Path(__file__).parent / "emulation.h"
WARPS = Path(__file__).parent / "emulation_warps.h"
TENSOR = Path(__file__).parent / "emulation_tensor.h"
HOLD_PTX = {"mma.cuh", "wmma.cuh"}  # emulation_tensor.h has all that is in them
LOCAL_INCLUDE = re.compile(r'#include "(\w+\.cuh)"\n')
# Some of emulation_warps.h's own: what a cluster does is not compiled from PTX on the host.
CLUSTER = re.compile(r"#if HAS_CLUSTERS\n__device__ inline int rank_in_cluster.*?#endif\n", re.DOTALL)
LAUNCH = re.compile(r"(\S+)<<<(.+), (.+), 0, stream>>>\(")
WITH_MEMORY = re.compile(r"(\S+)<<<(.+), (.+), (.+), stream>>>\(")
_built: dict[str, Path] = {}  # by code: several tests look at the same version


def load_for_host(kernel: Kernel, version: Version, folder: Path, **constants: int) -> Call:
    """Return a CUDA C version as a call on tensors of the host, with some of its constants changed.

    Skips where there is no compiler or no CUDA header.
    """
    code = version.path.read_text(encoding="utf-8")
    for name, value in constants.items():
        code, found = re.subn(rf"(constexpr [\w ]+? {name} = )[^;]+;", rf"\g<1>{value};", code)
        assert found, f"{version.name} has no constant {name}"
    code, launches = LAUNCH.subn(r"emulated(\1, \2, \3)(", code)
    code, others = WITH_MEMORY.subn(r"emulated_with_memory(\1, \2, \3, \4)(", code)
    assert launches + others, f"{version.name} launches nothing"
    return load_launcher(compiled_for_host(code, folder / version.name, source_files(version.path)), kernel)


def load_with_warps(
    kernel: Kernel, version: Version, folder: Path, faults: dict[str, str] | None = None, **constants: int
) -> Call:
    """Return a version whose lanes exchange registers, or whose blocks are clusters, as ``load_for_host`` does.

    ``faults`` are changes to its code, right to wrong, that a test has to find.
    """
    written = folder / version.path.name
    written.write_text(f'#include "{WARPS}"\n{_with_includes(version.path, faults or {})}', encoding="utf-8")
    return load_for_host(kernel, replace(version, path=written), folder, **constants)


def _with_includes(path: Path, faults: dict[str, str]) -> str:
    """A version with what it includes in place, as files of a kernel folder are found in no other."""
    seen: set[str] = set()

    def included(found: re.Match[str]) -> str:
        if found[1] in seen:
            return ""
        seen.add(found[1])
        if found[1] in HOLD_PTX:
            return f'#include "{TENSOR}"\n'
        return text((path.parent / found[1]).read_text(encoding="utf-8"))

    def text(code: str) -> str:
        return LOCAL_INCLUDE.sub(included, code.replace("#pragma once\n", ""))

    code = CLUSTER.sub("", text(path.read_text(encoding="utf-8")))
    for right, wrong in faults.items():
        assert right in code, right
        code = code.replace(right, wrong)
    return code


def compiled_for_host(code: str, stem: Path, sources: tuple[Path, ...]) -> Path:
    """Return code as a shared object of the host; the same code is compiled once. Skips as ``load_for_host`` does."""
    if code not in _built:
        meets = any("__sync" in file.read_text(encoding="utf-8") for file in sources)
        first = [HEADER, *(header for header in (WARPS, TENSOR) if f'#include "{header}"' in code)]
        parts = [header.with_suffix(".cpp") for header in first if header != WARPS]  # which emulation.cpp has
        said = f"extern const bool threads_meet = {str(meets).lower()};\n"
        _built[code] = compiled(said + code, stem, first, parts, sources[0].parent)
    return _built[code]


def problem(kernel: Kernel, dtype: str, **integers: int) -> Any:
    """Return a workload of the kernel that its kernel.toml need not have, on the host."""
    from ncu_assist.harness.problem import Problem

    return Problem(kernel, Workload("made", dtype, integers, False), import_file(kernel.reference), "cpu")


def versions(name: str, suffix: str = ".cu") -> list[Version]:
    """Return the versions of a kernel in one language, without those that launch through a library."""
    found = [v for v in read_kernel(KERNELS / name).versions if v.path.suffix == suffix]
    return [v for v in found if suffix != ".cu" or any("<<<" in f.read_text("utf-8") for f in source_files(v.path))]
