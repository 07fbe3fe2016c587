"""The action's steps, as they stand in action.yml, in a clean checkout of one recorded kernel and its runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as xml

import numpy as np
import pytest
import yaml
from acted import ROOT, Acted, act, action, steps
from gitted import Repository
from recorded_family import STORY, copy_family

from ncu_assist import process
from ncu_assist.record import Bench
from ncu_assist.sources import source_sha256
from ncu_assist.store import Store, StoredRun, samples_parquet

TIMES = ("median_ns", "q1_ns", "q3_ns", "min_ns")
NOT_INSTALLED = {"install": "none"}


class Project:
    """A clone on a branch, whose origin has main with lightning_decode and its recorded runs."""

    def __init__(self, root: Path, below: str = ".") -> None:
        self.clone, self.scratch, self.number = root / "clone", root / "scratch", 0
        self.root, self.below = self.clone / below, below
        origin = Repository(root / "origin")
        copy_family(origin.root / below)
        origin.commit(message="first")
        origin.git("clone", "--quiet", str(origin.root), str(self.clone))
        origin.git("switch", "--quiet", "--detach")
        self.repository = Repository(self.clone)
        self.repository.git("switch", "--quiet", "--create", "work")
        self.store = Store(self.root / "reports")
        (self.source,) = (self.root / "kernels" / STORY).glob(f"{self.version}.*")

    @property
    def version(self) -> str:
        return next(name for name in Store(self.root / "reports").versions(STORY) if name.startswith("v9_"))

    def edit(self) -> None:
        """Change the version, by a line at its end that the compiler drops."""
        self.number += 1
        line = f"\nstatic const int edit_{self.number} = {self.number};\n"
        self.source.write_text(self.source.read_text() + line)

    def record(self, factor: float = 1.0, **changes: Any) -> StoredRun:
        """Save a run of the version as its source is now, whose times are ``factor`` those of the recorded one."""
        old = self.store.runs(STORY, self.version)[-1]
        run, bench = old.run, old.run.bench
        assert bench is not None
        samples, name = old.samples(), f"bench-{self.number}"
        own = samples["version"] == run.version
        samples["bench_id"] = name
        samples["bench_id"] = samples["bench_id"].astype("category")
        samples.loc[own, "time_ns"] *= factor
        timings = tuple(
            replace(
                one,
                bench_id=name,
                **{key: getattr(one, key) * factor for key in TIMES},
            )
            for one in bench.timings
        )
        made: dict[str, Any] = {
            "run_id": f"20261201T00{self.number:02d}00Z-{self.number:06x}",
            "created": f"2026-12-01T00:{self.number:02d}:00Z",
            "source_sha256": source_sha256(self.source),
            "bench": Bench(name, bench.flush, bench.rounds, bench.temperature_c, bench.throttle_reasons, timings),
            "launches": (),
            "profile": None,
            "files": {},
            "digest": "",
        }
        return self.store.save(replace(run, **{**made, **changes}), {"samples.parquet": samples_parquet(samples)})

    def act(
        self, fork: bool = False, event: str = "pull_request", before: str = "", ref: str = "main", **inputs: str
    ) -> Acted:
        self.repository.commit(message="work")
        self.number += 1
        scratch = self.scratch / str(self.number)
        own = {**NOT_INSTALLED, "working-directory": self.below}
        return act(self.clone, scratch, {**own, **inputs}, event, fork, before, ref)

    def merge(self) -> None:
        self.repository.commit(message="work")
        self.repository.git("push", "--quiet", "origin", "HEAD:main")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


SNIPPET = Path(__file__).parents[1] / "docs" / "guide" / "ci.md"


@pytest.mark.parametrize(("profiled", "gated", "code"), [(0, 0, 0), (5, 3, 3), (6, 0, 6)])
def test_the_gitlab_job_judges_also_what_does_not_build(tmp_path: Path, profiled: int, gated: int, code: int) -> None:
    """Its lines as they stand in the guide, as a runner has them: each after the other until one fails."""
    script = [
        'pip() { echo "$@" > pip.txt; }; git() { :; }',
        f"ncu-assist() {{ case $1 in profile) return {profiled} ;; gate) touch gate.xml; return {gated} ;; esac; }}",
        *gitlab_job()["script"],
    ]
    done = process.run(["bash", "-eo", "pipefail", "-c", "\n".join(script)], cwd=tmp_path)
    assert done.exit_code == code, done.stderr
    assert (tmp_path / "gate.xml").exists() == (code != 6)
    assert (tmp_path / "pip.txt").read_text().startswith("install ncu-assist[gpu] @ git+https://")


def gitlab_job() -> dict[str, Any]:
    text = SNIPPET.read_text().partition("## GitLab")[2].partition("\n\n    ")[2].partition("\n\n")[0]
    return dict(yaml.safe_load(f"    {text}")["gate"])


def test_the_gitlab_job_runs_for_merge_requests_and_compares_with_a_branch_that_is_named() -> None:
    """Without rules a job is in no pipeline of a merge request; fetching a branch without a name gets the default."""
    job = gitlab_job()
    request, pushed = job["rules"]
    assert request["if"] == '$CI_PIPELINE_SOURCE == "merge_request_event"'
    assert request["variables"] == {"SINCE": "origin/$CI_MERGE_REQUEST_TARGET_BRANCH_NAME"}
    assert pushed["if"] == "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH"
    assert pushed["variables"] == {"SINCE": "$CI_COMMIT_BEFORE_SHA"}


def test_the_action_is_one_that_github_takes() -> None:
    made = action()
    assert {"name", "description", "inputs", "outputs", "runs"} == set(made)
    assert made["runs"]["using"] == "composite"
    for step in steps():
        assert ("run" in step) != ("uses" in step)
        assert "run" not in step or step["shell"] == "bash"
        assert "${{" not in step.get("run", ""), "what a pull request names goes through env, never into a script"


@pytest.mark.slow
def test_a_branch_that_changes_nothing_is_green(project: Project) -> None:
    done = project.act()
    assert done.is_green, done.said
    assert "no version has changed" in done.comments


@pytest.mark.slow
def test_the_same_code_is_green_with_pages_a_comment_and_junit(project: Project) -> None:
    project.edit()
    project.record()
    done = project.act()
    assert done.is_green, done.said
    assert f"{STORY}/v9" in done.comments
    assert done.comments == f"<!-- ncu-assist gate -->\n{done.summary}"
    left = project.root / "ncu-assist-ci"
    assert {f"{STORY}.html", f"{STORY}-trend.html", "gate.xml", "comment.md"} <= {one.name for one in left.iterdir()}
    assert len(list(xml.parse(left / "gate.xml").iter("testcase"))) >= 10


@pytest.mark.slow
def test_a_project_below_the_root_has_its_folder_named(tmp_path: Path) -> None:
    project = Project(tmp_path, "gpu")
    project.edit()
    unmeasured = project.act()
    assert unmeasured.codes["Verdict"] == 4, unmeasured.said
    at_root = project.act(**{"working-directory": "."})
    assert at_root.codes["Gate"] == 2
    assert "try: cd gpu" in at_root.said
    project.record()
    done = project.act()
    assert done.is_green, done.said
    left = {one.name for one in (project.root / "ncu-assist-ci").iterdir()}
    assert {f"{STORY}.html", f"{STORY}-trend.html", "gate.xml", "comment.md"} <= left
    (kept,) = (step["with"]["path"] for step in steps() if step["name"] == "Artefact")
    assert kept == "${{ inputs.working-directory }}/ncu-assist-ci"


def slower(project: Project) -> None:
    project.record(1.05)


def wrong(project: Project) -> None:
    checks = project.store.runs(STORY, project.version)[-1].run.checks
    project.record(checks=tuple(replace(one, passed=False, reason="element 3 differs") for one in checks))


def unmeasured(project: Project) -> None:
    """Leave the version as it was edited, without a run."""


def foreign(project: Project) -> None:
    device = project.store.runs(STORY, project.version)[-1].run.device
    assert device is not None
    project.record(device=replace(device, name="NVIDIA H100 80GB HBM3", uuid_sha256="ab" * 32))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (slower, 3, "time +5.0 %"),
        (wrong, 3, "element 3 differs"),
        (unmeasured, 4, "changed since it was measured"),
        (foreign, 4, "the two were measured on different GPUs"),
    ],
)
def test_what_is_red(project: Project, change: Callable[[Project], None], code: int, said: str) -> None:
    project.edit()
    change(project)
    done = project.act()
    assert done.codes["Verdict"] == code, done.said
    assert [name for name, own in done.codes.items() if own] == ["Verdict"]
    assert said in done.comments


@pytest.mark.slow
@pytest.mark.parametrize("change", [unmeasured, foreign, slower, wrong])
def test_only_noise_is_let_pass(project: Project, change: Callable[[Project], None]) -> None:
    project.edit()
    change(project)
    assert project.act(unclear="pass").codes["Verdict"] in (3, 4)


@pytest.mark.slow
def test_the_same_code_is_green_with_a_history_of_ten_runs(project: Project) -> None:
    """Each as far from the others as benches of one code are; short workloads settle at no limit of 2 %."""
    rng = np.random.default_rng(5)
    for run in range(11):
        project.edit()
        project.record(float(np.exp(rng.normal(0, 0.0012))))
        if run < 10:
            project.merge()
    done = project.act()
    assert done.is_green, done.said
    assert "against the last 10 runs" in done.comments
    assert "b1_d96 settles at " in done.comments
    assert project.act(unclear="fail").codes["Verdict"] == 4


@pytest.mark.slow
def test_small_steps_are_red_by_the_third_although_each_is_within_the_limit(project: Project) -> None:
    verdicts = []
    for step in range(1, 4):
        project.edit()
        project.record(1.015**step)
        done = project.act()
        verdicts.append(done.codes["Verdict"])
        project.merge()
    assert verdicts == [0, 0, 3], done.said
    assert "against the last 3 runs" in done.comments


@pytest.mark.slow
def test_a_first_version_has_no_baseline_yet_and_is_green_once_it_is_right(project: Project) -> None:
    folder = project.root / "kernels" / "first"
    folder.mkdir()
    old = project.root / "kernels" / STORY
    for name in ("kernel.toml", "reference.py", "v0_torch_eager.py"):
        (folder / name).write_text((old / name).read_text().replace(STORY, "first"))
    assert project.act().codes["Verdict"] == 4
    run = project.store.runs(STORY, "v0_torch_eager")[-1].run
    own = {"kernel": "first", "source_sha256": source_sha256(folder / name), "bench": None, "launches": ()}
    project.store.save(replace(run, profile=None, files={}, digest="", **own), {})
    done = project.act()
    assert done.is_green, done.said
    assert "nothing to hold it against yet" in done.comments


@pytest.mark.slow
def test_a_branch_does_not_choose_what_it_is_held_against(project: Project) -> None:
    old = project.store.runs(STORY, project.version)[-1]
    project.edit()
    project.record(1.3)
    shutil.rmtree(old.folder)
    done = project.act()
    assert done.codes["Verdict"] in (3, 4), done.said
    assert f"gone or changed here: {old.run.run_id}" in done.comments


@pytest.mark.slow
def test_a_fork_without_secrets_has_its_verdict_all_the_same(project: Project) -> None:
    project.edit()
    project.record()
    done = project.act(fork=True, token="")
    assert done.is_green, done.said
    assert done.comments == ""
    assert "::notice::the comment could not be written" in done.said
    assert f"{STORY}/v9" in done.summary


@pytest.mark.slow
def test_a_fork_that_is_slower_is_red_without_a_comment(project: Project) -> None:
    project.edit()
    project.record(1.05)
    done = project.act(fork=True, token="")
    assert done.codes["Verdict"] == 3, done.said
    assert [name for name, own in done.codes.items() if own] == ["Verdict"]
    assert done.comments == ""
    assert "time +5.0 %" in done.summary


@pytest.mark.slow
def test_an_error_replaces_the_comment_on_an_older_commit(project: Project) -> None:
    project.edit()
    file = project.record().folder / "run.json"
    assert project.act().is_green
    file.write_text(file.read_text()[:-200])
    done = project.act()
    assert done.codes["Gate"] == 7
    assert "## Gate: an error, exit code 7" in done.comments
    assert "is damaged" in done.comments
    assert "is damaged" in done.summary
    other = project.act(base="nowhere")
    assert other.codes["Base branch"] == 2
    assert "::error::origin has no branch 'nowhere' to compare with" in other.said
    assert "nothing was checked" in other.comments


@pytest.mark.parametrize(("measure", "installed"), [("true", f"{ROOT}[gpu]"), ("false", str(ROOT))])
def test_what_measures_is_installed_with_what_that_needs(project: Project, measure: str, installed: str) -> None:
    done = project.act(install="", measure=measure)
    assert f"python3 -m pip install --quiet {installed}\n" in done.said


@pytest.mark.slow
def test_two_uses_in_one_run_have_names_of_their_own(project: Project) -> None:
    project.edit()
    project.record()
    done = project.act(name="on H100")
    assert done.comments == f"<!-- on H100 gate -->\n**on H100**\n\n{done.summary}"
    (artefact,) = (step for step in steps() if step["name"] == "Artefact")
    assert artefact["with"]["name"] == "${{ inputs.name }}"
    assert artefact["continue-on-error"] is True


@pytest.mark.slow
def test_a_push_of_another_branch_is_compared_with_the_base_and_not_kept(project: Project, tmp_path: Path) -> None:
    project.edit()
    project.repository.commit(message="edit")
    before = project.repository.git("rev-parse", "HEAD")
    project.record(1.3)
    done = project.act(event="push", before=before, ref="work", archive=str(tmp_path / "kept"))
    assert done.codes["Verdict"] == 3, done.said
    assert "since origin/main" in done.summary
    assert not (tmp_path / "kept").exists()


def test_a_forced_push_is_not_green(project: Project, tmp_path: Path) -> None:
    done = project.act(event="push", before="1" * 40, archive=str(tmp_path / "kept"))
    assert done.codes["Base branch"] == 2
    assert "the state of main before this push is unknown" in done.said
    assert not (tmp_path / "kept").exists()


@pytest.mark.slow
def test_without_a_gpu_there_is_nothing_to_measure_with(project: Project) -> None:
    project.edit()
    done = project.act(measure="true")
    assert done.codes["Measure"] == 6
    assert "Gate" not in done.codes


@pytest.mark.slow
def test_a_push_is_compared_with_what_the_branch_was_and_its_runs_are_kept(project: Project, tmp_path: Path) -> None:
    before = project.repository.git("rev-parse", "HEAD")
    project.edit()
    kept = project.record()
    project.merge()
    done = project.act(event="push", before=before, archive=str(tmp_path / "kept"))
    assert done.is_green, done.said
    assert f"{STORY}/v9" in done.summary
    assert done.comments == ""
    assert (tmp_path / "kept" / STORY / kept.run.version / kept.run.run_id / "run.json").is_file()


@pytest.mark.slow
def test_what_the_runner_keeps_is_no_change(project: Project, tmp_path: Path) -> None:
    project.edit()
    project.record()
    (project.root / "reports").rename(tmp_path / "kept")
    project.repository.git("checkout", "--", ".")
    done = project.act(archive=str(tmp_path / "kept"))
    assert done.is_green, done.said
    assert "no version has changed" in done.summary
