"""gemm_bias_gelu: the reference in extended precision, versions in torch, the CUDA versions' own code on the host."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulation import KERNELS, load_with_warps, problem, versions
from requirements import needs

torch = pytest.importorskip("torch")

from ncu_assist.backends import BACKENDS, backend_of, build_versions  # noqa: E402
from ncu_assist.backends.base import Call  # noqa: E402
from ncu_assist.harness.check import check, compare  # noqa: E402
from ncu_assist.sources import source_files  # noqa: E402
from ncu_assist.spec import Version  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402
from ncu_assist.store import Store  # noqa: E402
from ncu_assist.store.choosing import recorded_runs_matching  # noqa: E402

KERNEL = read_kernel(KERNELS / "gemm_bias_gelu")
TOLERANCE = KERNEL.tolerances["bfloat16"]
WMMA = ("v4", "v5")
STAGED = ("v7", "v8", "v9", "v10")
MMA = ("v6", *STAGED)  # ldmatrix from swizzled tiles
TMA = [v for v in KERNEL.versions if any(file.name == "tma.cuh" for file in source_files(v.path))]
ON_HOST = [v for v in versions("gemm_bias_gelu") if v not in TMA]  # the emulation has neither TMA nor wgmma
# What ptxas says where it makes wgmma wait for one another, or ignores setmaxnreg.
LOSSES = re.compile(r"\(C75\d\d\)|serialized|setmaxnreg")
# m, n, k: one element; nothing to sum; whole tiles; rows that start on 16 bytes, or anywhere; one more than a tile;
# more tiles along k than there are stages
SMALL = [(1, 1, 1), (5, 3, 0), (16, 16, 16), (3, 8, 8), (17, 9, 31), (33, 40, 72)]
LARGE = [(128, 256, 64), (129, 257, 65), (136, 264, 200), (7, 16, 1096), (70, 33, 1027)]
# Many tiles are many seconds on the host: smaller ones have the same code, and more of them fit.
TILES = re.compile(r"TILE_M = 128, TILE_N = \d+")
Shape = tuple[int, int, int]

# Changes that a test has to find: right, wrong.
IN_WMMA = {
    "a bias for each place in a patch": ("bias_at(layer, col + i)", "bias_at(layer, i)"),
    "sums that are read while others still store them": ("mem_row_major);\n    __syncwarp();", "mem_row_major);"),
    "weight as if it were k by n": ("wmma::col_major>;  // k by n", "wmma::row_major>;"),
    "a row behind the last": ("if (row >= layer.m) return;", ""),
    "what lies behind k": ("col + i < cols ? __bfloat16_as_ushort(from[i]) : 0", "__bfloat16_as_ushort(from[i])"),
}
IN_V4 = {
    "an edge that is overwritten too early": ("    __syncwarp();  // the last one has been loaded\n", ""),
    "a tile loaded across its end": ("k0 + SIDE <= layer.k", "k0 < layer.k"),
}
IN_V5 = {
    "a patch that is used again too early": ("    __syncwarp();  // the patch may be used again\n", ""),
    "a tile that is multiplied before it is there": ("        __syncthreads();\n#pragma", "#pragma"),
    "a tile that is filled before it is used": ("        __syncthreads();\n    }\n    float", "    }\n    float"),
    "rows that start between 16 bytes": ("STRIDE = DEPTH + CHUNK", "STRIDE = DEPTH + 4"),
}
IN_MMA = {
    "the second half of B from the first": ("b[0], b[1])", "b[0], b[0])"),
    "a bias for each lane's place": ("2 * t + i % 2);", "i % 2);"),
    "columns exchanged the wrong way": ("upper ? low : high", "upper ? high : low"),
    "the rows of B in A's order": ("lane / 16 * 8 + lane % 8, chunk + lane / 8 % 2", "lane % 16, chunk + lane / 16"),
    "a row behind the last": ("if (row + 8 * i >= layer.m) continue;", ""),
    "a column behind the last": ("if (at < layer.n) *", "*"),
    "an element behind the last": ("if (at < layer.n) to[at]", "to[at]"),
    "half of the rows": ("sums.of[i / 2][group + j] + i % 2 * 2", "sums.of[i / 2][group + j]"),
}
IN_V6 = {
    "a tile that is multiplied before it is there": ("        __syncthreads();\n#pragma", "#pragma"),
    "a tile that is filled before it is used": ("        __syncthreads();\n    }\n    finish", "    }\n    finish"),
}
IN_STAGED = {
    "groups that are never closed": ("        commit_copies();", ""),
    "a stage more than there is memory for": ("BYTES = STAGES *", "BYTES = (STAGES - 1) *"),
    "what lies behind k": ("col < k ? rows", "true ? rows"),
    "a stage that is filled before it is used": (
        "return memory + tile % STAGES",
        "return memory + tile % (STAGES - 1)",
    ),
    "memory without leave": (
        "cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES)",
        "cudaSuccess",
    ),
}
IN_V7 = {
    "a tile that is not waited for": (
        "        wait_for_copies<STAGES - 2>();",
        "        wait_for_copies<STAGES - 1>();",
    ),
    "a tile that others still copy": ("        __syncthreads();  // this", "        // this"),
}
IN_V9 = {
    "a tile that is not waited for": ("                wait_for_copies<STAGES - 2>();", ""),
    "a tile that others still copy": ("                __syncthreads();  // the", "                // the"),
    "a stage that is filled too early": ("if (step == 0) stages", "if (step == 3) stages"),
    "the first tile": ("    wait_for_copies<STAGES - 2>();\n    __sync", "    __sync"),
    "fragments of the step before": (
        "multiply(sums, fragments[step % 2])",
        "multiply(sums, fragments[(step + 1) % 2])",
    ),
}
IN_V10 = {"a last group as tall as the others": ("tiles_m - first < GROUP ? tiles_m - first : GROUP", "GROUP")}
FAULTS = [
    (short, fault, *change)
    for table, shorts in (
        (IN_WMMA, WMMA),
        (IN_V4, ("v4",)),
        (IN_V5, ("v5",)),
        (IN_MMA, ("v10",)),
        (IN_V6, ("v6",)),
        (IN_STAGED, ("v10",)),
        (IN_V7, ("v7",)),
        (IN_V9, ("v9",)),
        (IN_V10, ("v10",)),
    )
    for fault, change in table.items()
    for short in shorts
]


def _problem(m: int, n: int, k: int) -> Any:
    return problem(KERNEL, "bfloat16", m=m, n=n, k=k)


def _load(short: str, folder: Path, faults: dict[str, str] | None = None, **constants: int) -> Call:
    return load_with_warps(KERNEL, KERNEL.version(short), folder, faults, **constants)


def _smaller(short: str, stages: int = 0) -> dict[str, str]:
    """Changes to a version with tiles: of 32 x 64 outputs, by four warps; perhaps other stages, and groups of two."""
    code = KERNEL.version(short).path.read_text(encoding="utf-8")
    found = TILES.search(code)
    assert found, short
    changes = {found[0]: "TILE_M = 32, TILE_N = 64", "WARPS_N = 4": "WARPS_N = 2"}
    if stages:
        changes[re.search(r"STAGES = \d", code)[0]] = f"STAGES = {stages}"  # type: ignore[index]
    return {**changes, "GROUP = 16": "GROUP = 2"} if "GROUP = 16" in code else changes


def _reasons(call: Call, shapes: list[Shape], seeds: tuple[int, ...] = (1,)) -> dict[Shape, str]:
    reasons = {shape: check(call, _problem(*shape), seeds, 0).reason for shape in shapes}
    return {shape: reason for shape, reason in reasons.items() if reason}


def _named(version: Version) -> str:
    return version.short


@pytest.mark.parametrize("shape", [*SMALL, (9, 33, 700)])
def test_the_reference_in_extended_precision(shape: Shape) -> None:
    inputs = _problem(*shape).inputs(5)
    x, weight, bias = (t.double().numpy().astype(np.longdouble) for t in inputs)
    z = x @ weight.T + bias
    exact = z / 2 * (1 + np.tanh(np.sqrt(2 / np.longdouble(np.pi)) * (z + np.longdouble("0.044715") * z**3)))
    (expected,) = _problem(*shape).expected(inputs)
    assert torch.allclose(expected, torch.from_numpy(exact.astype(np.float64)), rtol=1e-11, atol=1e-14)


def test_gelu_gets_values_where_it_is_curved() -> None:
    x, weight, bias = (t.double() for t in _problem(200, 300, 256).inputs(3))
    before = x @ weight.mT + bias
    assert 1.3 < float(before.std()) < 1.55
    assert 0.9 < float((before.abs() < 3).double().mean()) < 0.99


def test_the_tolerance_tells_what_it_says_it_tells() -> None:
    one = _problem(64, 300, 12_288)
    x, weight, bias = inputs = one.inputs(1)
    (expected,) = one.expected(inputs)

    def reason(x: Any, bias: Any) -> str:
        (out,) = one.expected((x, weight, bias))
        return compare(out.bfloat16(), expected, TOLERANCE).reason("out", TOLERANCE)

    assert reason(x, bias) == ""
    without = x.clone()
    without[:, 77] = 0
    assert "in the norm" in reason(without, bias) or "are wrong" in reason(without, bias)
    assert "are wrong" in reason(x, bias.roll(1))
    by_erf = torch.nn.functional.gelu(x.double() @ weight.double().mT + bias.double())
    assert 1e-4 < compare(by_erf, expected, TOLERANCE).norm_error < 3e-4


@pytest.mark.parametrize(("short", "most"), [("v0", 3.2e-3), ("v1", 3.2e-3)])
def test_a_torch_version(short: str, most: float) -> None:
    call = BACKENDS["python"].load(KERNEL.version(short).path, KERNEL)
    assert _reasons(call, [s for s in (*SMALL, *LARGE) if s[2]]) == {}
    assert (check(call, _problem(200, 300, 1000), (1, 2), 0).norm_error or 1.0) < most


@pytest.mark.slow
@pytest.mark.parametrize("version", ON_HOST, ids=_named)
def test_a_cuda_version_on_the_host(version: Version, tmp_path: Path) -> None:
    assert _reasons(_load(version.short, tmp_path), [*SMALL, *LARGE]) == {}


@pytest.mark.parametrize("version", ON_HOST, ids=_named)
def test_the_error_is_that_of_one_rounding(version: Version, tmp_path: Path) -> None:
    call = _load(version.short, tmp_path)
    assert (check(call, _problem(64, 128, 512), (1, 2), 0).norm_error or 1.0) < 1.9e-3


@pytest.mark.slow
@pytest.mark.parametrize("short", STAGED)
@pytest.mark.parametrize("stages", [2, 3, 5])
def test_other_tiles_and_stages(short: str, stages: int, tmp_path: Path) -> None:
    call = _load(short, tmp_path, _smaller(short, stages))
    assert _reasons(call, [(1, 1, 1), (70, 136, 72), (161, 130, 65), (33, 72, 648), (20, 200, 321)], (1, 2)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("short", MMA)
def test_rows_of_a_matrix_lie_in_different_banks(short: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []  # from two folders: one library is loaded once
    for name, changes in (("swizzled", {}), ("plain", {"(chunk ^ row % 8)": "chunk"})):
        (tmp_path / name).mkdir()
        calls.append(_load(short, tmp_path / name, {**_smaller(short), **changes}))
    swizzled, plain = calls
    assert _reasons(plain, [(40, 72, 136)]) == {}
    monkeypatch.setenv("EMULATED_CONFLICTS", "1")
    assert _reasons(swizzled, [(40, 72, 136)]) == {}
    assert _reasons(plain, [(40, 72, 136)]) != {}


@pytest.mark.slow
@pytest.mark.parametrize(("short", "fault", "right", "wrong"), FAULTS, ids=[f"{v}-{what}" for v, what, *_ in FAULTS])
def test_a_fault_is_found(short: str, fault: str, right: str, wrong: str, tmp_path: Path) -> None:
    changes = {} if short in WMMA or "memory" in fault else _smaller(short)
    call = _load(short, tmp_path, {**changes, right: wrong})
    shapes = ((70, 72, 328), (37, 69, 331))
    try:
        found = any(check(call, _problem(*shape), (1,), 0).reason for shape in shapes)
    except RuntimeError:  # the launch is refused
        found = True
    assert found, fault


@pytest.mark.slow
@pytest.mark.parametrize("short", ["v5", "v6"])
def test_gelu_of_every_number(short: str, tmp_path: Path) -> None:
    """Nothing to sum: what comes out is GELU of the bias. atol is for the reference, where 1 + tanh cancels."""
    bias = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
    x, weight = torch.empty(1, 0, dtype=torch.bfloat16), torch.empty(1 << 16, 0, dtype=torch.bfloat16)
    out = torch.empty(1, 1 << 16, dtype=torch.bfloat16)
    _load(short, tmp_path)((x, weight, bias), (out,), {"m": 1, "n": 1 << 16, "k": 0})
    (expected,) = _problem(1, 1 << 16, 0).expected((x, weight, bias))
    finite = bias.isfinite()
    assert torch.allclose(out[:, finite].double(), expected[:, finite], rtol=2**-8, atol=1e-14)
    assert torch.equal(out[:, ~finite].isnan(), expected[:, ~finite].isnan())
    assert float(out[0, bias == float("inf")]) == float("inf")


@pytest.mark.parametrize("version", ON_HOST, ids=_named)
@pytest.mark.parametrize("shift", [1, 4, 8])
def test_any_address(version: Version, shift: int, tmp_path: Path) -> None:
    call = _load(version.short, tmp_path)
    one = _problem(9, 24, 72)
    inputs = one.inputs(1)
    (expected,) = one.expected(inputs)
    moved = [torch.zeros(shift + t.numel(), dtype=t.dtype) for t in (*inputs, expected.bfloat16())]
    for there, tensor in zip(moved, inputs, strict=False):
        there[shift:] = tensor.flatten()
    *given, out = (t[shift:] for t in moved)
    call(tuple(given), (out,), one.workload.integers)
    assert compare(out.view(9, 24), expected, TOLERANCE).reason("out", TOLERANCE) == ""
    assert moved[-1][:shift].tolist() == [0.0] * shift


@pytest.mark.parametrize("version", ON_HOST, ids=_named)
def test_what_a_version_cannot_serve_is_refused(version: Version, tmp_path: Path) -> None:
    _assert_refusals(_load(version.short, tmp_path))


@pytest.mark.slow
@needs("nvcc", "ninja")
def test_what_a_version_by_tma_cannot_serve_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a GPU is asked for anything."""
    monkeypatch.setenv("NCU_ASSIST_ARCH", "sm_90a")
    outcomes = build_versions(KERNEL, TMA, tmp_path)
    assert len(outcomes) == len(TMA)
    for name, outcome in outcomes.items():
        assert outcome.artifact is not None, outcome.log
        assert not LOSSES.search(outcome.log), outcome.log
        _assert_refusals(backend_of(KERNEL.version(name).path).load(outcome.artifact, KERNEL))


@pytest.mark.slow
@needs("nvcc", "ninja")
def test_another_architecture_is_told_what_wgmma_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCU_ASSIST_ARCH", "sm_90")
    (outcome,) = build_versions(KERNEL, (KERNEL.version("v12"),), tmp_path).values()
    assert outcome.artifact is None
    assert "NCU_ASSIST_ARCH=sm_90a" in outcome.log


@pytest.mark.parametrize("version", TMA, ids=_named)
def test_no_product_waits_for_another_in_what_was_recorded(version: Version) -> None:
    stored = recorded_runs_matching(Store(KERNELS.parent / "reports"), KERNEL)[version.name]
    assert stored is not None
    assert not LOSSES.search(stored.read("build.log").decode())


def _assert_refusals(call: Call) -> None:
    tensors = (torch.zeros(8, dtype=torch.bfloat16),) * 3
    over = (1 << 30) + 1
    for m, n, k in (
        (-1, 4, 4),
        (4, -1, 4),
        (4, 4, -1),
        (over, 1, 1),
        (1, over, 1),
        (1, 1, over),
        (1 << 29, 1 << 29, 1),
    ):
        with pytest.raises(RuntimeError, match="returned"):
            call(tensors, tensors[:1], {"m": m, "n": n, "k": k})
    for m, n in ((0, 4), (4, 0)):
        call(tensors, tensors[:1], {"m": m, "n": n, "k": 4})


@pytest.mark.gpu
@pytest.mark.timeout(900)
@pytest.mark.parametrize("shape", [(140_009, 256, 16_384), (256, 140_009, 16_384), (70_001, 33_000, 64)])
def test_offsets_beyond_two_to_the_31_on_a_gpu(shape: Shape, tmp_path: Path) -> None:
    """4 GB; the last rows and columns tell."""
    m, n, k = shape
    one = replace(_problem(m, n, k), device="cuda")
    x, weight, bias = one.inputs(1)
    last = [(slice(-32, None), slice(-256, None)), (slice(0, 32), slice(-256, None)), (slice(-32, None), slice(0, 256))]
    wanted = [one.module.reference(x[rows], weight[cols], bias[cols])[0] for rows, cols in last]
    cuda = tuple(v.short for v in KERNEL.versions if v.number >= 3)
    outcomes = build_versions(KERNEL, KERNEL.select_versions(cuda), tmp_path)
    for name, outcome in outcomes.items():
        assert outcome.artifact is not None, outcome.log
        out = torch.full((m, n), -1.0, dtype=torch.bfloat16, device="cuda")
        call = backend_of(KERNEL.version(name).path).load(outcome.artifact, KERNEL)
        call((x, weight, bias), (out,), one.workload.integers)
        for place, expected in zip(last, wanted, strict=True):
            assert compare(out[place], expected, TOLERANCE).reason("out", TOLERANCE) == "", name
