"""add_relu: the reference, the chain in torch, and the CUDA versions' own code run on the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulation import KERNELS, load_for_host, problem, versions

torch = pytest.importorskip("torch")

from ncu_assist.backends import BACKENDS  # noqa: E402
from ncu_assist.backends.base import Call  # noqa: E402
from ncu_assist.harness.check import check, compare  # noqa: E402
from ncu_assist.spec import Version  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402

KERNEL = read_kernel(KERNELS / "add_relu")
TOLERANCE = KERNEL.tolerances["float32"]
SIZES = (0, 1, 3, 255, 1024, 10_007)
SEEDS = (1, 2, 3)
INFINITE = float("inf")
ODD_VALUES = (float("nan"), INFINITE, -INFINITE, 0.0, -0.0, 1e-45, -1e-45, 3e38, -3e38)


def _problem(size: int) -> Any:
    return problem(KERNEL, "float32", n=size)


def _named(version: Version) -> str:
    return version.short


def _odd_values(call: Call) -> None:
    """Hold a version against the reference for every pair of values that arithmetic treats in a way of its own."""
    a, b = (t.flatten().contiguous() for t in torch.meshgrid(*[torch.tensor(ODD_VALUES)] * 2, indexing="ij"))
    out = torch.full_like(a, 7.0)
    one = _problem(a.numel())
    call((a, b), (out,), one.workload.integers)
    expected = one.expected((a, b))[0].float()  # 6e38 is infinite as a result
    assert compare(out, expected, TOLERANCE).wrong == 0
    assert int(torch.isnan(out).sum()) == 2 * len(ODD_VALUES) + 1


def test_the_reference_is_the_larger_of_the_sum_and_nothing() -> None:
    one = _problem(1000)
    a, b = one.inputs(5)
    exact = a.numpy().astype(np.longdouble) + b.numpy().astype(np.longdouble)
    (expected,) = one.expected((a, b))
    assert np.array_equal(expected.numpy(), np.maximum(exact, 0).astype(np.float64))
    assert 300 < int((expected == 0).sum()) < 700


def test_what_is_not_rounded_once_is_refused() -> None:
    one = _problem(1000)
    inputs = one.inputs(5)
    (expected,) = one.expected(inputs)
    out = torch.relu(inputs[0] + inputs[1])
    assert compare(out, expected, TOLERANCE).reason("out", TOLERANCE) == ""
    place = int(out.argmax())
    assert compare(out.index_fill(0, torch.tensor([place]), out[place] * (1 + 2.5e-7)), expected, TOLERANCE).wrong == 1
    place = int(out.argmin())
    assert compare(out.index_fill(0, torch.tensor([place]), 1e-30), expected, TOLERANCE).wrong == 1


def test_the_chain_in_torch() -> None:
    call = BACKENDS["python"].load(KERNEL.version("v0").path, KERNEL)
    for size in SIZES:
        assert check(call, _problem(size), SEEDS, 1).reason == "", size
    _odd_values(call)


@pytest.mark.slow
@pytest.mark.parametrize("version", versions("add_relu"), ids=_named)
def test_a_cuda_version_on_the_host(version: Version, tmp_path: Path) -> None:
    call = load_for_host(KERNEL, version, tmp_path)
    for size in SIZES:
        assert check(call, _problem(size), SEEDS, 1).reason == "", size


@pytest.mark.parametrize("version", versions("add_relu"), ids=_named)
def test_nan_and_infinities(version: Version, tmp_path: Path) -> None:
    _odd_values(load_for_host(KERNEL, version, tmp_path))


def test_many_threads_a_block(tmp_path: Path) -> None:
    call = load_for_host(KERNEL, KERNEL.version("v5"), tmp_path, FEW_PACKS=0)
    for size in (1, 1023, 1024, 1025, 5000):
        assert check(call, _problem(size), SEEDS, 1).reason == "", size


@pytest.mark.parametrize("shift", [1, 2, 4])
def test_any_address(shift: int, tmp_path: Path) -> None:
    call = load_for_host(KERNEL, KERNEL.version("v5"), tmp_path)
    a, b = _problem(1100).inputs(1)
    out = torch.full_like(a, 7.0)
    call((a[shift:-9], b[shift:-9]), (out[shift:-9],), {"n": 1100 - 9 - shift})
    assert torch.equal(out[shift:-9], torch.relu(a + b)[shift:-9])
    assert (out[:shift] == 7.0).all()
    assert (out[-9:] == 7.0).all()


def test_an_address_that_wide_accesses_cannot_take_is_refused(tmp_path: Path) -> None:
    call = load_for_host(KERNEL, KERNEL.version("v3"), tmp_path)
    a, b = _problem(64).inputs(1)
    with pytest.raises(RuntimeError, match=r"misaligned|716"):
        call((a[1:], b[1:]), (torch.empty_like(a)[1:],), {"n": 63})
