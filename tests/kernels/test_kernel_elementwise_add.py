"""elementwise_add: the reference, the versions in torch, and the CUDA versions' own code run on the host."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from emulation import KERNELS, load_for_host, problem, versions

torch = pytest.importorskip("torch")

from ncu_assist.backends import BACKENDS  # noqa: E402
from ncu_assist.harness.check import check, compare  # noqa: E402
from ncu_assist.pipeline.history import sweeps_of  # noqa: E402
from ncu_assist.spec import Version  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402

KERNEL = read_kernel(KERNELS / "elementwise_add")
WIDTHS = {"float32": 4, "float16": 2}
SIZES = (0, 1, 7, 255, 4096, 10_007)
SEEDS = (1, 2, 3)


def _named(version: Version) -> str:
    return version.short


@pytest.mark.parametrize("dtype", WIDTHS)
def test_the_reference_is_the_sum_before_it_is_rounded(dtype: str) -> None:
    one = problem(KERNEL, dtype, n=1000, width=WIDTHS[dtype], block=256)
    a, b = one.inputs(5)
    assert str(a.dtype) == f"torch.{dtype}"
    exact = a.numpy().astype(np.longdouble) + b.numpy().astype(np.longdouble)
    (expected,) = one.expected((a, b))
    assert np.array_equal(expected.numpy(), exact.astype(np.float64))
    rounded = torch.from_numpy(exact.astype(dtype))
    tolerance = KERNEL.tolerances[dtype]
    assert compare(rounded, expected, tolerance).reason("c", tolerance) == ""
    rounded[17] *= 1 + 2 * torch.finfo(rounded.dtype).eps
    assert compare(rounded, expected, tolerance).wrong == 1, "two ulps beside the rounded sum are wrong"


@pytest.mark.parametrize("dtype", WIDTHS)
def test_torch_add(dtype: str) -> None:
    call = BACKENDS["python"].load(KERNEL.version("v0").path, KERNEL)
    for size in (0, 1, 1000):
        outcome = check(call, problem(KERNEL, dtype, n=size, width=WIDTHS[dtype], block=256), SEEDS, 1)
        assert outcome.reason == "", size


@pytest.mark.slow
@pytest.mark.parametrize("version", versions("elementwise_add"), ids=_named)
def test_a_cuda_version_on_the_host(version: Version, tmp_path: Path) -> None:
    call = load_for_host(KERNEL, version, tmp_path)
    for dtype in version.dtypes:
        for size in SIZES:
            one = problem(KERNEL, dtype, n=size, width=WIDTHS[dtype], block=256)
            assert check(call, one, SEEDS, 1).reason == "", (dtype, size)


def test_every_block_size_of_the_sweep(tmp_path: Path) -> None:
    call = load_for_host(KERNEL, KERNEL.version("v9_block_size"), tmp_path)
    for block in (32, 64, 96, 128, 256, 512, 1024):
        assert check(call, problem(KERNEL, "float16", n=20_011, width=2, block=block), SEEDS, 1).reason == "", block
    with pytest.raises(RuntimeError, match="9"):
        check(call, problem(KERNEL, "float16", n=16, width=2, block=1025), SEEDS, 1)


@pytest.mark.parametrize("dtype", WIDTHS)
def test_several_accesses_a_thread(dtype: str, tmp_path: Path) -> None:
    call = load_for_host(KERNEL, KERNEL.version("v11"), tmp_path, MANY_PACKS=1)
    block = 4 * 256 * 16 // WIDTHS[dtype]  # elements of a block
    for size in (1, block - 1, block, block + 1, 3 * block, 3 * block + block // 2 + 5):
        one = problem(KERNEL, dtype, n=size, width=WIDTHS[dtype], block=256)
        assert check(call, one, SEEDS, 1).reason == "", size


# Constants of v12 with which small sizes take each of its shapes: threads of a block and accesses of a thread.
SHAPES = {
    "one wave": ((128, 2), {}),
    "several": ((256, 1), {"ONE_WAVE": 0}),
    "many": ((768, 1), {"MANY_WAVES": 0}),
    "wide": ((768, 1), {"WIDE": 0}),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", WIDTHS)
def test_every_shape_of_a_block(dtype: str, shape: str, tmp_path: Path) -> None:
    (threads, accesses), constants = SHAPES[shape]
    call = load_for_host(KERNEL, KERNEL.version("v12"), tmp_path, **constants)
    block = threads * accesses * 16 // WIDTHS[dtype]  # elements of a block
    for size in (1, 3, block - 1, block, block + 1, 2 * block, 2 * block + block // 2 + 5):
        one = problem(KERNEL, dtype, n=size, width=WIDTHS[dtype], block=256)
        assert check(call, one, SEEDS, 1).reason == "", size


def test_the_last_version_has_a_shape_for_each_size_of_the_ladder() -> None:
    """As its comment and the worklog say: two sizes in one wave, 768 threads from 2^26 on, 256 between."""
    code = KERNEL.versions[-1].path.read_text()
    few, many = 1 << 18, 1 << 23
    assert re.search(r"ONE_WAVE = 1 << 18;", code)
    assert re.search(r"MANY_WAVES = 1 << 23;", code)
    packs = {w.name: w.integers["n"] * w.integers["width"] // 16 for w in KERNEL.workloads if not w.versions}
    assert [name for name, count in packs.items() if count <= few] == ["n20_f32", "n20_f16"]
    assert [name for name, count in packs.items() if count >= many] == ["n26_f32", "n28_f32", "n26_f16", "n28_f16"]


def test_the_sweep_is_of_one_version_and_one_integer() -> None:
    ((version, axis, points),) = sweeps_of(KERNEL, {workload.name for workload in KERNEL.workloads})
    assert (version, axis) == ("v9_block_size", "block")
    assert [value for value, _ in points] == [32, 64, 96, 128, 192, 256, 384, 512, 768, 1024]
    assert dict(points)[256] == KERNEL.default_workload.name


@pytest.mark.parametrize("short", ["v11", "v12"])
@pytest.mark.parametrize("shift", [1, 3, 4])
def test_any_address(shift: int, short: str, tmp_path: Path) -> None:
    call = load_for_host(KERNEL, KERNEL.version(short), tmp_path)
    a, b = problem(KERNEL, "float16", n=1100, width=2, block=256).inputs(1)
    c = torch.full_like(a, 7.0)
    call((a[shift:-9], b[shift:-9]), (c[shift:-9],), {"n": 1100 - 9 - shift, "width": 2, "block": 256})
    assert torch.equal(c[shift:-9], (a + b)[shift:-9])
    assert (c[:shift] == 7.0).all()
    assert (c[-9:] == 7.0).all()


@pytest.mark.parametrize("short", ["v4", "v8", "v9", "v10"])
def test_an_address_that_wide_accesses_cannot_take_is_refused(short: str, tmp_path: Path) -> None:
    version = KERNEL.version(short)
    dtype = version.dtypes[0]
    call = load_for_host(KERNEL, version, tmp_path)
    a, b = problem(KERNEL, dtype, n=64, width=WIDTHS[dtype], block=256).inputs(1)
    with pytest.raises(RuntimeError, match=r"misaligned|716"):
        call((a[1:], b[1:]), (torch.empty_like(a)[1:],), {"n": 63, "width": WIDTHS[dtype], "block": 256})


def test_another_element_size_is_refused(tmp_path: Path) -> None:
    for version in versions("elementwise_add"):
        call = load_for_host(KERNEL, version, tmp_path)
        a = torch.zeros(8, dtype=torch.float64)
        with pytest.raises(RuntimeError, match="returned"):
            call((a, a), (a.clone(),), {"n": 8, "width": 8, "block": 256})
