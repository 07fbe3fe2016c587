"""A version tuned: what its comment says, where its numbers stand, combinations raced on the CPU, the winner kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from in_this_process import Here
from kernel_folder import write_kernel
from measured import RIGHT, WORKLOADS, Notes
from requirements import require

from ncu_assist.backends.base import BuildOutcome
from ncu_assist.errors import EnvironmentProblem, StageFailed, UsageProblem
from ncu_assist.executors import EXECUTORS
from ncu_assist.harness.request import HarnessSettings
from ncu_assist.pipeline import planning, tuning
from ncu_assist.pipeline.planning import MeasureRequest
from ncu_assist.pipeline.tuning import in_words, parsed, proposals, tune, with_values
from ncu_assist.pipeline.work_units import Built
from ncu_assist.project import Project
from ncu_assist.spec import Kernel, Version
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


@pytest.mark.parametrize("name", ["GROUP", "STEPS", "ABSENT"])
def test_what_is_no_constant_with_a_number_is_refused(name: str) -> None:
    with pytest.raises(UsageProblem, match=f"no constant {name}") as error:
        with_values(CUDA, ".cu", {name: 1})
    assert error.value.hint == f"write once: constexpr int {name} = 64;"


@pytest.mark.parametrize(
    ("suffix", "line", "value"),
    [
        (".cu", "constexpr int BM = 4 * 16;", "4 * 16"),
        (".cu", "constexpr int BM = 64 + f(1, 2), BN = 3;", "64 + f(1, 2)"),
        (".cu", "constexpr int BM = 64u;", "64u"),
        (".cu", "constexpr int BM = 1'024;", "1'024"),
        (".cu", "constexpr int BM = 064;", "064"),
        (".cu", "#define BM 4 * 16  // rows", "4 * 16"),
        (".cu", "#define BM 64 \\\n    + 1", "64 \\"),
        (".py", "BM = 128 * 2", "128 * 2"),
        (".py", "BM = 128 if WIDE else 64", "128 if WIDE else 64"),
        (".py", "BM = tl.constexpr(128) * 2", "tl.constexpr(128) * 2"),
        (".py", "BM = 128, 4", "128"),
        (".py", "BM = 1_024", "1_024"),
    ],
)
def test_a_number_that_is_only_the_start_of_a_value_is_refused(suffix: str, line: str, value: str) -> None:
    with pytest.raises(UsageProblem) as error:
        with_values(f"{line}\n", suffix, {"BM": 32})
    assert error.value.message == f"BM is '{value}' in the source, no whole number to change"
    assert error.value.hint == f"write: {'constexpr int BM = 64;' if suffix == '.cu' else 'BM = 64'}"


@pytest.mark.parametrize(
    ("suffix", "line"),
    [
        (".cu", "constexpr int BM = 64 /* rows */, BN = 3;"),
        (".cu", "#define BM 64  // rows"),
        (".cu", "#define BM 64 /* rows */\r"),
        (".cu", "bool is = BM == 64;\nconstexpr int BM = 64;"),
        (".py", "BM = 64  # rows"),
        (".py", "BM: tl.constexpr = 64\r"),
        (".py", "BM = tl.constexpr(64)"),
        (".py", "BM = 64; BN = 3"),
    ],
)
def test_a_value_ends_where_the_language_ends_it(suffix: str, line: str) -> None:
    changed = line[::-1].replace("46", "23", 1)[::-1]
    assert with_values(f"{line}\n", suffix, {"BM": 32}) == f"{changed}\n"


@pytest.mark.parametrize(
    ("suffix", "said"),
    [
        (".cu", "// old: constexpr int BM = 32;"),
        (".cu", "// old: \\\nconstexpr int BM = 32;"),
        (".cu", "/* it's\nconstexpr int BM = 32; */"),
        (".cu", 'const char* s = "const int BM = 32; /*";'),
        (".cu", 'const char* s = R"x(\nconst int BM = 32; ")x";'),
        (".cu", "constexpr int MANY = 1'024;  // constexpr int BM = 32; isn't"),
        (".cu", "/*\n#define BM 32\n*/"),
        (".py", "# BM = 32"),
        (".py", '"""Of old:\nBM = 32\n"""'),
        (".py", "SAID = \"it's # '''\"  # don't\nX = '''\nBM = 32\n'''"),
    ],
)
def test_comments_and_strings_define_nothing(suffix: str, said: str) -> None:
    real = "constexpr int BM = 64;" if suffix == ".cu" else "BM = 64"
    for text in (f"{said}\n{real}\n", f"{real}\n{said}\n"):
        assert with_values(text, suffix, {"BM": 16}) == text.replace(real, real.replace("64", "16"))
    with pytest.raises(UsageProblem, match="no constant BM"):
        with_values(f"{said}\n", suffix, {"BM": 16})


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    require("torch")
    write_kernel(tmp_path, {"v0_naive.py": RIGHT, "v3_turns.py": TUNED}, WORKLOADS)
    monkeypatch.setattr(planning, "HarnessSettings", lambda **given: HarnessSettings(**{**given, "device": "cpu"}))
    return Project(tmp_path)


def request(rounds: int = 40) -> MeasureRequest:
    return MeasureRequest("add_one", ("v3",), "w0", rounds)


def test_all_lines_of_the_comment_that_list_values_count(project: Project, notes: Notes) -> None:
    path = project.kernels / "add_one" / "v3_turns.py"
    path.write_text(TUNED.replace("TURNS=1,20000,40000 WRONG=0,1", "TURNS=1\n# says more:\n# tune: ABSENT=0,1"))
    with pytest.raises(UsageProblem, match="no constant ABSENT"):
        tune(project, request(), "", False, notes)


def unbuilt(built: str = "") -> Callable[[Kernel, Sequence[Version], Path], Built]:
    """Return what builds as if by nvcc, and nothing but the version whose name ends so."""

    def build(_kernel: Kernel, versions: Sequence[Version], _work: Path) -> Built:
        log = "kernels/add_one/{}(4): error: division by zero\n"
        made = {one.name: one.path if built and one.name.endswith(built) else None for one in versions}
        return Built(
            {v.name: BuildOutcome(v.name, made[v.name], log.format(v.path.name), False, 0.0) for v in versions}
        )

    return build


def test_what_does_not_build_is_called_by_its_values(
    project: Project, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names of the copy mean nothing to who reads them, and no command knows them."""
    monkeypatch.setattr("ncu_assist.pipeline.measuring.build_here", unbuilt())
    monkeypatch.setitem(EXECUTORS, "local", Here())
    found = tune(project, request(), "TURNS=2", False, notes)
    log = "kernels/add_one/v3_turns.py(4): error: division by zero"
    assert notes.notes == [f"v3 with TURNS={turns} does not build:\n{log}" for turns in (OWN, 2)]
    assert [row.failure for _, row in found.rows] == ["build: it does not compile"] * 2

    def no_gpu(*_: object, **__: object) -> None:
        raise EnvironmentProblem("torch cannot use a GPU")

    monkeypatch.setattr("ncu_assist.harness.client.measure", no_gpu)
    monkeypatch.setattr("ncu_assist.pipeline.measuring.build_here", unbuilt(f"TURNS{OWN}"))
    with pytest.raises(StageFailed) as error:
        tune(project, request(), "TURNS=2", False, notes)
    said = "v3 with TURNS=2 cannot be built (see above), and nothing was checked here: torch cannot use a GPU"
    assert error.value.message == said
    assert error.value.hint == ""


def test_a_gpu_is_asked_for_before_anything_is_built_and_after_mistakes(
    project: Project, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> None:
        raise EnvironmentProblem("no NVIDIA driver answers")

    monkeypatch.setattr(planning, "HarnessSettings", HarnessSettings)  # of a GPU
    monkeypatch.setattr(tuning, "gpu_here", none)
    monkeypatch.setattr("ncu_assist.pipeline.measuring.build_here", lambda *_: pytest.fail("it builds"))
    with pytest.raises(EnvironmentProblem, match="no NVIDIA driver answers"):
        tune(project, request(), "TURNS=1,2", False, notes)
    with pytest.raises(UsageProblem, match="no constant ABSENT"):
        tune(project, request(), "ABSENT=1,2", False, notes)


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
    assert any(note.startswith("v3 with TURNS=1 WRONG=1 w0: wrong: ") for note in notes.notes)
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
