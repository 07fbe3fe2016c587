"""The closed loop: its tasks are right on the host, its arms differ in evidence alone, its report adds up."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parents[1]
LOOP = ROOT / "benchmarks" / "closed_loop"
sys.path[:0] = [str(LOOP), str(ROOT / "tests" / "kernels")]

import loop  # noqa: E402
from emulation import load_for_host, problem  # noqa: E402
from loop import ReplyOutcome  # noqa: E402
from requirements import require  # noqa: E402
from suggest.proof.on_cpu import FASTER, PARENT, reply_of  # noqa: E402
from suggest.recorded import made_project  # noqa: E402

from ncu_assist.harness.check import check  # noqa: E402
from ncu_assist.project import Project  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402
from ncu_assist.suggest.proof.prover import ProofOptions  # noqa: E402
from ncu_assist.suggest.session import SuggestRequest, draft_task  # noqa: E402

# Sizes that a host does in a moment, with a tail in each: as few threads as show every branch.
FIRST: dict[str, dict[str, int]] = {
    "attention_step": {"heads": 2, "keys": 5},
    "convolution": {"batch": 2, "channels": 3, "filters": 4, "height": 5, "width": 7},
    "hash_join": {"buckets": 13, "entries": 100, "probes": 300},
    "histogram": {"n": 1003},
    "normalisation": {"rows": 2, "columns": 201},
    "product": {"m": 17, "n": 19, "k": 23},
    "reduction": {"rows": 300, "columns": 3},
    "scan": {"rows": 1, "columns": 1500},
    "sparse_product": {"rows": 300, "columns": 77, "entries": 900},
    "stencil": {"depth": 4, "height": 5, "width": 6},
    "top_values": {"rows": 3, "columns": 50},
    "transposition": {"rows": 33, "columns": 65},
}
SECOND: dict[str, dict[str, int]] = {
    "alignment": {"pairs": 3, "rows": 21, "columns": 17},
    "inverse": {"batch": 3, "n": 7},
    "nearest_centre": {"points": 300, "centres": 37, "dim": 2},
    "particle_density": {"particles": 200, "side": 3},
    "quantised_product": {"rows": 3, "columns": 320},
    "rotary_norm": {"tokens": 5, "heads": 2},
}
SETS = {LOOP: FIRST, LOOP / "second": SECOND}
# Of what a GPU has, and emulation.h has not.
HOST = """#include <cuda_runtime.h>
#include <algorithm>
using std::max, std::min;
static int atomicAdd(int* at, int added) { return __atomic_fetch_add(at, added, __ATOMIC_RELAXED); }
"""


@pytest.mark.parametrize("folder", SETS, ids=lambda folder: folder.name)
def test_the_tasks_have_one_version_each(folder: Path) -> None:
    assert loop.tasks(folder) == sorted(SETS[folder])
    for task in SETS[folder]:
        kernel = read_kernel(folder / "kernels" / task)
        assert len(kernel.versions) == 1
        assert len(kernel.workloads) >= 3


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "task"), [(folder, task) for folder, own in SETS.items() for task in own])
def test_a_slow_version_is_right(folder: Path, task: str, tmp_path: Path) -> None:
    require("g++", "nvcc")
    kernel = read_kernel(folder / "kernels" / task)
    version = kernel.versions[0]
    code = version.path.read_text().replace("#include <cuda_runtime.h>\n", HOST)
    (tmp_path / version.path.name).write_text(code)
    call = load_for_host(kernel, replace(version, path=tmp_path / version.path.name), tmp_path)
    made = problem(kernel, kernel.default_workload.dtype, **SETS[folder][task])
    assert check(call, made, (1, 2), 1).reason == ""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the loop with one task: v6 of lightning_decode and its recorded run, and a details page."""
    folder = tmp_path_factory.mktemp("loop")
    kernel = folder / "kernels" / "lightning_decode"
    kernel.mkdir(parents=True)
    for name in ("kernel.toml", "reference.py", "v6_coalesced_store.cu"):
        shutil.copy(ROOT / "kernels" / "lightning_decode" / name, kernel / name)
    version = "v6_coalesced_store"
    shutil.copytree(ROOT / "reports" / kernel.name / version, folder / "reports" / kernel.name / version)
    (folder / "details").mkdir()
    said = "[4711] python3@127.0.0.1\n  lightning_decode_kernel (64, 1, 1)x(128, 1, 1)\n    Duration  us  161\n"
    (folder / "details" / f"{kernel.name}.txt").write_text(said)
    return folder


def test_the_arms_differ_in_evidence_alone(recorded: Path) -> None:
    source, details, ours = (loop.prompt_of(recorded, "lightning_decode", arm) for arm in "abc")
    for text in (source, details, ours):
        assert "cudaError_t lightning_decode(" in text
        assert "<<<<<<< SEARCH" in text
        assert "||out - ref|| / ||ref||" in text
    for word in ("% of samples", "| E1 |", "Bound by", "floor |", "quartiles"):
        assert word in ours
        assert word not in source + details
    page = "lightning_decode_kernel (64, 1, 1)x(128, 1, 1)\n    Duration  us  161"
    assert page in details
    assert page not in source
    assert "4711" not in details, "who ran it"
    start, end = "\n\n## What the profiler measured", "\n\n## Your reply"
    assert details[: details.index("You are")] == source[: source.index("You are")]
    assert (
        source[source.index("## Task") : source.index(end)] == details[details.index("## Task") : details.index(start)]
    )
    assert source[source.index(end) :] == details[details.index(end) :]


def test_prompts_are_written_and_are_the_same_again(recorded: Path) -> None:
    loop.write_prompts(recorded)
    written = {path.name: path.read_text() for path in (recorded / "prompts").iterdir()}
    assert sorted(written) == [f"lightning_decode-{arm}.md" for arm in "abc"]
    loop.write_prompts(recorded)
    assert {path.name: path.read_text() for path in (recorded / "prompts").iterdir()} == written
    task = draft_task(Project(recorded), SuggestRequest("lightning_decode/v6"), "fences")
    body = task.prompt.text.rpartition("\n\n")[0]
    assert written["lightning_decode-c.md"].startswith(body), "arm c is what suggest asks"


def _outcome(task: str, arm: str, number: int, speedup: float, kept: bool, **changes: object) -> ReplyOutcome:
    fate, times = "kept" if kept else "rejected", (speedup, speedup, speedup, None)
    made = ReplyOutcome(task, arm, number, "", fate, "", "", kept, kept, kept, *times, 2, 1, 1000, 200, {})
    return replace(made, **changes)  # type: ignore[arg-type]


OUTCOMES = [
    _outcome("x", "a", 1, 2.0, True),
    _outcome("x", "a", 2, 3.0, False),
    _outcome("y", "a", 1, 0.5, False),
    _outcome("x", "b", 1, 4.0, True),
    _outcome("y", "b", 1, 1.0, False),
    _outcome("x", "c", 1, 4.0, True),
    _outcome("y", "c", 1, 4.0, True, proved=False),
    _outcome("y", "c", 2, 2.0, True, predicted=0, came_true=0),
    _outcome("z", "c", 1, 9.0, True),
]


def test_the_report_takes_the_best_kept_draft_of_tasks_that_all_arms_have() -> None:
    made = loop.report_of(OUTCOMES)
    assert made["tasks"] == ["x", "y"]
    arms = made["arms"]
    assert isinstance(arms, dict)
    assert [arms[arm]["best"] for arm in "abc"] == [{"x": 2.0, "y": 1.0}, {"x": 4.0, "y": 1.0}, {"x": 4.0, "y": 4.0}]
    assert [round(arms[arm]["geomean"], 6) for arm in "abc"] == [round(2**0.5, 6), 2.0, 4.0]
    assert [arms[arm]["drafts"] for arm in "abc"] == [3, 2, 3]
    assert [(arms["c"][key]) for key in ("right", "kept", "proved", "predicted", "came_true")] == [3, 3, 2, 4, 2]
    ratios = made["ratios"]
    assert isinstance(ratios, dict)
    assert round(ratios["c/a"]["geomean"], 6) == round((2 * 4) ** 0.5, 6)
    low, high = arms["a"]["interval"]
    assert (low, high) == (1.0, pytest.approx(2.0))
    text = loop.report_text(OUTCOMES)
    assert "| c: the prompt of suggest | 3 | 3 | 3 | 2 | 4.00x | 4.00 to 4.00 | 2 of 4 | 3,600 |" in text
    assert "| y | 1.00x | 1.00x | 4.00x |" in text


def test_without_a_task_that_all_arms_have_there_is_no_report() -> None:
    assert loop.report_of([one for one in OUTCOMES if one.arm != "b"])["tasks"] == []


@pytest.mark.slow
def test_replies_are_proved_once_and_kept(tmp_path: Path, no_ncu_here: None) -> None:
    made_project(tmp_path, PARENT)
    for name in ("prompts", "replies"):
        (tmp_path / name).mkdir()
    (tmp_path / "prompts" / "add_one-a.md").write_text("p" * 400)
    (tmp_path / "replies" / "add_one-a-1.md").write_text("model: somebody\n" + reply_of(FASTER.replace("1.0", "2.0")))
    (reply,) = (tmp_path / "replies").iterdir()
    made = loop.prove(tmp_path, reply, ProofOptions(device="cpu", rounds=12))
    assert (made.model, made.fate) == ("somebody", "rejected")
    assert not list(tmp_path.glob("kernels/add_one/v2*"))
    assert loop.read_outcomes(tmp_path) == []
    (tmp_path / "proofs").mkdir()
    (tmp_path / "proofs" / "add_one-a-1.json").write_bytes(msgspec.json.encode(made))
    assert loop.prove_all(tmp_path) == 0, "it has an outcome"
    (outcome,) = loop.read_outcomes(tmp_path)
    assert (outcome.model, outcome.fate, outcome.right, outcome.kept) == ("somebody", "rejected", False, False)
    assert outcome.reason.startswith("wrong on small")
    assert (outcome.task, outcome.arm, outcome.number, outcome.prompt_tokens, outcome.expected) == (
        *("add_one", "a", 1),
        *(100, 5.0),
    )


@pytest.fixture
def no_ncu_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from cli.commandline import without_ncu

    without_ncu(monkeypatch, tmp_path / "nothing")
