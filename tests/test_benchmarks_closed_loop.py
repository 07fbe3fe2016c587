"""The closed loop: its tasks are right on the host, its arms differ in evidence alone, its report adds up."""

from __future__ import annotations

import fcntl
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

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

from ncu_assist.errors import EnvironmentProblem  # noqa: E402
from ncu_assist.harness.check import check  # noqa: E402
from ncu_assist.project import Project  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402
from ncu_assist.store import Store  # noqa: E402
from ncu_assist.store.drafts import Draft  # noqa: E402
from ncu_assist.suggest.proof.prover import NOT_BELIEVED, ProofOptions  # noqa: E402
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


def test_arm_a_is_asked_before_its_task_is_measured(tmp_path: Path) -> None:
    shutil.copytree(LOOP / "kernels" / "scan", tmp_path / "kernels" / "scan")
    loop.write_prompts(tmp_path)
    assert not list((tmp_path / "prompts").iterdir()), "nothing says what GPU there is"
    shutil.copytree(LOOP / "reports" / "stencil", tmp_path / "reports" / "stencil")
    loop.write_prompts(tmp_path)
    (written,) = (tmp_path / "prompts").iterdir()
    assert written.name == "scan-a.md"
    assert written.read_text() == loop.prompt_of(LOOP, "scan", "a")
    assert "The GPU is an NVIDIA H200." in written.read_text()


def test_a_prompt_that_has_a_reply_stays_as_it_was_asked(recorded: Path, tmp_path: Path) -> None:
    folder = tmp_path / "loop"
    shutil.copytree(recorded, folder)
    for part, name, text in (("prompts", "", "asked"), ("replies", "-1", "a reply")):
        (folder / part).mkdir(exist_ok=True)
        (folder / part / f"lightning_decode-a{name}.md").write_text(text)
    loop.write_prompts(folder)
    asked, other = ((folder / "prompts" / f"lightning_decode-{arm}.md").read_text() for arm in "ab")
    assert asked == "asked"
    assert other.startswith("# Make one GPU kernel faster")


def test_what_was_packed_when_it_was_asked_is_read_from_there() -> None:
    assert loop.kept_text(LOOP, "prompts/scan-c.md").startswith("# Make one GPU kernel faster")
    assert "scan_kernel" in loop.kept_text(LOOP, "details/scan.txt")


@pytest.fixture
def profiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three tasks whose profiling gives one recorded run, or fails; ncu prints a details page."""
    for task in ("broken", "recorded_before", "softmax"):
        (tmp_path / "kernels" / task).mkdir(parents=True)
        (tmp_path / "kernels" / task / "kernel.toml").touch()
    (tmp_path / "details").mkdir()
    (tmp_path / "details" / "recorded_before.txt").write_text("as it was")
    ncu = tmp_path / "ncu"
    ncu.write_text('#!/bin/sh\ntest -s "$2" && echo "page of $(basename $2) $*"\n')
    ncu.chmod(0o755)
    (run,) = Store(ROOT / "reports").runs("softmax", "v7_lanes_a_row")
    failed = SimpleNamespace(run=None, failure="it does not build", skipped="")
    given = {"softmax": SimpleNamespace(run=run, failure="", skipped=""), "broken": failed}
    monkeypatch.setattr(loop, "check_machine", lambda *_: None)
    monkeypatch.setattr(loop, "find_ncu", lambda: ncu)
    monkeypatch.setattr(loop, "plan", lambda project, request, *_: request.kernel)
    monkeypatch.setattr(loop, "measure", lambda task, _: SimpleNamespace(versions=[given[task]]))
    return tmp_path


def test_tasks_are_recorded_each_once_and_one_that_fails_stops_no_other(
    profiled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert loop.record_all(profiled) == 1
    assert "it does not build" in capsys.readouterr().out
    assert sorted(path.name for path in (profiled / "details").iterdir()) == ["recorded_before.txt", "softmax.txt"]
    page = (profiled / "details" / "softmax.txt").read_text()
    assert page.startswith("page of report.ncu-rep --import")
    assert page.endswith("--page details\n")
    (kept,) = Store(profiled / "reports").runs()
    assert (kept.run.kernel, kept.run.source, kept.run.machine) == ("softmax", "recorded", None)


def _outcome(task: str, arm: str, number: int, speedup: float, kept: bool, **changes: object) -> ReplyOutcome:
    fate, times = "kept" if kept else "rejected", (speedup, speedup, speedup, None)
    made = ReplyOutcome(task, arm, number, "", fate, "", "", kept, kept, kept, *times, 2, 1, 1000, 200, {})
    return replace(made, **changes)  # type: ignore[arg-type]


OUTCOMES = [
    _outcome("x", "a", 1, 2.0, True),
    _outcome("x", "a", 2, 3.0, False),
    _outcome("x", "b", 1, 4.0, True),
    _outcome("x", "b", 2, 2.0, True),
    _outcome("x", "c", 1, 3.0, True, expected=6.0),
    _outcome("x", "c", 2, 4.0, True, predicted=0, came_true=0),
    _outcome("y", "a", 1, 0.5, False),
    _outcome("y", "b", 1, 1.0, False),
    _outcome("y", "c", 1, 4.0, True, proved=False),
    _outcome("y", "c", 2, 8.0, True),  # the other arms have no second draft of y
    _outcome("z", "b", 1, 9.0, True),
    _outcome("z", "c", 1, 9.0, True),  # and a has none of z
]


def test_the_report_takes_the_best_kept_of_the_drafts_that_all_arms_have() -> None:
    made = loop.report_of(OUTCOMES)
    assert made["tasks"] == ["x", "y"]
    arms = made["arms"]
    assert isinstance(arms, dict)
    assert [arms[arm]["best"] for arm in "abc"] == [{"x": 2.0, "y": 1.0}, {"x": 4.0, "y": 1.0}, {"x": 4.0, "y": 4.0}]
    assert [round(arms[arm]["geomean"], 6) for arm in "abc"] == [round(2**0.5, 6), 2.0, 4.0]
    assert [arms[arm]["drafts"] for arm in "abc"] == [3, 3, 3]
    assert [(arms["c"][key]) for key in ("right", "kept", "proved", "predicted", "came_true")] == [3, 3, 2, 4, 2]
    ratios = made["ratios"]
    assert isinstance(ratios, dict)
    assert round(ratios["c/a"]["geomean"], 6) == round((2 * 4) ** 0.5, 6)
    low, high = arms["a"]["interval"]
    assert (low, high) == (1.0, pytest.approx(2.0))
    text = loop.report_text(OUTCOMES, {"z": {"a": ["1: no reply", "2: no proof"]}})
    assert text.startswith("12 drafts are proved. Compared are the 9 that every arm has, of 2 tasks.\n")
    assert "| c: the prompt of suggest | 3 | 3 | 3 | 2 | 4.00x | 4.00 to 4.00 | 2.00x | 2 of 4 | 3,600 |" in text
    assert "| y | 1.00x | 1.00x | 4.00x |" in text
    assert "| z | 1: no reply, 2: no proof |  |  |" in text


def test_one_task_has_no_interval_and_none_no_comparison() -> None:
    of_one = [one for one in OUTCOMES if one.task == "x"]
    assert "| 2.00x | one task | - | 2 of 4 |" in loop.report_text(of_one, {})
    without = [one for one in OUTCOMES if one.arm != "b"]
    assert loop.report_of(without)["tasks"] == []
    assert "| arm |" not in loop.report_text(without, {})


PROOF = msgspec.json.decode((LOOP / "proofs" / "stencil-c-1.json").read_bytes(), type=Draft)
SECONDS = 30.0  # of a proof, by the clock of these tests


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """A folder with two drafts of every arm of three tasks, of which c-1 are proved, as it is before a GPU is there."""
    for part in ("kernels", "replies", "prompts", "proofs"):
        (tmp_path / part).mkdir()
    for task in ("x", "y", "z"):
        (tmp_path / "kernels" / task).mkdir()
        (tmp_path / "kernels" / task / "kernel.toml").touch()
        (tmp_path / "proofs" / f"{task}-c-1.json").write_bytes(msgspec.json.encode(PROOF))
        for arm in "abc":
            (tmp_path / "prompts" / f"{task}-{arm}.md").write_text("a prompt")
            for number in (1, 2):
                (tmp_path / "replies" / f"{task}-{arm}-{number}.md").write_text("a reply")
    return tmp_path


@dataclass
class Bench:
    """Takes the place of proving: notes what is proved, at which second, and gives the proof of another task."""

    now: float = 0.0
    proved: list[str] = field(default_factory=list)
    gives: dict[str, BaseException | Draft] = field(default_factory=dict)
    no_draft: str = ""
    open: int = 0

    def monotonic(self) -> float:
        return self.now

    @contextmanager
    def drafted(self, folder: Path, path: Path, options: ProofOptions) -> Iterator[Callable[[], Draft]]:
        if path.stem == self.no_draft:
            raise ValueError("its run is damaged")
        self.open += 1
        yield partial(self._prove, path.stem)
        self.open -= 1

    def _prove(self, name: str) -> Draft:
        self.proved.append(name)
        self.now += SECONDS
        given = self.gives.get(name, PROOF)
        if isinstance(given, BaseException):
            raise given
        return given


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    made = Bench()
    monkeypatch.setattr(loop, "time", made)
    monkeypatch.setattr(loop, "drafted", made.drafted)
    monkeypatch.setattr(loop, "check_machine", lambda *_: None)
    return made


def test_an_early_end_leaves_whole_tasks_and_the_rest_goes_on(asked: Path, bench: Bench) -> None:
    """Five proofs fit into 170 seconds; the sixth would end after them."""
    assert loop.prove_all(asked, 170.0) == 10
    assert bench.proved == ["x-a-1", "x-b-1", "y-a-1", "y-b-1", "z-a-1"]
    assert bench.now == 150.0
    assert bench.open == 0
    assert loop.report_of(loop.read_outcomes(asked))["tasks"] == ["x", "y"]
    assert loop.missing_of(asked)["z"] == {
        "a": ["2: no proof"],
        "b": ["1: no proof", "2: no proof"],
        "c": ["2: no proof"],
    }
    assert loop.prove_all(asked) == 0
    assert len(bench.proved) == len(set(bench.proved)) == 15
    assert bench.proved[5:9] == ["z-b-1", "x-a-2", "x-b-2", "x-c-2"]
    assert loop.missing_of(asked) == {}
    assert loop.prove_all(asked) == 0
    assert len(bench.proved) == 15


def test_a_proof_is_there_at_once_and_whole(asked: Path, bench: Bench) -> None:
    """Who is ended in the second proof has the first, and a file that was half written counts for nothing."""
    bench.gives["x-b-1"] = KeyboardInterrupt()
    (asked / "proofs" / ".x-b-1.json.part").write_text("{")
    with pytest.raises(KeyboardInterrupt):
        loop.prove_all(asked)
    assert loop.waiting_replies(asked)[0].stem == "x-b-1"
    assert msgspec.json.decode((asked / "proofs" / "x-a-1.json").read_bytes(), type=Draft) == PROOF


def test_what_cannot_be_proved_here_stops_no_other_and_is_left(
    asked: Path, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.no_draft = "x-a-1"
    bench.gives = {
        "y-a-1": RuntimeError("nobody thought of that"),
        "z-a-1": replace(PROOF, fate="unproven", reason=f"{NOT_BELIEVED}: ncu may not read counters"),
    }
    assert loop.prove_all(asked) == 3
    assert [path.stem for path in loop.waiting_replies(asked)] == ["x-a-1", "y-a-1", "z-a-1"]
    said = capsys.readouterr().out
    assert "x-a-1: no draft" in said
    assert "RuntimeError: nobody thought of that" in said
    assert "z-a-1: not proved: right, and faster" in said


def test_a_machine_that_fails_each_time_costs_three_proofs(asked: Path, bench: Bench) -> None:
    no_counters = replace(PROOF, fate="unproven", reason=f"{NOT_BELIEVED}: ncu may not read counters")
    bench.gives = dict.fromkeys((path.stem for path in loop.waiting_replies(asked)), no_counters)
    assert loop.prove_all(asked) == 15
    assert bench.proved == ["x-a-1", "x-b-1", "y-a-1"]
    assert bench.open == 0


def test_a_reply_that_another_process_is_at_is_left_to_it(asked: Path, bench: Bench) -> None:
    with (asked / "replies" / "x-a-1.md").open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert loop.prove_all(asked) == 1
    assert "x-a-1" not in bench.proved
    assert len(bench.proved) == 14
    assert loop.prove_all(asked) == 0


def test_a_reply_that_another_process_has_proved_meanwhile_is_not_proved_again(
    asked: Path, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = loop.waiting_replies(asked)
    (asked / "proofs" / "y-b-1.json").write_bytes(msgspec.json.encode(PROOF))
    with monkeypatch.context() as patched:
        patched.setattr(loop, "waiting_replies", lambda _: waiting)
        loop.prove_all(asked)
    assert len(bench.proved) == 14
    assert "y-b-1" not in bench.proved


def test_drafts_are_not_proved_on_another_gpu_than_they_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop.SandboxProver, "check", lambda _: None)
    for name in ("find_ncu", "find_sanitizer"):
        monkeypatch.setattr(loop, name, lambda: None)
    monkeypatch.setattr(loop, "gpu_here", lambda: SimpleNamespace(name="NVIDIA H200"))
    loop.check_machine(LOOP, ProofOptions())
    loop.check_machine(LOOP / "second", ProofOptions())
    monkeypatch.setattr(loop, "gpu_here", lambda: SimpleNamespace(name="NVIDIA H100 80GB HBM3"))
    for folder in SETS:
        with pytest.raises(EnvironmentProblem, match="its runs are of an NVIDIA H200, and this is an NVIDIA H100"):
            loop.check_machine(folder, ProofOptions())


def test_the_page_links_what_each_draft_rests_on(asked: Path, bench: Bench) -> None:
    loop.prove_all(asked, 70.0)
    page = asked / "results.md"
    loop.write_page(page, [asked])
    text = page.read_text()
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if link != "README.md"]
    assert len(links) == 3 * 5
    assert all((asked / link).is_file() for link in links)
    assert "[prompt](prompts/x-b.md), [reply](replies/x-b-1.md), [proof](proofs/x-b-1.json)" in text
    assert f"| kept | {PROOF.proof.speedup:.2f}x (" in text  # type: ignore[union-attr]
    assert "5 drafts are proved. Compared are the 3 that every arm has, of 1 task." in text


@pytest.mark.slow
def test_replies_are_proved_once_and_kept(tmp_path: Path, no_ncu_here: None) -> None:
    made_project(tmp_path, PARENT)
    for name in ("prompts", "replies"):
        (tmp_path / name).mkdir()
    (tmp_path / "prompts" / "add_one-a.md").write_text("p" * 400)
    (tmp_path / "replies" / "add_one-a-1.md").write_text("model: somebody\n" + reply_of(FASTER.replace("1.0", "2.0")))
    options = ProofOptions(device="cpu", rounds=12)
    assert loop.prove_all(tmp_path, options=options) == 0
    (kept,) = (tmp_path / "proofs").iterdir()
    made = msgspec.json.decode(kept.read_bytes(), type=Draft)
    assert (made.model, made.fate) == ("somebody", "rejected")
    assert not list(tmp_path.glob("kernels/add_one/v2*"))
    before = kept.stat().st_mtime_ns
    assert loop.prove_all(tmp_path, options=options) == 0
    assert kept.stat().st_mtime_ns == before, "it has an outcome"
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
