"""flash_attention: the reference by plain sums, the versions in torch, the CUDA versions' own code run on the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from emulation import KERNELS, load_with_warps, problem, versions

torch = pytest.importorskip("torch")

from ncu_assist.backends import BACKENDS  # noqa: E402
from ncu_assist.backends.base import Call  # noqa: E402
from ncu_assist.harness.check import check  # noqa: E402
from ncu_assist.spec import Version  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402

KERNEL = read_kernel(KERNELS / "flash_attention")
TOLERANCE = KERNEL.tolerances["bfloat16"]
SEEDS = (1, 2)


def _problem(heads: int, queries: int, keys: int, dim: int, causal: int) -> Any:
    return problem(
        KERNEL, "bfloat16", batch=1, heads=heads, queries=queries, keys=keys, dim=dim, causal=causal
    )


def _load(version: Version, folder: Path, faults: dict[str, str] | None = None, **constants: int) -> Call:
    return load_with_warps(KERNEL, version, folder, faults, **constants)
