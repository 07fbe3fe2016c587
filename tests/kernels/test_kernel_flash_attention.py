"""flash_attention: the reference by plain sums, the versions in torch, the CUDA versions' own code run on the host."""

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
from ncu_assist.spec import Version, Workload  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402

KERNEL = read_kernel(KERNELS / "flash_attention")
TOLERANCE = KERNEL.tolerances["bfloat16"]
TMA = [v for v in KERNEL.versions if any(file.name == "tma.cuh" for file in source_files(v.path))]
ON_HOST = [v for v in versions("flash_attention") if v not in TMA]  # the emulation has neither TMA nor wgmma
# What ptxas says where it makes wgmma wait for one another, or ignores setmaxnreg.
LOSSES = re.compile(r"\(C75\d\d\)|serialized|setmaxnreg")
# heads, queries, keys, dim, causal: nothing; one of all; one more or less than a tile; several tiles, of which one ends
# within; fewer queries than keys, and more, some of which see nothing, a whole block of them
Shape = tuple[int, int, int, int, int]
EMPTY: list[Shape] = [(0, 5, 5, 64, 0), (2, 0, 5, 128, 1), (2, 5, 0, 64, 1), (1, 130, 0, 128, 0)]
SMALL: list[Shape] = [(2, 1, 1, 64, 0), (1, 1, 90, 128, 1), (1, 17, 63, 64, 0), (1, 63, 65, 64, 1), (1, 90, 1, 64, 1)]
LARGE: list[Shape] = [(1, 64, 128, 128, 0), (1, 129, 129, 64, 1), (2, 70, 201, 64, 1), (1, 140, 35, 128, 1)]
FAULTY: Shape = (2, 150, 139, 64, 1)  # two heads, three tiles, eleven queries that see no key
LARGER: Shape = (1, 70, 70, 128, 0)  # that takes more shared memory than there is without leave

# Changes that a test has to find: right, wrong.
IN_ALL = {
    "keys that are one too few": ("query + 1 + keys - queries", "query + keys - queries"),
    "queries that see ahead": ("query + 1 + keys - queries", "query + 2 + keys - queries"),
    "the other alignment": ("query + 1 + keys - queries", "query + 1"),
}
IN_THREADS = {
    "results that are left as they were": ("{sum.x * before, sum.y * before, sum.z *", "{sum.x, sum.y, sum.z *"),
    "sums that are left as they were": ("    total *= before;\n", ""),
    "a maximum of this tile alone": ("float higher = max;", "float higher = -INFINITY;"),
    "a mask off by one": ("key + j < seen", "key + j <= seen"),
    "a tile that is filled before it is used": ("        __syncthreads();  // the tile before has been used\n", ""),
    "a tile that is used before it is there": ("        __syncthreads();\n        float", "        float"),
    "a query without a key": ("total == 0.0f ? 0.0f : 1.0f / total", "1.0f / total"),
    "minus infinity less itself": ("higher == -INFINITY ? 0.0f : higher", "higher"),
}
IN_FRAGMENTS = {
    "results that are left as they were": ("            result[n][2 * half] *= before;\n", ""),
    "sums that are left as they were": ("rows.sum[half] * before", "rows.sum[half]"),
    "the factor of another row": ("result[n][2 * half + 1] *= before", "result[n][(2 * half + 3) % 4] *= before"),
    "a maximum of this tile alone": ("float max = rows.max[half];", "float max = -INFINITY;"),
    "a maximum of half a row": ("return fmaxf(mine, __shfl_xor_sync(ALL_LANES, mine, 2))", "return mine"),
    "a mask off by one": ("n * COLS_A_MMA + 1 >= seen", "n * COLS_A_MMA + 1 > seen"),
    "a mask for other rows": ("seen_by(row + group() + 8 * half)", "seen_by(row + group())"),
    "no mask on the diagonal": ("key + KEYS > ", "key > "),
    "powers of other keys": ("scores[2 * step], (&right)", "scores[step], (&right)"),
    "powers in another order": ("powers[1] = packed(left[2], left[3])", "powers[1] = packed(right[0], right[1])"),
    "a sum of half a row": ("        sum += __shfl_xor_sync(ALL_LANES, sum, 2);\n", ""),
    "a query without a key": ("sum == 0.0f ? 0.0f : 1.0f / sum", "1.0f / sum"),
    "minus infinity less itself": ("max == -INFINITY ? 0.0f : max * factor", "max * factor"),
    "a row behind the last": ("if (row >= count) continue;", ""),
}
IN_PLAIN = {
    "columns for rows": ("halves[DIM]", "halves[1]"),
    "half of a key": ("(row + 8)", "(row)"),
}
IN_V6 = {
    "a tile that is used before it is there": ("        __syncthreads();\n        Scores", "        Scores"),
}
IN_STAGES = {
    "a stage that is used before it has arrived": ("        wait_for_copies<0>();\n", ""),
    "a stage that others still copy": ("        __syncthreads();\n        if (key", "        if (key"),
    "groups that are never closed": ("        commit_copies();\n", ""),
    "a stage that is filled before it is used": ("(key / KEYS + 1) % 2", "key / KEYS % 2"),
    "memory without leave": ("MaxDynamicSharedMemorySize, BYTES)", "MaxDynamicSharedMemorySize, 0)"),
    "a stage more than there is memory for": ("BYTES = 4 * Tile::BYTES", "BYTES = 3 * Tile::BYTES"),
}
IN_SWIZZLED = {
    "copies that are not swizzled": ("tile + Tile::place(own, chunk)", "tile + own * Tile::DIM + chunk * CHUNK"),
    "copies that are swizzled in another way": ("Tile::place(own, chunk)", "Tile::place(own, chunk ^ 1)"),
    "two chunks in one place": ("chunk ^ (row & 7)", "chunk | (row & 7)"),
    "keys in the order of values": ("matrix / 2 * 8 + lane % 8, 2 * k + matrix % 2", "lane % 16, 2 * k + matrix / 2"),
    "values that are not transposed": ("ldmatrix_x4_trans(", "ldmatrix_x4("),
    "a chunk too far": ("n + matrix / 2));", "n + matrix % 2));"),
}
IN_WIDE = {
    "rows of q in the order of keys": ("matrix % 2 * 8 + lane % 8;", "matrix / 2 * 8 + lane % 8;"),
    "the same rows twice": ("row + m * ROWS_A_MMA + matrix", "row + matrix"),
    "a mask for the first rows": ("row + m * ROWS_A_MMA, key)", "row, key)"),
    "no mask but for the last rows": ("a.seen_by(row))", "a.seen_by(row + 16))"),
}
# Without ldmatrix the warps of the emulation stay in step, unless some are held up.
PRODUCT = "        Scores scores = {};\n"
HELD_UP = {PRODUCT: f"        for (int i = threadIdx.x / WARP * 50; i > 0; --i) let_others_run();\n{PRODUCT}"}
FAULTS = [
    (short, fault, *change)
    for table, shorts in (
        (IN_ALL, ("v4", "v6", "v10")),
        (IN_THREADS, ("v5",)),
        (IN_FRAGMENTS, ("v10",)),
        (IN_PLAIN, ("v7",)),
        (IN_V6, ("v6",)),
        (IN_STAGES, ("v8", "v10")),
        (IN_SWIZZLED, ("v8",)),
        (IN_WIDE, ("v9",)),
    )
    for fault, change in table.items()
    for short in shorts
]


def _problem(shape: Shape) -> Any:
    names = ("heads", "queries", "keys", "dim", "causal")
    return problem(KERNEL, "bfloat16", batch=1, **dict(zip(names, shape, strict=True)))


def _named(version: Version) -> str:
    return version.short


def _reasons(call: Call, shapes: list[Shape]) -> dict[Shape, str]:
    reasons = {shape: check(call, _problem(shape), (1, 2), 0).reason for shape in shapes}  # stops at a seed that fails
    return {shape: reason for shape, reason in reasons.items() if reason}


def _load(short: str, folder: Path, faults: dict[str, str] | None = None, **constants: int) -> Call:
    return load_with_warps(KERNEL, KERNEL.version(short), folder, faults, **constants)


@pytest.mark.parametrize("shape", [*SMALL, *LARGE])
def test_the_reference_by_plain_sums(shape: Shape) -> None:
    heads, queries, keys, dim, causal = shape
    one = _problem(shape)
    inputs = one.inputs(5)
    q, k, v = (t[0].double().numpy().astype(np.longdouble) for t in inputs[:3])
    exact = np.zeros((1, heads, queries, dim), np.longdouble)
    for head in range(heads):
        for query in range(queries):
            seen = min(keys, query + 1 + keys - queries) if causal else keys
            if seen > 0:
                scores = k[head, :seen] @ q[head, query] / np.sqrt(np.longdouble(dim))
                powers = np.exp(scores - scores.max())
                exact[0, head, query] = powers @ v[head, :seen] / powers.sum()
    assert torch.allclose(one.expected(inputs)[0], torch.from_numpy(exact.astype(np.float64)), rtol=1e-11, atol=1e-12)


def test_the_last_query_sees_every_key_and_the_first_ones_perhaps_none() -> None:
    for shape, without in (((1, 9, 12, 64, 1), 0), ((1, 12, 9, 64, 1), 3), ((1, 12, 9, 64, 0), 0)):
        one = _problem(shape)
        (expected,) = one.expected(one.inputs(1))
        assert (expected == 0).all(dim=3).flatten().tolist() == [i < without for i in range(shape[1])]


def _scores(head: int, shape: Shape) -> Any:
    q, k, _, _ = _problem(shape).inputs(3)
    return (q[0, head].double() @ k[0, head].double().T) * shape[3] ** -0.5


def test_a_result_is_neither_of_all_keys_nor_of_one() -> None:
    shares = torch.softmax(_scores(1, (2, 700, 2048, 128, 0)), dim=1)
    sharing = 1 / shares.square().sum(dim=1)
    assert 30 < sharing.median() < 300
    assert (shares.amax(dim=1) > 0.8).sum() >= 5, "planted keys"


def test_a_head_overflows_without_its_maximum() -> None:
    wide = _scores(0, (2, 50, 300, 64, 0)).float()
    assert wide.exp().isinf().any()
    assert (wide.amax(dim=1) > 40).all()


def test_heads_weigh_alike_in_the_norm() -> None:
    one = _problem((3, 400, 1500, 128, 0))
    sizes = one.expected(one.inputs(1))[0].square().mean(dim=(0, 2, 3)).sqrt()
    assert sizes.max() < 2 * sizes.min()


def test_scores_in_bfloat16_are_not_good_enough() -> None:
    one = _problem((2, 200, 600, 128, 0))
    q, k, v, causal = inputs = one.inputs(1)
    rounded = (q @ k.mT * 128**-0.5).float()
    out = torch.softmax(rounded, dim=3).bfloat16() @ v
    assert compare(out, one.expected(inputs)[0], TOLERANCE).norm_error > 2 * TOLERANCE.norm
    assert causal == 0


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (5, 5), (5, 9), (9, 5), (1, 9), (9, 1), (64, 64)])
def test_flops_are_of_the_pairs_that_are_seen(queries: int, keys: int) -> None:
    for causal in (0, 1):
        integers = {"batch": 2, "heads": 3, "queries": queries, "keys": keys, "dim": 64, "causal": causal}
        pairs = [(i, j) for i in range(queries) for j in range(keys) if not causal or j <= i + keys - queries]
        assert KERNEL.flops(Workload("made", "bfloat16", integers, False)) == 4 * 64 * 6 * len(pairs)


@pytest.mark.slow
@pytest.mark.parametrize("short", ["v0", "v1"])
def test_a_torch_version(short: str) -> None:
    call = BACKENDS["python"].load(KERNEL.version(short).path, KERNEL)
    assert _reasons(call, [*EMPTY, *SMALL, *LARGE, FAULTY, (3, 257, 519, 128, 1)]) == {}


def test_a_backend_that_is_missing_is_refused() -> None:
    call = BACKENDS["python"].load(KERNEL.version("v2").path, KERNEL)
    with pytest.raises(RuntimeError, match="No viable backend"):
        check(call, _problem((1, 64, 64, 64, 0)), (1,), 0)


@pytest.mark.slow
@pytest.mark.parametrize("version", ON_HOST, ids=_named)
def test_a_cuda_version_on_the_host(version: Version, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMULATED_CONFLICTS", "1")
    assert _reasons(_load(version.short, tmp_path), [*EMPTY, *SMALL, *LARGE, FAULTY]) == {}


@pytest.mark.slow
def test_heads_in_sections(tmp_path: Path) -> None:
    call = _load("v10", tmp_path, SECTION=2)
    assert _reasons(call, [(1, 130, 70, 64, 1), (2, 260, 60, 64, 0), (5, 150, 70, 64, 1)]) == {}


@pytest.mark.slow
@pytest.mark.parametrize(("short", "fault", "right", "wrong"), FAULTS, ids=lambda value: str(value)[:40])
def test_a_fault_is_found(short: str, fault: str, right: str, wrong: str, tmp_path: Path) -> None:
    call = _load(short, tmp_path, {right: wrong})
    try:
        found = bool(_reasons(call, [FAULTY]) or _reasons(call, [LARGER]))
    except RuntimeError:  # the launch failed
        found = True
    assert found, fault


@pytest.mark.parametrize("is_too_early", [False, True])
def test_a_tile_that_is_filled_before_it_is_used_is_found(is_too_early: bool, tmp_path: Path) -> None:
    fault = {"        __syncthreads();  // the tile before has been used\n": ""} if is_too_early else {}
    assert bool(_reasons(_load("v6", tmp_path, {**HELD_UP, **fault}), [FAULTY])) == is_too_early


@pytest.mark.slow
def test_a_swizzle_that_leaves_conflicts_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMULATED_CONFLICTS", "1")
    call = _load("v8", tmp_path, {"chunk ^ (row & 7)": "chunk ^ (row & 3)"})
    assert check(call, _problem(FAULTY), (1,), 0).reason


@pytest.mark.parametrize("version", ON_HOST, ids=_named)
def test_the_error_is_that_of_two_roundings(version: Version, tmp_path: Path) -> None:
    call = _load(version.short, tmp_path)
    for shape in ((2, 64, 700, 64, 0), (2, 70, 300, 128, 1)):
        assert 5e-4 < (check(call, _problem(shape), (1,), 0).norm_error or 1.0) < 2.2e-3, shape


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


def _assert_refusals(call: Call) -> None:
    right = {"batch": 1, "heads": 2, "queries": 8, "keys": 8, "dim": 64, "causal": 0}
    tensors = [torch.zeros(2, 8, 64, dtype=torch.bfloat16) for _ in range(4)]
    for wrong in (
        {"dim": 96},
        {"dim": 0},
        {"causal": 2},
        {"batch": -1},
        {"queries": -1},
        {"keys": (1 << 29) + 1},
        {"queries": 1 << 29, "heads": 1 << 10},
    ):
        integers = {**right, **wrong}
        with pytest.raises(RuntimeError, match="returned"):
            call((*tensors[:3], integers["causal"]), (tensors[3],), integers)
    moved = torch.zeros(2 * 8 * 64 + 4, dtype=torch.bfloat16)[4:]
    with pytest.raises(RuntimeError, match=r"misaligned|716"):
        call((moved, *tensors[1:3], 0), (tensors[3],), right)


@pytest.mark.gpu
@pytest.mark.timeout(600)
def test_offsets_beyond_two_to_the_31_on_a_gpu(tmp_path: Path) -> None:
    """9 GB; the last rows tell: each has the keys to itself, and no reference of all of them is needed."""
    queries, keys, dim = (1 << 24) + 77, 65, 128
    one = replace(_problem((1, 200, keys, dim, 0)), device="cuda")
    last, k, v, _ = inputs = one.inputs(1)
    (expected,) = one.expected(inputs)
    q = torch.zeros(1, 1, queries, dim, dtype=torch.bfloat16, device="cuda")
    q[:, :, -200:] = last
    integers = {"batch": 1, "heads": 1, "queries": queries, "keys": keys, "dim": dim, "causal": 0}
    mean = v.double().mean(dim=2, keepdim=True)
    outcomes = build_versions(KERNEL, [v for v in KERNEL.versions if v.number > 2], tmp_path)
    for name, outcome in outcomes.items():
        assert outcome.artifact is not None, outcome.log
        out = torch.full_like(q, -1.0)
        backend_of(KERNEL.version(name).path).load(outcome.artifact, KERNEL)((q, k, v, 0), (out,), integers)
        assert compare(out[:, :, -200:], expected, TOLERANCE).reason("out", TOLERANCE) == "", name
        assert torch.allclose(out[:, :, : queries - 200 : 9999].double(), mean, atol=4e-3, rtol=8e-3), name
