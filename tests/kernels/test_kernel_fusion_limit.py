"""fusion_limit: the reference, the chain in torch, and the CUDA versions' own code run on the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulation import KERNELS, load_for_host, problem, versions

torch = pytest.importorskip("torch")

from ncu_assist.backends import BACKENDS  # noqa: E402
from ncu_assist.harness.check import check, compare  # noqa: E402
from ncu_assist.spec import Version  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402

KERNEL = read_kernel(KERNELS / "fusion_limit")
TOLERANCE = KERNEL.tolerances["float32"]
NAMES = ("windows", "channels", "samples")
SHAPES = ((3, 8, 1024), (2, 16, 260), (2, 32, 196), (3, 8, 2), (2, 16, 31), (2, 32, 67), (0, 8, 64), (1, 8, 1001))
SEEDS = (1, 2, 3)


def _problem(shape: tuple[int, ...]) -> Any:
    return problem(KERNEL, "float32", **dict(zip(NAMES, shape, strict=True)))


def _named(version: Version) -> str:
    return version.short


def _refusal(cov: Any, one: Any, inputs: tuple[Any, ...]) -> str:
    return compare(cov, one.expected(inputs)[1], TOLERANCE).reason("cov", TOLERANCE)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_reference_is_what_numpy_says(shape: tuple[int, ...]) -> None:
    one = _problem(shape)
    inputs = one.inputs(5)
    mean, cov = one.expected(inputs)
    for window, x in enumerate(inputs[0].double().numpy()):
        assert np.allclose(mean[window].numpy(), x.mean(axis=1), rtol=1e-13)
        assert np.allclose(cov[window].numpy(), np.cov(x), rtol=1e-9, atol=1e-9)


def test_channels_of_a_window_have_much_in_common() -> None:
    _, cov = _problem((40, 8, 1024)).expected(_problem((40, 8, 1024)).inputs(1))
    variances = cov.diagonal(dim1=1, dim2=2)
    assert 1.0 < float(variances.mean()) < 1.5
    assert float(cov.abs().mean()) > 0.3


def test_sums_of_raw_products_are_refused() -> None:
    """One pass without a shift: the squares of offsets cancel, and little else is left."""
    one = _problem((4, 8, 1024))
    (x,) = inputs = one.inputs(1)
    mean = x.mean(dim=2)
    raw = torch.bmm(x, x.mT) / 1023 - mean.unsqueeze(2) * mean.unsqueeze(1) * (1024 / 1023)
    assert "wrong" in _refusal(raw, one, inputs)


@pytest.mark.parametrize("fault", ["biased", "transposed half", "neighbour", "sample lost"])
def test_a_fault_is_found(fault: str) -> None:
    one = _problem((4, 8, 1024))
    inputs = one.inputs(1)
    cov = one.expected(inputs)[1].float()
    assert _refusal(cov, one, inputs) == ""
    if fault == "biased":
        cov *= 1023 / 1024
    elif fault == "transposed half":
        cov = cov.tril()
    elif fault == "sample lost":
        cov = one.expected((inputs[0][:, :, :-1],))[1].float()
    else:
        cov = cov.roll(1, dims=0)
    assert "wrong" in _refusal(cov, one, inputs)


def test_the_chain_in_torch() -> None:
    call = BACKENDS["python"].load(KERNEL.version("v0").path, KERNEL)
    for shape in SHAPES:
        assert check(call, _problem(shape), SEEDS, 1).reason == "", shape


@pytest.mark.slow
@pytest.mark.parametrize("version", versions("fusion_limit"), ids=_named)
def test_a_cuda_version_on_the_host(version: Version, tmp_path: Path) -> None:
    call = load_for_host(KERNEL, version, tmp_path)
    for shape in SHAPES:
        assert check(call, _problem(shape), SEEDS, 0).reason == "", shape


@pytest.mark.parametrize("version", versions("fusion_limit"), ids=_named)
def test_a_first_sample_far_from_the_others(version: Version, tmp_path: Path) -> None:
    """Differences to it have a mean square of 60 where their variance is 1.25: sums of them are as much less exact."""
    one = _problem((32, 8, 1024))
    (x,) = one.inputs(1)
    x[:, :, 0] = x.mean(dim=2) + (60.0 - x.var(dim=2)).sqrt()
    outputs = one.outputs()
    load_for_host(KERNEL, version, tmp_path)((x,), outputs, one.workload.integers)
    for out, expected in zip(outputs, one.expected((x,)), strict=True):
        assert compare(out, expected, TOLERANCE).wrong == 0


def test_any_number_of_bands(tmp_path: Path) -> None:
    call = load_for_host(KERNEL, KERNEL.version("v2"), tmp_path)
    for channels in (24, 40):
        assert check(call, _problem((2, channels, 65)), SEEDS, 0).reason == "", channels


@pytest.mark.slow
@pytest.mark.parametrize("samples", [255, 256, 257, 764, 768, 772, 1536])
def test_chunks_turn_until_the_samples_end(samples: int, tmp_path: Path) -> None:
    """A chunk of eight channels has 256 samples, three of them are on their way at a time."""
    call = load_for_host(KERNEL, KERNEL.version("v5"), tmp_path)
    assert check(call, _problem((2, 8, samples)), (1, 2), 0).reason == ""


def test_samples_that_do_not_start_on_16_bytes(tmp_path: Path) -> None:
    call = load_for_host(KERNEL, KERNEL.version("v5"), tmp_path)
    one = _problem((2, 16, 132))
    (x,) = one.inputs(1)
    moved = torch.cat((torch.zeros(1), x.flatten()))[1:].view(x.shape)
    outputs = one.outputs()
    call((moved,), outputs, one.workload.integers)
    for out, expected in zip(outputs, one.expected((x,)), strict=True):
        assert compare(out, expected, TOLERANCE).wrong == 0


@pytest.mark.parametrize("version", versions("fusion_limit"), ids=_named)
@pytest.mark.parametrize("changed", [{"samples": 1}, {"channels": 12}, {"channels": 0}, {"windows": -1}])
def test_what_a_version_cannot_serve_is_refused(changed: dict[str, int], version: Version, tmp_path: Path) -> None:
    call = load_for_host(KERNEL, version, tmp_path)
    one = _problem((1, 8, 64))
    with pytest.raises(RuntimeError, match="returned"):
        call(one.inputs(1), one.outputs(), {**one.workload.integers, **changed})
