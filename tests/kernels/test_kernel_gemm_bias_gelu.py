"""gemm_bias_gelu: the reference in extended precision, the versions in torch, the CUDA versions' own code on the host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulation import KERNELS, load_with_warps, problem, versions

torch = pytest.importorskip("torch")

from ncu_assist.backends import BACKENDS  # noqa: E402
from ncu_assist.backends.base import Call  # noqa: E402
from ncu_assist.harness.check import check  # noqa: E402
from ncu_assist.harness.compare import compare  # noqa: E402
from ncu_assist.spec import Version  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402

KERNEL = read_kernel(KERNELS / "gemm_bias_gelu")
TOLERANCE = KERNEL.tolerances["bfloat16"]
MMA = ("v6", "v7", "v8", "v9", "v10")  # loads by ldmatrix from swizzled tiles
STAGED = ("v7", "v8", "v9", "v10")
# m, n, k: one element; nothing to sum; whole tiles; rows on 16 bytes and on none; one more than a tile; many stages
SMALL = [(1, 1, 1), (5, 3, 0), (16, 16, 16), (3, 8, 8), (17, 9, 31), (33, 40, 72)]
LARGE = [(128, 256, 64), (129, 257, 65), (136, 264, 200), (7, 16, 1096), (70, 33, 1027)]
SHAPES = [*SMALL, *LARGE]
Shape = tuple[int, int, int]


def _problem(m: int, n: int, k: int) -> Any:
    return problem(KERNEL, "bfloat16", m=m, n=n, k=k)


def _named(version: Version) -> str:
    return version.short


def _load(short: str, folder: Path, faults: dict[str, str] | None = None, **constants: int) -> Call:
    return load_with_warps(KERNEL, KERNEL.version(short), folder, faults, **constants)


def _reasons(call: Call, shapes: list[Shape], seeds: tuple[int, ...] = (1,)) -> dict[Shape, str]:
    reasons = {shape: check(call, _problem(*shape), seeds, 0).reason for shape in shapes}
    return {shape: reason for shape, reason in reasons.items() if reason}


@pytest.mark.parametrize("version", versions("gemm_bias_gelu"), ids=_named)
def test_a_cuda_version_on_the_host(version: Version, tmp_path: Path) -> None:
    assert _reasons(_load(version.short, tmp_path), SHAPES) == {}
