"""The check finds every planted fault, on the CPU; what it compares and how."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from planted import EXPECTED, PYTHON, write_planted

torch = pytest.importorskip("torch")

from ncu_assist.backends import BACKENDS  # noqa: E402
from ncu_assist.backends.python import import_file  # noqa: E402
from ncu_assist.harness.check import GUARD_BYTES, OUTPUT_GUARD, check, compare, guarded  # noqa: E402
from ncu_assist.harness.problem import Problem, ReferenceProblem  # noqa: E402
from ncu_assist.record import Check  # noqa: E402
from ncu_assist.spec import Tolerance  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402

SEEDS = (11, 12, 13)


def _problem(root: Path, sources: dict[str, str], workload: str = "odd") -> Problem:
    kernel = read_kernel(write_planted(root, sources))
    return Problem(kernel, kernel.select_workloads(workload)[0], import_file(kernel.reference), "cpu")


def _check(root: Path, sources: dict[str, str], **how: Any) -> Check:
    problem = _problem(root, sources)
    call = BACKENDS["python"].load(problem.kernel.versions[0].path, problem.kernel)
    return check(call, problem, how.get("seeds", SEEDS), how.get("repeats", 3))


@pytest.mark.parametrize("version", EXPECTED)
def test_planted_faults(version: str, tmp_path: Path) -> None:
    outcome = _check(tmp_path, {f"{version}.py": PYTHON[f"{version}.py"]})
    assert EXPECTED[version] in outcome.reason
    assert outcome.passed == (EXPECTED[version] == "") == (outcome.reason == "")
    assert outcome.workload == "odd"


def test_a_version_that_reads_its_output_is_told_what_it_read(tmp_path: Path) -> None:
    """On a CPU a NaN keeps its bits through a sum, so that the element counts as unwritten: hence the other NaN."""
    reads = "import torch\n\n\ndef add_one(x, y):\n    y.copy_(x + 1 + torch.nan_to_num(y, nan=float('nan')))\n"
    reason = _check(tmp_path, {"v0_reads.py": reads}).reason
    assert ": nan, expected " in reason
    assert "outputs are filled with NaN before each call, so a version that reads one" in reason
    other = _check(tmp_path, {"v0_reads.py": PYTHON["v1_wrong_tail.py"]}).reason
    assert "NaN" not in other


def test_a_right_version_reports_its_errors(tmp_path: Path) -> None:
    outcome = _check(tmp_path, {"v0_right.py": PYTHON["v0_right.py"]})
    assert outcome.seeds == SEEDS
    assert outcome.norm_error is not None
    assert 0 < outcome.norm_error < 1e-7
    assert outcome.max_error is not None
    assert 0 < outcome.max_error < 1e-6


def test_two_seeds_are_enough_to_find_a_cached_result(tmp_path: Path) -> None:
    assert "earlier call" in _check(tmp_path, {"v6_cached.py": PYTHON["v6_cached.py"]}, seeds=(1, 2)).reason


def test_a_call_that_raises_is_passed_on(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no luck"):
        _check(tmp_path, {"v9_raises.py": PYTHON["v9_raises.py"]})


@pytest.mark.parametrize(
    ("function", "source", "words"),
    [
        ("make_inputs", "def make_inputs(w, s, d):\n    return ()\n", "returns 0 inputs, but kernel.toml names 1"),
        ("make_inputs", "def make_inputs(w, s, d):\n    return 1 / 0\n", "make_inputs fails: ZeroDivisionError"),
        ("reference", "def reference(x):\n    return (x[1:],)\n", r"outputs of shape \[\(999,\)\]"),
    ],
)
def test_a_wrong_reference_is_no_versions_fault(function: str, source: str, words: str, tmp_path: Path) -> None:
    problem = _problem(tmp_path, {"v0_right.py": PYTHON["v0_right.py"]})
    with problem.kernel.reference.open("a") as file:
        file.write(f"\n\n{source}")
    problem = Problem(problem.kernel, problem.workload, import_file(problem.kernel.reference), "cpu")
    with pytest.raises(ReferenceProblem, match=words):
        problem.expected(problem.inputs(1))


EXACT = Tolerance(norm=1e-6, rtol=1e-6, atol=1e-6)
NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("out", "ref", "wrong"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0),
        ([1.0, 2.1], [1.0, 2.0], 1),
        ([NAN, 2.0], [1.0, 2.0], 1),
        ([NAN, 2.0], [NAN, 2.0], 0),
        ([INF, 2.0], [INF, 2.0], 0),
        ([-INF, 2.0], [INF, 2.0], 1),
        ([1.0, 2.0], [NAN, INF], 2),
        ([0.0, 0.0], [0.0, 0.0], 0),
        ([1e-7, 0.0], [0.0, 0.0], 0),
        ([], [], 0),
    ],
)
def test_elements(out: list[float], ref: list[float], wrong: int) -> None:
    difference = compare(torch.tensor(out), torch.tensor(ref, dtype=torch.float64), EXACT)
    assert difference.wrong == wrong
    assert bool(difference.reason("y", EXACT)) == (wrong > 0)


def test_the_norm_catches_what_the_elements_allow() -> None:
    loose = Tolerance(norm=1e-3, rtol=0.1, atol=0.0)
    difference = compare(torch.full((10,), 1.05), torch.ones(10), loose)
    assert difference.wrong == 0
    assert "error 5.00e-02 in the norm, at most 1.00e-03 is allowed" in difference.reason("y", loose)


def test_large_outputs_are_compared_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    from ncu_assist.harness import check as module

    monkeypatch.setattr(module, "CHUNK", 4)
    out = torch.ones(3, 5)
    out[1, 4] = 2.0
    difference = compare(out, torch.ones(3, 5), EXACT)
    assert (difference.wrong, difference.first, difference.value, difference.expected) == (1, (1, 4), 2.0, 1.0)
    assert difference.norm_error == pytest.approx(math.sqrt(1 / 15))


def test_who_is_wrong_hears_how_far_and_how_far_is_allowed() -> None:
    loose = Tolerance(norm=1.0, rtol=1e-3, atol=1e-3)
    said = compare(torch.tensor([1.0, 1.01, 3.0]), torch.ones(3), loose).reason("y", loose)
    assert said.endswith("first at [1]: 1.01, expected 1 within 0.002; the largest error is 2")
    lost = compare(torch.full((3,), torch.nan), torch.ones(3), loose).reason("y", loose)
    assert lost.endswith("first at [0]: nan, expected 1")


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8"])
def test_poison_and_guards_of_every_dtype(dtype: str) -> None:
    buffer = guarded("y", torch.zeros(3, 5, dtype=getattr(torch, dtype)), OUTPUT_GUARD)
    buffer.poison(0)
    first = buffer.tensor.clone()
    assert buffer.guard_fault() == ""
    if buffer.tensor.is_floating_point():
        assert bool(torch.isnan(buffer.tensor).all())
        assert buffer.unwritten(0).numel() == 15
        buffer.tensor[1, 1] = math.nan  # a NaN that was computed is no poison
        assert buffer.unwritten(0).numel() == 14
    else:
        buffer.poison(1)
        assert not bool((buffer.tensor == first).any())
    buffer.storage[GUARD_BYTES - 1] = 0
    assert buffer.guard_fault() == "wrote 1 bytes before the start of 'y'"


def test_an_empty_output(tmp_path: Path) -> None:
    buffer = guarded("y", torch.zeros(0, 4), OUTPUT_GUARD)
    buffer.poison(0)
    assert buffer.unwritten(0).numel() == 0
    assert buffer.tensor.shape == (0, 4)
    buffer.storage[GUARD_BYTES] = 0
    assert "first at byte 0 behind it" in buffer.guard_fault()
