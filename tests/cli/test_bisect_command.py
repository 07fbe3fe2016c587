"""``ncu-assist bisect``: the first slow or wrong commit of a repository whose versions say how long they take."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from commandline import Run
from gated import SMALL, Archive
from gitted import Repository
from kernel_folder import write_kernel

from ncu_assist.analysis.ladder import KernelOutcome, VersionOutcome
from ncu_assist.errors import EnvironmentProblem
from ncu_assist.pipeline.planning import MeasureRequest
from ncu_assist.project import Project
from ncu_assist.record import Check
from ncu_assist.spec_file import load_kernel
from ncu_assist.steps import Reporter

FAST, SLOW, WRONG, BROKEN = "100", "110", "wrong", "broken"


@dataclass
class Told:
    """A bench that believes what the version's source says; ``asked`` is how often it was."""

    asked: int = 0

    def bench(self, project: Project, request: MeasureRequest, reporter: Reporter) -> KernelOutcome:
        self.asked += 1
        (version,) = load_kernel(project, request.kernel).select_versions(request.versions)
        said = re.findall(r"takes (\w+)", version.path.read_text())[0].split("then")
        word = said[min(self.asked, len(said)) - 1]
        if word == BROKEN:
            return self._outcome(VersionOutcome(version.name, None, "build: it does not compile"))
        right = word != WRONG
        check = Check(SMALL, right, "" if right else "element 3 differs", (0,), None, None)
        run = Archive(project.root).save(
            version.name, {SMALL: float(word) * 1e3 if right else 0}, run_id=f"20261101T000000Z-{self.asked:06x}"
        )
        run = replace(run, run=replace(run.run, checks=(check,)))
        return self._outcome(VersionOutcome(version.name, run, "" if right else "check small: element 3 differs"))

    def _outcome(self, row: VersionOutcome) -> KernelOutcome:
        return KernelOutcome("add_one", (SMALL,), "live", (row,))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    made = Told()
    monkeypatch.setattr("ncu_assist.pipeline.bisecting.bench", made.bench)
    monkeypatch.setattr("ncu_assist.pipeline.bisecting.gpu_here", lambda: None)
    return made


def committed(root: Path, *words: str) -> list[str]:
    """Commit the version once for each word that says how long it takes, and return the commits."""
    repository, commits = Repository(root), []
    for number, word in enumerate(words):
        write_kernel(root, {"v0_torch.py": f"# takes {word}, edit {number}\n"})
        commits.append(repository.commit(message=f"edit {number}"))
    return commits


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("first", [1, 4, 8])
def test_the_first_slow_commit_is_found(here: Path, run: Run, told: Told, first: int) -> None:
    commits = committed(here, *[FAST] * first, *[SLOW] * (9 - first))
    (here / "kernels" / "add_one" / "v0_torch.py").write_text("# takes 100, not committed\n")
    done = run("bisect", "add_one/v0", "--good", commits[0][:10], "--json")
    assert done.code == 0
    assert done.json["first"] == [commits[first]]
    assert done.json["symptom"] == "slower"
    assert done.json["slowdown"] == pytest.approx(0.1, abs=0.01)
    assert done.json["files"] == ["kernels/add_one/v0_torch.py"]
    assert told.asked <= 2 + 4
    assert "not committed" in (here / "kernels" / "add_one" / "v0_torch.py").read_text()
    assert Repository.git(_repository(here), "worktree", "list").count("\n") == 0
    text = run("bisect", "add_one/v0", "--good", commits[0]).out
    assert f"first slower: {commits[first][:12]} edit {first}" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


def test_the_first_wrong_commit_is_found(here: Path, run: Run, told: Told) -> None:
    commits = committed(here, FAST, SLOW, FAST, WRONG, WRONG)
    answer = run("bisect", "add_one", "--good", commits[0], "--json").json
    assert (answer["symptom"], answer["first"]) == ("wrong", [commits[3]])


def test_what_does_not_build_is_skipped(here: Path, run: Run, told: Told) -> None:
    commits = committed(here, FAST, FAST, BROKEN, SLOW, SLOW)
    done = run("bisect", "add_one", "--good", commits[0], "--json")
    assert done.code == 4
    assert set(done.json["first"]) == {commits[2], commits[3]}
    assert "it does not compile" in str(done.json["tried"])
    assert "one of 2 commits" in run("bisect", "add_one", "--good", commits[0]).out


def test_a_time_between_the_two_is_measured_again(here: Path, run: Run, told: Told) -> None:
    commits = committed(here, FAST, "105then105then105then110", SLOW)
    answer = run("bisect", "add_one", "--good", commits[0], "--json").json
    assert answer["first"] == [commits[1]]
    assert told.asked == 4


def test_ends_that_do_not_differ_are_refused(here: Path, run: Run, told: Told) -> None:
    commits = committed(here, FAST, FAST, FAST)
    refused = run("bisect", "add_one", "--good", commits[0])
    assert refused.code == 2
    assert "HEAD is not slower" in refused.err
    assert "try: ncu-assist trend add_one" in refused.err
    assert run("bisect", "add_one", "--good", "nowhere").code == 2


@pytest.fixture
def no_driver(monkeypatch: pytest.MonkeyPatch, told: Told) -> Told:
    def none() -> None:
        raise EnvironmentProblem("there is no working NVIDIA driver", "nvidia-smi")

    monkeypatch.setattr("ncu_assist.pipeline.bisecting.gpu_here", none)
    return told


def test_a_gpu_is_asked_for_before_anything_is_built(here: Path, run: Run, no_driver: Told) -> None:
    commits = committed(here, FAST, SLOW, SLOW)
    refused = run("bisect", "add_one", "--good", commits[0])
    assert refused.code == 6
    assert "there is no working NVIDIA driver" in refused.err
    assert no_driver.asked == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add_one", "--good", "xyz"), "'xyz' is no commit"),
        (("add_one/v99", "--good", "HEAD~1"), "v99"),
        (("add_one", "--good", "HEAD~1", "--workload", "nope"), "nope"),
        (("add_one", "--good", "HEAD"), "are the same commit"),
        (("add_one", "--good", "HEAD", "--bad", "HEAD~1"), "--good must be the earlier commit"),
        (("add_two", "--good", "HEAD~1"), "add_two"),
    ],
)
def test_mistakes_are_told_without_a_gpu(
    here: Path, run: Run, no_driver: Told, words: tuple[str, ...], said: str
) -> None:
    committed(here, FAST, SLOW, SLOW)
    refused = run("bisect", *words)
    assert refused.code == 2
    assert said in " ".join(refused.err.split())


def test_without_git_or_a_project_a_mistake_is_told(here: Path, run: Run, no_driver: Told) -> None:
    assert run("bisect", "add_one", "--good", "HEAD~1").code == 2
    write_kernel(here, {"v0_torch.py": "# takes 100\n"})
    refused = run("bisect", "add_one", "--good", "HEAD~1")
    assert refused.code == 2
    assert "is no commit" in refused.err


def test_ends_in_no_row_are_refused_before_building(here: Path, run: Run, told: Told) -> None:
    commits = committed(here, FAST, FAST, SLOW)
    repository = _repository(here)
    repository.git("checkout", "--quiet", "-b", "aside", commits[0])
    aside = repository.commit({"aside.txt": "1"})
    repository.git("checkout", "--quiet", "main")
    for good, bad, said in (
        (commits[2], commits[0], "--good must be the earlier commit"),
        (commits[2], "HEAD", "are the same commit"),
        (aside, "HEAD", "is not an ancestor of HEAD"),
        (commits[0], aside, "touches the files of add_one"),
    ):
        refused = run("bisect", "add_one", "--good", good, "--bad", bad)
        assert refused.code == 2
        assert said in " ".join(refused.err.split())
    assert told.asked == 0


@pytest.mark.parametrize("below", ["", "gpu"])
def test_only_commits_that_touch_the_version_are_tried(
    here: Path, run: Run, told: Told, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    """Of a header that it includes too; neither what lies outside the kernel nor another version of it."""
    root, repository = here / below, Repository(here)
    base = f"{below}/kernels" if below else "kernels"

    def commit(word: str, **others: str) -> str:
        source = f'// takes {word}\n#include "../shared.h"\n'
        write_kernel(root, {"v0_torch.py": "# takes 1\n", "v1_cuda.cu": source})
        return repository.commit({f"{base}/shared.h": "//\n", **{f"{base}/{k}": v for k, v in others.items()}})

    (root / "kernels").mkdir(parents=True)
    good = commit(FAST)
    for number in range(8):
        repository.commit({"README.md": f"{number}", f"{base}/add_one/v0_torch.py": f"# takes 1, edit {number}\n"})
    header = repository.commit({f"{base}/shared.h": "// edit\n"})
    slow = commit(SLOW)
    for number in range(8):
        repository.commit({"README.md": f"again {number}"})
    monkeypatch.chdir(root)
    done = run("bisect", "add_one/v1", "--good", good, "--json")
    assert done.code == 0, done.err
    found = done.json
    assert found["first"] == [slow]
    assert {one["id"] for one in found["tried"]} <= {header, slow}


def _repository(root: Path) -> Repository:
    made = Repository.__new__(Repository)
    made.root = root
    return made
