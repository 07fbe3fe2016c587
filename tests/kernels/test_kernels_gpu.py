"""Every version of every kernel at every workload on a GPU, and sizes that a ladder has no room for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from emulation import KERNELS

from ncu_assist.backends import build_versions
from ncu_assist.executors.local import Local
from ncu_assist.harness.client import measure
from ncu_assist.harness.request import HarnessSettings, new_request
from ncu_assist.spec import Kernel, Version, Workload, why_skipped
from ncu_assist.spec_file import read_kernel

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(1800)]

NAMES = sorted(f.parent.name for f in KERNELS.glob("*/kernel.toml"))
PEERS = [v for name in NAMES for v in read_kernel(KERNELS / name).versions if v.packages]
SEEDS = 3
SILENT_S = 180.0  # the largest size with its float64 reference, or a compilation by torch
ADD = ({"width": 4, "block": 256, "dtype": "float32"}, {"width": 2, "block": 256, "dtype": "float16"})
ROPE = ({"width": 4, "dtype": "float32"}, {"width": 2, "dtype": "bfloat16"})
FAR = {"first_position": (1 << 20) - 100, "theta": 500_000}
NEAR = {"first_position": 0, "theta": 10_000}
ELEMENTS = (1, 31, 1_000_003, (1 << 26) + 4099)
# heads, queries, keys
ATTENTION = ((1, 1, 1), (3, 7, 0), (5, 1, 999), (70, 333, 129), (3, 129, 4097), (9, 1111, 300))
# rows, cols; rows of infinities, of NaN, of huge and of equal values among them
ROWS = ((5, 1), (1, 7), (70_001, 33), (99, 257), (35, 1023), (35, 4099), (3, 8195), (35, 33_001), (35, 70_001))
DROPOUT = ({"width": 4, "keep": 58982, "dtype": "float32"}, {"width": 2, "keep": 32768, "dtype": "bfloat16"})
NORMALIZED = ((99, 257), (70_001, 33), (515, 1000), (35, 5000), (35, 8196), (9, 33_001), (9, 140_000))
# m, n, k: one output; one more than a tile; less than a warp's; long and narrow each way; rows that start anywhere;
# more tiles than SMs, done before what the one before them stores has been read
PRODUCTS = (
    *((1, 1, 1), (33, 7, 1), (129, 257, 72), (1000, 513, 8), (257, 129, 4099), (300, 520, 5000)),
    *((17, 70_001, 24), (70_001, 9, 33), (5, 24, 100_000)),
    *((1, 8, 8), (129, 264, 72), (17, 70_008, 24), (70_001, 8, 40), (1000, 30_008, 8)),
)
MADE: dict[str, list[dict[str, object]]] = {
    "add_relu": [{"n": n, "dtype": "float32"} for n in ELEMENTS],
    "elementwise_add": [{**kind, "n": n} for kind in ADD for n in (*ELEMENTS, 5_000_011)],
    "flash_attention": [
        {"batch": 1, "heads": h, "queries": q, "keys": k, "dim": dim, "causal": c, "dtype": "bfloat16"}
        for dim in (64, 128)
        for c in (0, 1)
        for h, q, k in ATTENTION
    ],
    "fusion_limit": [
        {"windows": windows, "channels": channels, "samples": samples, "dtype": "float32"}
        for channels in (8, 16, 32)
        for windows, samples in ((1, 2), (3, 33), (61, 1001), (515, 1028))
    ],
    "gemm_bias_gelu": [{"m": m, "n": n, "k": k, "dtype": "bfloat16"} for m, n, k in PRODUCTS],
    "layernorm_dropout_residual": [
        {**kind, "rows": rows, "cols": cols} for kind in DROPOUT for rows, cols in NORMALIZED
    ],
    "lightning_decode_deferred": [
        {"steps": steps, "batch": batch, "heads": heads, "dim": dim, "dtype": "bfloat16"}
        for dim in (96, 128)
        for steps, batch, heads in ((16, 1, 1), (48, 3, 7), (64, 5, 33))
    ],
    "mul_add_sigmoid": [{"n": n, "dtype": "float32"} for n in ELEMENTS],
    "rope": [
        {**kind, **place, "heads": heads, "seq": seq, "dim": dim}
        for kind in ROPE
        for place in (NEAR, FAR)
        for heads, seq, dim in ((1, 1, 64), (37, 101, 96), (5, 4099, 256))
    ],
    "softmax": [{"rows": rows, "cols": cols, "planted": 1, "dtype": "float32"} for rows, cols in ROWS],
}
SWEEP = [{**ADD[1], "n": 1_000_003, "block": block} for block in (32, 64, 128, 512, 1024)]


def _check(kernel: Kernel, workloads: tuple[Workload, ...], work: Path, versions: tuple[str, ...] = ()) -> None:
    """Check versions, all that need no package where none is named."""
    wanted = kernel.select_versions(versions or tuple(v.name for v in kernel.versions if not v.packages))
    outcomes = build_versions(kernel, wanted, work)
    assert {v: o.log for v, o in outcomes.items() if o.artifact is None} == {}
    request = new_request(kernel, outcomes, workloads, HarnessSettings(stages=("check",), trials=SEEDS), work)
    measured = measure(request, Local(), lambda event: None, SILENT_S)
    assert measured.failures == {}
    wrong = {(v, c.workload): c.reason for v, checks in measured.checks.items() for c in checks if not c.passed}
    assert wrong == {}
    seen = {(v, c.workload) for v, checks in measured.checks.items() for c in checks}
    chosen = [v for v in kernel.versions if v.name in outcomes]
    assert seen == {(v.name, w.name) for v in chosen for w in workloads if v.serves(w)}
    assert all(len(c.seeds) == SEEDS for checks in measured.checks.values() for c in checks)


def _with(name: str, made: list[dict[str, object]], root: Path) -> tuple[Kernel, tuple[Workload, ...]]:
    """A copy of a kernel folder with more workloads, and those."""
    folder = root / "kernels" / name
    shutil.copytree(KERNELS / name, folder)
    lines = [f"[workloads.made{i}]\n" + "".join(f"{k} = {v!r}\n" for k, v in one.items()) for i, one in enumerate(made)]
    with (folder / "kernel.toml").open("a") as file:
        file.write("\n" + "\n".join(lines))
    kernel = read_kernel(folder)
    return kernel, tuple(w for w in kernel.workloads if w.name.startswith("made"))


@pytest.mark.parametrize("name", NAMES)
def test_every_version_at_every_workload(name: str, tmp_path: Path) -> None:
    kernel = read_kernel(KERNELS / name)
    _check(kernel, kernel.workloads, tmp_path)


@pytest.mark.parametrize("version", PEERS, ids=lambda version: f"{version.path.parent.name}-{version.short}")
def test_a_peer_at_every_workload(version: Version, tmp_path: Path) -> None:
    why = why_skipped(version)
    if why:
        pytest.skip(why)
    kernel = read_kernel(version.path.parent)
    _check(kernel, tuple(filter(version.serves, kernel.workloads)), tmp_path, (version.name,))


@pytest.mark.parametrize("name", MADE)
def test_sizes_that_no_tile_divides(name: str, tmp_path: Path) -> None:
    kernel, workloads = _with(name, MADE[name], tmp_path)
    _check(kernel, workloads, tmp_path, tuple(v.name for v in kernel.versions if v.path.suffix == ".cu"))


def test_every_block_size_of_the_sweep(tmp_path: Path) -> None:
    kernel, workloads = _with("elementwise_add", SWEEP, tmp_path)
    _check(kernel, workloads, tmp_path, ("v9",))


def test_any_even_dim(tmp_path: Path) -> None:
    made = [{**kind, **FAR, "heads": 9, "seq": 33, "dim": dim} for kind in ROPE for dim in (2, 6, 40, 512)]
    kernel, workloads = _with("rope", made, tmp_path)
    _check(kernel, workloads, tmp_path, ("v8", "v9", "v10"))
