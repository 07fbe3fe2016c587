"""rope: the reference against complex numbers, the versions in torch, the CUDA versions' own code run on the host."""

from __future__ import annotations

import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulation import KERNELS, load_for_host, problem, versions

torch = pytest.importorskip("torch")

from ncu_assist.backends import BACKENDS, build_versions  # noqa: E402
from ncu_assist.backends.base import Call  # noqa: E402
from ncu_assist.harness.check import check, compare  # noqa: E402
from ncu_assist.spec import Version  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402

KERNEL = read_kernel(KERNELS / "rope")
WIDTHS = {"float32": 4, "bfloat16": 2}
SEEDS = (1, 2, 3)
NAMES = ("heads", "seq", "dim", "first_position", "theta")
START = (3, 5, 128, 0, 10_000)
FAR = (2, 3, 64, (1 << 18) - 3, 500_000)  # beyond 2^17
ODD_SIZES = (7, 3, 96, 1 << 17, 10_000)
MANY_HEADS = (67, 1, 32, 4095, 10_000)
NOTHING = (0, 4, 64, 0, 10_000)
SHAPES = (START, FAR, ODD_SIZES, MANY_HEADS, NOTHING)
EVEN_DIMS = (2, 6, 40, 510, 512)


def _problem(dtype: str, shape: tuple[int, ...]) -> Any:
    return problem(KERNEL, dtype, width=WIDTHS[dtype], **dict(zip(NAMES, shape, strict=True)))


def _named(version: Version) -> str:
    return version.short


def _turned(q: Any, first: int, theta: int) -> Any:
    """The same as products of complex numbers, in extended precision, angles reduced before the exponential."""
    heads, seq, dim = q.shape
    pairs = q.numpy().astype(np.longdouble).reshape(heads, seq, 2, dim // 2)
    exponents = -np.arange(dim // 2, dtype=np.longdouble) * 2 / dim
    angles = np.outer(np.arange(first, first + seq, dtype=np.longdouble), np.longdouble(theta) ** exponents)
    angles = np.fmod(angles, 2 * np.arctan2(np.longdouble(0), np.longdouble(-1)))
    turned = (pairs[:, :, 0] + 1j * pairs[:, :, 1]) * np.exp(1j * angles)
    return torch.from_numpy(np.concatenate((turned.real, turned.imag), axis=-1).astype(np.float64))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_reference_multiplies_complex_numbers(shape: tuple[int, ...]) -> None:
    one = _problem("float32", shape)
    inputs = one.inputs(5)
    (expected,) = one.expected(inputs)
    assert expected.dtype == torch.float64
    assert torch.allclose(expected, _turned(*inputs), rtol=0, atol=1e-9)


@pytest.mark.parametrize("first", [8192 - 16, (1 << 18) - 16])
def test_angles_kept_in_float32_are_refused(first: int) -> None:
    one = _problem("float32", (8, 16, 128, first, 10_000))
    q, _, theta = inputs = one.inputs(1)
    inverse = 1.0 / theta ** (torch.arange(0, 128, 2).float() / 128)
    angles = torch.outer(torch.arange(first, first + 16).float(), inverse)
    low, high = q.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    drifted = torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1)
    tolerance = KERNEL.tolerances["float32"]
    assert compare(drifted, one.expected(inputs)[0], tolerance).reason("out", tolerance) != ""


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("short", ["v0", "v1"])
def test_a_torch_version(short: str, dtype: str) -> None:
    call = BACKENDS["python"].load(KERNEL.version(short).path, KERNEL)
    for shape in SHAPES:
        assert check(call, _problem(dtype, shape), SEEDS, 1).reason == "", shape


@pytest.mark.slow
@pytest.mark.parametrize("version", versions("rope"), ids=_named)
def test_a_cuda_version_on_the_host(version: Version, tmp_path: Path) -> None:
    call = load_for_host(KERNEL, version, tmp_path)
    shapes = [shape for shape in SHAPES if shape != MANY_HEADS or version.short != "v7"]  # a block a head: slow here
    for dtype in WIDTHS:
        for shape in shapes:
            outcome = check(call, _problem(dtype, shape), SEEDS, 1)
            assert outcome.reason == "", (dtype, shape)
            assert dtype != "float32" or (outcome.norm_error or 0.0) < 1e-7


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("shape", [(43, 3, 64, 100, 10_000), (9, 40, 128, 1 << 17, 10_000), (130, 2, 128, 0, 10_000)])
def test_a_thread_walks_through_heads(shape: tuple[int, ...], dtype: str, tmp_path: Path) -> None:
    call = load_for_host(KERNEL, KERNEL.version("v8"), tmp_path, FEW_BLOCKS=0, MANY_BLOCKS=2)
    assert check(call, _problem(dtype, shape), (1, 2), 0).reason == ""


@pytest.mark.slow
@pytest.mark.parametrize("version", ["v9", "v10"])
@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("shape", [(43, 3, 64, 100, 10_000), (9, 40, 128, 1 << 17, 10_000), (130, 1, 128, 0, 10_000)])
def test_a_block_has_packs_positions_and_heads(
    shape: tuple[int, ...], dtype: str, version: str, tmp_path: Path
) -> None:
    call = load_for_host(KERNEL, KERNEL.version(version), tmp_path, MOST_GRID_YZ=7, MOST_BLOCK_Z=3)
    assert check(call, _problem(dtype, shape), (1, 2), 0).reason == ""


@pytest.mark.slow
@pytest.mark.parametrize("version", ["v8", "v9", "v10"])
@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("dim", EVEN_DIMS)
def test_any_even_dim(dim: int, dtype: str, version: str, tmp_path: Path) -> None:
    call = load_for_host(KERNEL, KERNEL.version(version), tmp_path)
    assert check(call, _problem(dtype, (3, 5, dim, 1000, 10_000)), SEEDS, 0).reason == ""


def _moved_by_one(call: Call, dim: int, device: str) -> None:
    """Turn a tensor that lies two bytes behind a multiple of sixteen."""
    one = replace(_problem("bfloat16", (2, 3, dim, 1000, 10_000)), device=device)
    q, first, theta = one.inputs(1)
    moved = torch.cat((torch.zeros(1, dtype=q.dtype, device=device), q.flatten()))[1:].view(q.shape)
    out = torch.zeros_like(q)
    call((moved, first, theta), (out,), one.workload.integers)
    assert compare(out, one.expected((q, first, theta))[0], KERNEL.tolerances["bfloat16"]).wrong == 0


@pytest.mark.parametrize("dim", [64, 512])
@pytest.mark.parametrize("version", ["v8", "v9", "v10"])
def test_any_address(version: str, dim: int, tmp_path: Path) -> None:
    _moved_by_one(load_for_host(KERNEL, KERNEL.version(version), tmp_path), dim, "cpu")


@pytest.mark.parametrize("version", versions("rope"), ids=_named)
def test_what_a_version_cannot_serve_is_refused(version: Version, tmp_path: Path) -> None:
    call = load_for_host(KERNEL, version, tmp_path)
    for changed in ({"dim": 7}, {"width": 8}, {"theta": 0}):
        one = _problem("float32", START)
        inputs = (torch.zeros(8), 0, changed.get("theta", 1))
        with pytest.raises(RuntimeError, match="returned"):
            call(inputs, (torch.zeros(8),), {**one.workload.integers, **changed})


@pytest.mark.parametrize("version", ["v9", "v10"])
def test_positions_beyond_the_phase_are_refused(version: str, tmp_path: Path) -> None:
    call = load_for_host(KERNEL, KERNEL.version(version), tmp_path)
    one = _problem("float32", START)
    with pytest.raises(RuntimeError, match="returned"):
        call((torch.zeros(8), (1 << 32) - 5, 1), (torch.zeros(8),), one.workload.integers)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["v9", "v10"])
def test_cosines_all_around_the_circle(version: str, tmp_path: Path) -> None:
    call = load_for_host(KERNEL, KERNEL.version(version), tmp_path)
    one = _problem("float32", (1, 40_000, 8, 0, 10_000))
    q, first, theta = one.inputs(1)
    q = torch.cat((torch.ones(1, 40_000, 4), torch.zeros(1, 40_000, 4)), dim=-1)  # out: cosines, sines
    out = torch.zeros_like(q)
    call((q, first, theta), (out,), one.workload.integers)
    assert (out - one.expected((q, first, theta))[0]).abs().max() < 1.5e-7


@pytest.mark.parametrize("first", [1 << 20, 1 << 30])
@pytest.mark.parametrize("version", ["v9", "v10"])
def test_angles_stay_right_far_out(version: str, first: int, tmp_path: Path) -> None:
    call = load_for_host(KERNEL, KERNEL.version(version), tmp_path)
    outcome = check(call, _problem("float32", (2, 5, 128, first, 500_000)), SEEDS, 0)
    assert outcome.reason == ""
    assert (outcome.norm_error or 1.0) < 2e-7


@pytest.mark.gpu
@pytest.mark.timeout(600)
@pytest.mark.parametrize("short", ["v9", "v10"])
def test_blocks_of_every_dim_and_address_on_a_gpu(short: str, tmp_path: Path) -> None:
    """The emulation knows no limit on the threads of a block; a GPU refuses what is above it."""
    version = KERNEL.version(short)
    outcome = build_versions(KERNEL, (version,), tmp_path)[version.name]
    assert outcome.artifact is not None, outcome.log
    call = BACKENDS["cuda"].load(outcome.artifact, KERNEL)
    for dtype in WIDTHS:
        for dim in EVEN_DIMS:
            for heads, seq in ((9, 33), (300, 1)):
                one = replace(_problem(dtype, (heads, seq, dim, 1000, 10_000)), device="cuda")
                assert check(call, one, SEEDS, 1).reason == "", (dtype, heads, seq, dim)
    for dim in (64, 512):
        _moved_by_one(call, dim, "cuda")


def _liger(queries: Any, keys: Any, cos: Any, sin: Any) -> None:
    """Turn [batch, heads, positions, dim] in place, where positions before heads lie without gaps, as Liger does."""
    assert cos.dtype == sin.dtype == torch.float32
    assert queries.shape[0] == keys.shape[0]
    for x in (queries, keys):
        assert x.transpose(1, 2).is_contiguous()
        low, high = x.float().chunk(2, dim=-1)
        x.copy_(x.float() * cos + torch.cat((-high, low), dim=-1) * sin)


class _FlashInfer:
    """Its kernel: tokens, heads, dim, with any strides; a row of the table a token, cosines before sines."""

    def apply_rope_pos_ids_cos_sin_cache(
        self, q: Any, k: Any, turned: Any, keys: Any, table: Any, rows: Any, interleave: bool
    ) -> None:
        assert (interleave, table.dtype, rows.dtype) == (False, torch.float32, torch.int32)
        assert (len(rows), k.shape[1], keys.shape[1]) == (q.shape[0], 0, 0)
        cos, sin = table[rows.long()].unsqueeze(1).chunk(2, dim=-1)
        low, high = q.float().chunk(2, dim=-1)
        turned.copy_(torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1))


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Liger and FlashInfer as far as our versions use them, by what their documentation says."""
    made = {"liger_kernel.ops.rope": {"rope_forward": _liger}, "flashinfer.rope": {"get_rope_module": _FlashInfer}}
    for name, members in made.items():
        parts = name.split(".")
        for depth in range(1, len(parts) + 1):
            monkeypatch.setitem(sys.modules, ".".join(parts[:depth]), types.ModuleType(parts[depth - 1]))
        vars(sys.modules[name]).update(members)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("short", "dtype"), [("v3", "float32"), ("v3", "bfloat16"), ("v4", "bfloat16")])
def test_a_peer_is_called_as_it_wants(short: str, dtype: str, shape: tuple[int, ...], packages: None) -> None:
    version = KERNEL.version(short)
    assert len(version.packages) == 1
    call = BACKENDS["python"].load(version.path, KERNEL)
    assert check(call, _problem(dtype, shape), SEEDS, 1).reason == ""
