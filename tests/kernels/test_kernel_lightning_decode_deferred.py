"""lightning_decode_deferred: the reference by plain sums, and the CUDA versions' own code run on the host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from emulation import KERNELS, load_with_warps, problem, versions

torch = pytest.importorskip("torch")

from ncu_assist.backends import BACKENDS  # noqa: E402
from ncu_assist.harness.check import check  # noqa: E402
from ncu_assist.spec import Version  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402

KERNEL = read_kernel(KERNELS / "lightning_decode_deferred")
# v1 and v4 are launched in ways that the emulation has not: by template arguments, and with an attribute.
DEFERRED = [version for version in versions("lightning_decode_deferred") if version.short != "v1"]
NAMES = ("steps", "batch", "heads", "dim")
SHAPES = ((16, 1, 1, 96), (48, 1, 3, 96), (32, 2, 1, 128))
# Changes that a test has to find: right, wrong.
FAULTS = {
    "a decay that is one step short": ("expf(-rate * (steps.before + 1))", "expf(-rate * steps.before)"),
    "keys that decay as if all were new": ("expf(-rate * (steps.before - i))", "1.0f"),
    "a step that forgets itself": ("i <= steps.before; i += WARPS", "i < steps.before; i += WARPS"),
    "a state that is written without its decay": ("{decay * s[i].x, decay * s[i].y,", "{s[i].x, s[i].y,"),
    "a state that loses the first key": ("int step = 0; step < PERIOD", "int step = 1; step < PERIOD"),
    "the state of the beginning, over and over": ("step < PERIOD ? state : new_state", "true ? state : new_state"),
}


def _problem(shape: tuple[int, ...]) -> Any:
    return problem(KERNEL, "bfloat16", **dict(zip(NAMES, shape, strict=True)))


def test_the_reference_sums_over_all_steps() -> None:
    one = _problem((16, 1, 3, 96))
    q, k, v, slope, state = (tensor.double() for tensor in one.inputs(1))
    out, new_state = one.expected(one.inputs(1))
    last = 15
    decays = torch.exp(-slope.view(1, -1, 1, 1))
    whole = decays ** (last + 1) * state
    for step in range(last + 1):
        whole = whole + decays ** (last - step) * k[step].unsqueeze(-1) * v[step].unsqueeze(-2)
    assert torch.allclose(new_state, whole, rtol=0, atol=1e-12)
    assert torch.allclose(out[last], (q[last].unsqueeze(-2) @ whole).squeeze(-2), rtol=0, atol=1e-12)


def test_the_torch_version() -> None:
    call = BACKENDS["python"].load(KERNEL.version("v0").path, KERNEL)
    for shape in SHAPES:
        assert check(call, _problem(shape), (1,), 1).reason == ""


@pytest.mark.parametrize("version", DEFERRED, ids=lambda version: version.short)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_cuda_version(version: Version, shape: tuple[int, ...], tmp_path: Path) -> None:
    """Forty-eight steps: the state is written three times, and read where it was written."""
    assert check(load_with_warps(KERNEL, version, tmp_path), _problem(shape), (1,), 1).reason == ""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, tmp_path: Path) -> None:
    call = load_with_warps(KERNEL, DEFERRED[-1], tmp_path, dict([FAULTS[fault]]))
    assert check(call, _problem((32, 1, 2, 96)), (1,), 1).reason != ""


@pytest.mark.parametrize(("name", "value"), [("steps", 15), ("steps", 0), ("dim", 64), ("batch", 0)])
def test_sizes_that_it_does_not_serve_are_refused(name: str, value: int, tmp_path: Path) -> None:
    one = _problem((16, 1, 1, 96))
    call = load_with_warps(KERNEL, DEFERRED[0], tmp_path)
    integers = dict(zip(NAMES, (16, 1, 1, 96), strict=True)) | {name: value}
    with pytest.raises(RuntimeError, match="CUDA error"):
        call(one.inputs(1), one.outputs(), integers)
