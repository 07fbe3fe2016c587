"""softmax: the reference in extended precision, the versions in torch, the CUDA versions' own code run on the host."""

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
from ncu_assist.harness.check import check, compare  # noqa: E402
from ncu_assist.spec import Version  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402

KERNEL = read_kernel(KERNELS / "softmax")
TOLERANCE = KERNEL.tolerances["float32"]
SEEDS = (1, 2)
# rows, cols: one row, one column, four columns more or less, rows that start anywhere, several passes over a row
SMALL = [(1, 1), (5, 1), (1, 7), (3, 2), (2, 4), (9, 33), (3, 128), (18, 129), (7, 255), (6, 256), (5, 511), (2, 1023)]
LARGE = [(2, 1024), (3, 1025), (3, 1031), (2, 4096), (5, 4099), (2, 7170), (3, 8195), (2, 8197), (1, 16_384)]
CLUSTERS = [(2, 8196), (3, 9001), (2, 16_385), (2, 20_003), (2, 33_001), (2, 65_536), (2, 65_539), (2, 70_001)]
# Changes to v8 and v9 that a test has to find: edges that count twice; a part without a maximum; a thread's values left
# at its own maximum; statistics of some warps only.
FAULTS = {
    "const int edge = rank ? NO_EDGE : threadIdx.x;": "const int edge = threadIdx.x;",
    "max == -INFINITY ? 0.0f : max": "max",
    "factor_of(part.max, row)": "1.0f / row.sum",
    "i < blocks * WARPS; i += WARP": "i < WARP; i += WARP",
}
# To one of them: a block that is written to before it has started; statistics that are read before they are there.
OWN_FAULTS = {
    "v8": {
        "        await_cluster();  // none is written to that has not started\n": "",
        "        await_cluster();  // from here on": "        // from here on",
    },
    "v9": {
        "        await_cluster();  // none is sent to that has not started\n": "",
        "        await_bytes(arrivals);\n": "",
    },
}
FAULTY = [
    pytest.param(short, right, wrong, id=f"{short}-{right.strip()[:20]}")
    for short, own in OWN_FAULTS.items()
    for right, wrong in (FAULTS | own).items()
]


def _problem(rows: int, cols: int, planted: int = 0) -> Any:
    return problem(KERNEL, "float32", rows=rows, cols=cols, planted=planted)


def problem_on(device: str, rows: int, cols: int) -> Any:
    return replace(_problem(rows, cols), device=device)


def _named(version: Version) -> str:
    return version.short


def _load(version: Version, folder: Path, faults: dict[str, str] | None = None, **constants: int) -> Call:
    return load_with_warps(KERNEL, version, folder, faults, **constants)


def _reasons(call: Call, shapes: list[tuple[int, int]], planted: int = 0) -> dict[tuple[int, int], str]:
    reasons = {shape: check(call, _problem(*shape, planted), SEEDS, 0).reason for shape in shapes}
    return {shape: reason for shape, reason in reasons.items() if reason}


@pytest.mark.parametrize("shape", SMALL)
def test_the_reference_in_extended_precision(shape: tuple[int, int]) -> None:
    (x,) = inputs = _problem(*shape).inputs(5)
    wide = x.numpy().astype(np.longdouble)
    powers = np.exp(wide - wide.max(axis=1, keepdims=True))
    exact = torch.from_numpy((powers / powers.sum(axis=1, keepdims=True)).astype(np.float64))
    (expected,) = _problem(*shape).expected(inputs)
    assert torch.allclose(expected, exact, rtol=1e-13, atol=0)


def test_planted_rows_are_what_softmax_has_to_pass_on() -> None:
    one = _problem(64, 50, planted=1)
    (x,) = inputs = one.inputs(3)
    (expected,) = one.expected(inputs)
    spoiled = expected.isnan().all(dim=1)
    assert spoiled[:9].tolist() == [False, True, True, True, True, False, False, False, False]
    assert torch.equal(spoiled, expected.isnan().any(dim=1)), "whole rows are NaN, or no element"
    assert x[0].isinf().any()
    assert x[7].abs().max() > 2.4e38
    assert torch.allclose(expected[8], torch.full((50,), 1 / 50, dtype=torch.float64))
    assert torch.isfinite(x[9:16]).all()


def test_without_the_maximum_there_is_no_result() -> None:
    one = _problem(32, 100)
    (x,) = inputs = one.inputs(1)
    powers = x.exp()
    naive = powers / powers.sum(dim=1, keepdim=True)
    assert compare(naive, one.expected(inputs)[0], TOLERANCE).wrong > 0


@pytest.mark.parametrize("short", ["v0", "v1"])
def test_a_torch_version(short: str) -> None:
    call = BACKENDS["python"].load(KERNEL.version(short).path, KERNEL)
    assert _reasons(call, [(0, 7), *SMALL, *LARGE]) == {}
    assert _reasons(call, [(35, 1), (35, 50), (20, 4099)], planted=1) == {}


@pytest.mark.slow
@pytest.mark.parametrize("version", versions("softmax"), ids=_named)
def test_a_cuda_version_on_the_host(version: Version, tmp_path: Path) -> None:
    call = _load(version, tmp_path)
    assert _reasons(call, [(0, 7), (3, 0), *SMALL, *LARGE]) == {}


@pytest.mark.parametrize("version", versions("softmax"), ids=_named)
def test_planted_rows(version: Version, tmp_path: Path) -> None:
    call = _load(version, tmp_path)
    assert _reasons(call, [(35, 1), (25, 50), (11, 600), (11, 1500), (11, 9000)], planted=1) == {}


@pytest.mark.slow
@pytest.mark.parametrize("short", OWN_FAULTS)
@pytest.mark.parametrize("planted", [0, 1])
def test_rows_over_a_cluster(planted: int, short: str, tmp_path: Path) -> None:
    assert _reasons(_load(KERNEL.version(short), tmp_path), CLUSTERS, planted) == {}


@pytest.mark.slow
@pytest.mark.parametrize(("short", "right", "wrong"), FAULTY)
def test_a_fault_in_a_cluster_is_found(short: str, right: str, wrong: str, tmp_path: Path) -> None:
    call = _load(KERNEL.version(short), tmp_path, {right: wrong})
    assert "elements are wrong" in check(call, _problem(6, 33_001, planted=1), (1,), 0).reason


@pytest.mark.slow
@pytest.mark.parametrize("short", OWN_FAULTS)
@pytest.mark.parametrize(("threads", "packs"), [(128, 8), (512, 4), (1024, 8), (512, 8), (256, 2)])
def test_other_blocks_and_shares(threads: int, packs: int, short: str, tmp_path: Path) -> None:
    code = {"[MOST_PACKS] = {softmax_": "[] = {softmax_"}
    call = _load(KERNEL.version(short), tmp_path, code, THREADS=threads, MOST_PACKS=packs)
    assert _reasons(call, [(3, 1030), (2, 4096), (2, 9001), (2, 33_001), (1, 65_537)]) == {}


@pytest.mark.parametrize("version", versions("softmax"), ids=_named)
def test_the_error_is_that_of_a_few_roundings(version: Version, tmp_path: Path) -> None:
    call = _load(version, tmp_path)
    for shape in [(20, 256), (8, 4096), (1, 65_536)]:
        assert (check(call, _problem(*shape), SEEDS, 0).norm_error or 1.0) < 2e-7, shape


@pytest.mark.parametrize("short", ["v3", "v4", "v6", "v7", "v8", "v9"])
@pytest.mark.parametrize("cols", [5, 300, 4099, 9000])
def test_any_address_that_both_matrices_share(short: str, cols: int, tmp_path: Path) -> None:
    call = _load(KERNEL.version(short), tmp_path)
    one = _problem(3, cols)
    (x,) = one.inputs(1)
    (expected,) = one.expected((x,))
    for shift in (1, 2, 3):
        moved, out = torch.zeros(shift + x.numel()), torch.full((shift + x.numel(),), -1.0)
        moved[shift:] = x.flatten()
        call((moved[shift:],), (out[shift:],), one.workload.integers)
        assert compare(out[shift:].view(x.shape), expected, TOLERANCE).reason("y", TOLERANCE) == ""
        assert out[:shift].tolist() == [-1.0] * shift
        if short >= "v6":
            with pytest.raises(RuntimeError, match=r"misaligned|716"):
                call((moved[shift:],), (out,), one.workload.integers)


@pytest.mark.parametrize("version", versions("softmax"), ids=_named)
def test_what_a_version_cannot_serve_is_refused(version: Version, tmp_path: Path) -> None:
    call = _load(version, tmp_path)
    x, y = torch.zeros(8), torch.zeros(8)
    for rows, cols in ((-1, 4), (4, -1), (1 << 31, 1), (1, (1 << 30) + 1)):
        with pytest.raises(RuntimeError, match="returned"):
            call((x,), (y,), {"rows": rows, "cols": cols})


@pytest.mark.gpu
@pytest.mark.timeout(600)
@pytest.mark.parametrize("cols", [257, 4097, 65_537, 70_001])
def test_offsets_beyond_two_to_the_31_on_a_gpu(cols: int, tmp_path: Path) -> None:
    """17 GB; the last rows tell, and no reference of all of them is needed."""
    rows = (1 << 31) // cols + 9
    x = torch.zeros(rows, cols, device="cuda")
    (x[-8:],) = problem_on("cuda", 8, cols).inputs(1)
    expected = torch.softmax(x[-8:].double(), dim=1)
    outcomes = build_versions(KERNEL, KERNEL.select_versions(("v3", "v4", "v5", "v6", "v7", "v8", "v9")), tmp_path)
    for name, outcome in outcomes.items():
        assert outcome.artifact is not None, outcome.log
        y = torch.full_like(x, -1.0)
        call = backend_of(KERNEL.version(name).path).load(outcome.artifact, KERNEL)
        call((x,), (y,), {"rows": rows, "cols": cols, "planted": 0})
        assert compare(y[-8:], expected, TOLERANCE).reason("y", TOLERANCE) == "", name
        assert torch.allclose(y[: rows - 8 : 999], torch.tensor(1.0 / cols, device="cuda")), name
