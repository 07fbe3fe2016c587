"""layernorm_dropout_residual: known answers of Philox, the reference, torch, and the CUDA versions run on the host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulation import KERNELS, load_with_warps, problem, versions

torch = pytest.importorskip("torch")

from ncu_assist.backends import BACKENDS, backend_of, build_versions  # noqa: E402
from ncu_assist.backends.base import Call  # noqa: E402
from ncu_assist.backends.python import import_file  # noqa: E402
from ncu_assist.harness.check import check, compare  # noqa: E402
from ncu_assist.spec import DTYPE_BYTES, Version  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402

KERNEL = read_kernel(KERNELS / "layernorm_dropout_residual")
REFERENCE: Any = import_file(KERNEL.reference)
SEEDS = (1, 2)
KEEP = 58982
# rows, cols: a row, a column, lanes that have none, a block less than full and just full, several passes over a row
SMALL = [(1, 1), (5, 3), (3, 7), (35, 24), (9, 64), (5, 72), (3, 256), (3, 300), (2, 1000), (2, 1024)]
LARGE = [(2, 1032), (2, 2048), (2, 4093), (3, 4096), (2, 5000), (1, 8192)]
LONG = [(2, 8200), (1, 16_384), (2, 20_004), (1, 33_001), (1, 70_001), (1, 131_072), (1, 140_000)]
# Salmon and others 2011, kat_vectors of their library Random123: counter, key, words
KNOWN = [
    ([0] * 4, 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, (1 << 64) - 1, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        0x299F31D0A4093822,
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]
# Changes to v10 that a test has to find: lanes that exchange the wrong bits; blocks that draw as the first one does,
# are written to before they have started, or read before all have written; a warp's own mean in place of the row's.
FAULTS = {
    "k * AT_A_TIME / LANES * DRAWS": "0",
    "kept(dropout, first, SPREAD_BLOCK, index)": "kept(dropout, warp * WARP, SPREAD_BLOCK, index)",
    "    await_cluster();  // none": "    // none",
    "    arrive_in_cluster();\n    await_cluster();  // from": "    arrive_in_cluster();  // from",
    "(mean - row.mean) * row.inverse": "0.0f",
    "parts[i].count * off * off": "0.0f",
}


def _problem(rows: int, cols: int, dtype: str = "float32", keep: int = KEEP) -> Any:
    return problem(KERNEL, dtype, rows=rows, cols=cols, keep=keep, width=DTYPE_BYTES[dtype])


def _named(version: Version) -> str:
    return version.short


def _reasons(call: Call, shapes: list[tuple[int, int]], dtype: str = "float32", keep: int = KEEP) -> dict[Any, str]:
    reasons = {shape: check(call, _problem(*shape, dtype, keep), SEEDS, 0).reason for shape in shapes}
    return {shape: reason for shape, reason in reasons.items() if reason}


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_philox_by_its_known_answers(counter: list[int], key: int, words: list[int]) -> None:
    assert [int(w) for w in REFERENCE.philox([torch.tensor(c) for c in counter], key)] == words


def test_a_draw_hangs_on_its_place_and_on_both_halves_of_the_seed() -> None:
    draws = REFERENCE.draws(4, 21, 7 + (9 << 32), "cpu")
    words = REFERENCE.philox([torch.tensor(c) for c in (2, 3, 0, 0)], 7 + (9 << 32))
    assert draws[3, 16:].tolist() == [int(w) >> up & 0xFFFF for w in words for up in (0, 16)][:5]
    assert torch.equal(draws[:3, :9], REFERENCE.draws(3, 9, 7 + (9 << 32), "cpu"))
    assert not torch.equal(draws, REFERENCE.draws(4, 21, 7 + (8 << 32), "cpu"))
    seeds = [_problem(1, 1).inputs(seed)[5] for seed in range(4)]
    assert all(0 < seed < 1 << 63 for seed in seeds)
    assert len({seed >> 32 for seed in seeds}) == len({seed & 0xFFFFFFFF for seed in seeds}) == 4


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_reference_in_extended_precision(dtype: str) -> None:
    x, residual, gamma, beta, keep, seed = inputs = _problem(5, 37, dtype).inputs(3)
    wide = [t.double().numpy().astype(np.longdouble) for t in (x, residual, gamma, beta)]
    away = wide[0] - wide[0].mean(axis=1, keepdims=True)
    y = away / np.sqrt((away * away).mean(axis=1, keepdims=True) + np.longdouble(1e-5)) * wide[2] + wide[3]
    kept = REFERENCE.draws(5, 37, seed, "cpu").numpy() < keep
    exact = wide[1] + np.where(kept, y * 65536 / keep, 0)
    assert np.allclose(_problem(5, 37, dtype).expected(inputs)[0].numpy(), exact.astype(float), rtol=1e-12, atol=1e-12)


def test_the_mean_of_squares_less_the_square_of_the_mean_is_refused() -> None:
    one = _problem(64, 4096)
    x, residual, gamma, beta, keep, seed = inputs = one.inputs(1)
    mean = x.mean(dim=1, keepdim=True)
    variance = x.square().mean(dim=1, keepdim=True) - mean.square()
    y = (x - mean) * torch.rsqrt(variance + 1e-5) * gamma + beta
    kept = REFERENCE.draws(64, 4096, seed, "cpu") < keep
    tolerance = KERNEL.tolerances["float32"]
    out = torch.where(kept, residual + y * (65536 / keep), residual)
    assert compare(out, one.expected(inputs)[0], tolerance).reason("out", tolerance) != ""


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("keep", [0, 32768, KEEP, 65536])
def test_eager_torch_draws_by_itself(dtype: str, keep: int) -> None:
    version = KERNEL.version("v0")
    assert (version.draws_own, KERNEL.version("v1").draws_own, KERNEL.version("v9").draws_own) == (True, True, False)
    call = BACKENDS["python"].load(version.path, KERNEL)
    for shape in [(0, 7), (400, 24), (40, 4096), (33, 4093), (2, 40_000)]:
        assert check(call, _problem(*shape, dtype, keep), (1, 2, 3), 2, draws_own=True).reason == "", shape
    if keep in (32768, KEEP):
        assert "elements are wrong" in check(call, _problem(40, 4096, dtype, keep), SEEDS, 0).reason


@pytest.mark.slow
@pytest.mark.parametrize("version", versions(KERNEL.name), ids=_named)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_cuda_version_on_the_host(dtype: str, version: Version, tmp_path: Path) -> None:
    call = load_with_warps(KERNEL, version, tmp_path)
    assert _reasons(call, [(0, 7), (3, 0), *SMALL, *LARGE], dtype) == {}
    assert _reasons(call, LONG if version.short == "v10" else [(2, 8200), (1, 20_001)], dtype) == {}


@pytest.mark.slow
@pytest.mark.parametrize("version", versions(KERNEL.name), ids=_named)
@pytest.mark.parametrize("keep", [0, 1, 32768, 65535, 65536])
def test_any_probability(keep: int, version: Version, tmp_path: Path) -> None:
    call = load_with_warps(KERNEL, version, tmp_path)
    for dtype in ("float32", "bfloat16"):
        one = _problem(3, 1032, dtype, keep)
        inputs, (out,) = one.inputs(1), one.outputs()
        call(inputs, (out,), one.workload.integers)
        residual = inputs[1]
        kept = REFERENCE.draws(3, 1032, inputs[5], "cpu") < keep
        assert torch.equal(out[~kept], residual[~kept]), dtype
        assert keep == 1 or _reasons(call, [(3, 1032), (3, 40)], dtype, keep) == {}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, tmp_path: Path) -> None:
    call = load_with_warps(KERNEL, KERNEL.version("v10"), tmp_path, {fault: FAULTS[fault]})
    found = {shape: check(call, _problem(*shape), (1,), 0).reason for shape in [(2, 4093), (2, 33_004)]}
    assert any("elements are wrong" in reason for reason in found.values()), found


@pytest.mark.parametrize("version", versions(KERNEL.name), ids=_named)
def test_any_address_of_an_element(version: Version, tmp_path: Path) -> None:
    call = load_with_warps(KERNEL, version, tmp_path)
    for dtype, cols in (("float32", 264), ("bfloat16", 2048)):
        one = _problem(3, cols, dtype)
        x, *others = inputs = one.inputs(1)
        (expected,) = one.expected(inputs)
        moved = torch.cat((torch.zeros(1, dtype=x.dtype), x.flatten()))[1:].view(x.shape)
        (out,) = one.outputs()
        call((moved, *others), (out,), one.workload.integers)
        assert compare(out, expected, KERNEL.tolerances[dtype]).wrong == 0, dtype


@pytest.mark.parametrize("version", versions(KERNEL.name), ids=_named)
def test_what_a_version_cannot_serve_is_refused(version: Version, tmp_path: Path) -> None:
    call = load_with_warps(KERNEL, version, tmp_path)
    one = _problem(1, 8)
    right = one.inputs(1)
    changes = [{"rows": -1}, {"cols": -1}, {"rows": 1 << 31}, {"cols": (1 << 30) + 1}, {"width": 8}]
    for change in changes:
        with pytest.raises(RuntimeError, match="returned"):
            call(right, one.outputs(), {**one.workload.integers, **change})
    for keep in (-1, 65537):
        with pytest.raises(RuntimeError, match="returned"):
            call((*right[:4], keep, right[5]), one.outputs(), one.workload.integers)


@pytest.mark.gpu
@pytest.mark.timeout(600)
@pytest.mark.parametrize("cols", [257, 4096, 70_001])
def test_offsets_beyond_two_to_the_31_on_a_gpu(cols: int, tmp_path: Path) -> None:
    """13 GB in bfloat16; the last rows tell, and no reference of all of them is needed."""
    rows = (1 << 31) // cols + 9
    one = replace(_problem(rows, cols, "bfloat16"), device="cuda")
    last, *others = replace(_problem(8, cols, "bfloat16"), device="cuda").inputs(1)
    x = torch.zeros(rows, cols, device="cuda", dtype=torch.bfloat16)
    residual = torch.zeros_like(x)
    x[-8:], residual[-8:] = last, others[0]
    keep, seed = others[3:]
    kept = REFERENCE.draws(8, cols, seed, "cuda", first_row=rows - 8) < keep
    (expected,) = REFERENCE.reference(last, *others, kept)
    outcomes = build_versions(KERNEL, KERNEL.select_versions(("v2", "v5", "v6", "v8", "v9", "v10")), tmp_path)
    for name, outcome in outcomes.items():
        assert outcome.artifact is not None, outcome.log
        out = torch.full_like(x, -1.0)
        call = backend_of(KERNEL.version(name).path).load(outcome.artifact, KERNEL)
        call((x, residual, *others[1:]), (out,), one.workload.integers)
        tolerance = KERNEL.tolerances["bfloat16"]
        assert compare(out[-8:], expected, tolerance).reason("out", tolerance) == "", name
