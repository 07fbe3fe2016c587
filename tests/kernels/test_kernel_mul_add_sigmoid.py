"""mul_add_sigmoid: the reference, the chains in torch, and the CUDA versions' own code run on the host."""

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

KERNEL = read_kernel(KERNELS / "mul_add_sigmoid")
TOLERANCE = KERNEL.tolerances["float32"]
SIZES = (0, 1, 3, 255, 1024, 10_007)
SEEDS = (1, 2, 3)


def _problem(size: int) -> Any:
    return problem(KERNEL, "float32", n=size)


def _named(version: Version) -> str:
    return version.short


def _of(call: Call, arguments: Any) -> Any:
    """What a version makes of arguments of the sigmoid alone: a * 1 + 0."""
    out = torch.full_like(arguments, 7.0)
    call((arguments, torch.ones_like(arguments), torch.zeros_like(arguments)), (out,), {"n": arguments.numel()})
    return out


def _refusal(outputs: Any, one: Any, inputs: tuple[Any, ...]) -> str:
    return compare(outputs, one.expected(inputs)[0], TOLERANCE).reason("out", TOLERANCE)


def test_the_reference_in_more_digits() -> None:
    one = _problem(10_000)
    a, b, c = one.inputs(5)
    exact = a.numpy().astype(np.longdouble) * b.numpy() + c.numpy()
    expected = 1 / (1 + np.exp(-exact))
    assert np.allclose(one.expected((a, b, c))[0].numpy(), expected.astype(np.float64), rtol=1e-12, atol=1e-300)
    assert exact.max() > 300 and exact.min() < -300, "exponentials of both signs overflow"  # noqa: PT018


def test_an_exponential_that_overflows_is_refused() -> None:
    one = _problem(10_000)
    a, b, c = inputs = one.inputs(5)
    grown = torch.exp(a * b + c)
    assert "nan" in _refusal(grown / (1 + grown), one, inputs)


def test_half_a_tangent_of_eleven_bits_is_refused() -> None:
    one = _problem(10_000)
    a, b, c = inputs = one.inputs(5)
    tangent = torch.tanh((a * b + c).double() / 2) * (1 + 2**-11)
    assert "wrong" in _refusal((0.5 + 0.5 * tangent).float(), one, inputs)


def test_half_a_right_tangent_is_refused() -> None:
    """1 - 1 cancels where the result is small, whatever the tangent."""
    one = _problem(10_000)
    a, b, c = inputs = one.inputs(5)
    assert "wrong" in _refusal(0.5 + 0.5 * torch.tanh(0.5 * (a * b + c)), one, inputs)


@pytest.mark.parametrize("short", ["v0", "v1"])
def test_a_chain_in_torch(short: str) -> None:
    call = BACKENDS["python"].load(KERNEL.version(short).path, KERNEL)
    for size in SIZES:
        assert check(call, _problem(size), SEEDS, 1).reason == "", size


@pytest.mark.parametrize("version", versions("mul_add_sigmoid"), ids=_named)
def test_a_cuda_version_on_the_host(version: Version, tmp_path: Path) -> None:
    call = load_for_host(KERNEL, version, tmp_path)
    for size in SIZES:
        outcome = check(call, _problem(size), SEEDS, 1)
        assert outcome.reason == "", size
        assert (outcome.norm_error or 0.0) < 1.2e-7


@pytest.mark.parametrize("version", versions("mul_add_sigmoid"), ids=_named)
def test_ends_of_the_scale(version: Version, tmp_path: Path) -> None:
    call = load_for_host(KERNEL, version, tmp_path)
    out = _of(call, torch.tensor([float("inf"), -float("inf"), 3e38, -3e38, 88.8, -200.0, 0.0, -0.0, 1e-45]))
    assert out.tolist() == [1, 0, 1, 0, 1, 0, 0.5, 0.5, 0.5]
    assert torch.isnan(_of(call, torch.tensor([float("nan")]))).all()


@pytest.mark.parametrize("version", versions("mul_add_sigmoid"), ids=_named)
def test_every_argument_with_a_normal_result(version: Version, tmp_path: Path) -> None:
    arguments = torch.linspace(-110, 30, 20_011)
    out, expected = _of(load_for_host(KERNEL, version, tmp_path), arguments), torch.sigmoid(arguments.double())
    assert compare(out, expected, TOLERANCE).reason("out", TOLERANCE) == ""
    normal = expected > 1.2e-38
    assert ((out - expected).abs() <= 3e-7 * expected)[normal].all(), "the argument is exact here, roundings are left"


def test_many_threads_a_block(tmp_path: Path) -> None:
    call = load_for_host(KERNEL, KERNEL.version("v7"), tmp_path, FEW_PACKS=0)
    for size in (1, 1023, 1024, 1025, 5000):
        assert check(call, _problem(size), SEEDS, 1).reason == "", size


@pytest.mark.parametrize("shift", [1, 2, 4])
def test_any_address(shift: int, tmp_path: Path) -> None:
    call = load_for_host(KERNEL, KERNEL.version("v7"), tmp_path)
    one = _problem(1100)
    inputs = one.inputs(1)
    out = torch.full_like(inputs[0], 7.0)
    call(tuple(t[shift:-9] for t in inputs), (out[shift:-9],), {"n": 1100 - 9 - shift})
    assert compare(out[shift:-9], one.expected(inputs)[0][shift:-9], TOLERANCE).wrong == 0
    assert (out[:shift] == 7.0).all()
    assert (out[-9:] == 7.0).all()


@pytest.mark.parametrize("short", ["v4", "v6"])
def test_an_address_that_wide_accesses_cannot_take_is_refused(short: str, tmp_path: Path) -> None:
    call = load_for_host(KERNEL, KERNEL.version(short), tmp_path)
    inputs = _problem(64).inputs(1)
    with pytest.raises(RuntimeError, match=r"misaligned|716"):
        call(tuple(t[1:] for t in inputs), (torch.empty_like(inputs[0])[1:],), {"n": 63})
