"""A version tuned: what its comment says, where its numbers stand, combinations raced on the CPU, the winner kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_folder import write_kernel
from measured import RIGHT, WORKLOADS, Notes
from requirements import require

from ncu_assist.errors import UsageProblem
from ncu_assist.harness.request import HarnessSettings
from ncu_assist.pipeline import planning
from ncu_assist.pipeline.planning import MeasureRequest
from ncu_assist.pipeline.tuning import in_words, parsed, proposals, tune, with_values
from ncu_assist.project import Project
from ncu_assist.spec_file import read_kernel
from ncu_assist.store import StoredRun
from ncu_assist.store.findings import Findings, Judged, StoredFinding

OWN = 20_000  # turns that take many times as long as a busy machine holds one turn up
CUDA = """\
// Changes: tiles.
// tune: TILE_M=64,128 STAGES = 3, 4
constexpr int WARPS = 8;  // TILE_M = 2 is said in a comment only
constexpr int TILE_M = 128, TILE_N = 256, STAGES = 4;
constexpr int BYTES = TILE_M * STAGES;
#define UNROLL 4
template <int GROUP = 8> __global__ void kernel(int STEPS = 3) {}
"""
TUNED = """\
# tune: TURNS=1,20000,40000 WRONG=0,1
import torch

TURNS = 20000
WRONG: int = 0


def add_one(x, y):
    for _ in range(TURNS):
        torch.add(x, 1.0 + WRONG, out=y)
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("BM=64,128 STAGES=3", {"BM": (64, 128), "STAGES": (3,)}),
        ("BM = 64, 128, 64", {"BM": (64, 128)}),
    ],
)
def test_values_are_read(text: str, found: dict[str, tuple[int, ...]]) -> None:
    assert parsed(text) == found
    assert parsed(in_words(found)) == found


@pytest.mark.parametrize("text", ["BM", "BM=", "BM=a", "BM=1 BM=2", "BM=1..4", "2=3"])
def test_what_are_no_values_is_said_with_an_example(text: str) -> None:
    with pytest.raises(UsageProblem) as error:
        parsed(text)
    assert parsed(error.value.hint)


def test_numbers_are_put_where_constants_are_defined_and_nowhere_else() -> None:
    changed = with_values(CUDA, ".cu", {"TILE_M": 64, "STAGES": 3, "UNROLL": 8})
    assert "constexpr int TILE_M = 64, TILE_N = 256, STAGES = 3;" in changed
    assert "#define UNROLL 8" in changed
    assert "TILE_M = 2 is said in a comment only" in changed
    assert len(changed.splitlines()) == len(CUDA.splitlines())
    python = with_values(TUNED, ".py", {"TURNS": 2, "WRONG": 1})
    assert "\nTURNS = 2\nWRONG: int = 1\n" in python


@pytest.mark.parametrize("name", ["BYTES", "GROUP", "STEPS", "ABSENT"])
def test_what_is_no_constant_with_a_number_is_refused(name: str) -> None:
    with pytest.raises(UsageProblem, match=f"no constant {name}") as error:
        with_values(CUDA, ".cu", {name: 1})
    assert error.value.hint == f"write once: constexpr int {name} = 64;"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    require("torch")
    write_kernel(tmp_path, {"v0_naive.py": RIGHT, "v3_turns.py": TUNED}, WORKLOADS)
    monkeypatch.setattr(planning, "HarnessSettings", lambda **given: HarnessSettings(**{**given, "device": "cpu"}))
    return Project(tmp_path)


def request(rounds: int = 40) -> MeasureRequest:
    return MeasureRequest("add_one", ("v3",), "w0", rounds)


@pytest.mark.slow
def test_the_fastest_right_combination_wins_and_is_written_only_where_it_is_to_be_kept(
    project: Project, notes: Notes
) -> None:
    path = project.kernels / "add_one" / "v3_turns.py"
    found = tune(project, request(), "", False, notes)
    assert found.winner == {"TURNS": 1, "WRONG": 0}
    assert found.diff is not None
    assert found.diff.verdict.verdict == "faster"
    assert found.own == {"TURNS": OWN, "WRONG": 0}
    assert [values["TURNS"] for values, _ in found.ranked] == [1, OWN, 2 * OWN]
    assert [found.is_dropped(row) for _, row in found.ranked] == [False, False, True]  # the file's is never dropped
    failed = [values for values, row in found.rows if row.failure]
    assert failed == [{"TURNS": one, "WRONG": 1} for one in (1, OWN, 2 * OWN)]
    assert path.read_text() == TUNED
    assert not list(project.reports.glob("**/run.json"))  # combinations are in no archive
    kept = tune(project, request(), f"TURNS=1,{OWN}", True, notes)
    assert kept.kept == path
    assert path.read_text() == TUNED.replace(f"TURNS = {OWN}", "TURNS = 1")
    again = tune(project, request(), f"TURNS=1,{OWN}", True, notes)
    assert (again.winner, again.kept) == (None, None)
    assert again.diff is not None
    assert again.diff.verdict.verdict == "slower"
    assert "TURNS = 1\n" in path.read_text()


def test_a_version_that_says_no_values_is_refused_with_a_line_to_write(project: Project, notes: Notes) -> None:
    with pytest.raises(UsageProblem, match="lists no values to try") as error:
        tune(project, MeasureRequest("add_one", ("v0",), "w0"), "", False, notes)
    assert error.value.hint.startswith("add the line: # tune: ")
    with pytest.raises(UsageProblem, match="300 combinations are more than"):
        tune(project, request(), f"TURNS={','.join(map(str, range(OWN, OWN + 150)))} WRONG=0,1", False, notes)


def test_a_diagnosis_proposes_values_around_what_is_there() -> None:
    """Of recorded runs: v10 waits for operands, so its stages and no tiles; v7 has all that DRAM can do."""
    project = Project(Path(__file__).parents[2])
    gemm = read_kernel(project.kernels / "gemm_bias_gelu")
    version = gemm.version("v10")
    found, why = proposals(project, gemm, version, version.path.read_text())
    assert found == {"STAGES": (3, 4, 5)}
    assert "its diagnosis is tensor-underfed" in why
    decode = read_kernel(project.kernels / "lightning_decode")
    done = decode.version("v7")
    assert proposals(project, decode, done, done.path.read_text())[0] == {}


@pytest.mark.parametrize(("limiter", "words"), [("registers", "a smaller shape"), ("short blocks", "a larger shape")])
def test_short_blocks_propose_a_larger_shape(limiter: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = StoredFinding("low-occupancy", "high", 1e3, 1.5, {"limiter": limiter})
    found = Findings("1", (), (Judged(None, True, None, None, 1e4, (first,)),))
    monkeypatch.setattr(StoredRun, "findings", lambda _: found)
    project = Project(Path(__file__).parents[2])
    version = (gemm := read_kernel(project.kernels / "gemm_bias_gelu")).version("v10")
    assert words in proposals(project, gemm, version, version.path.read_text())[1]
