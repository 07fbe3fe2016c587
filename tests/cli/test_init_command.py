"""``ncu-assist init``: a folder becomes a project, once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commandline import Run, files
from gitted import Repository

from ncu_assist.pipeline.new_kernel import NOT_KEPT
from ncu_assist.project import find_project


def test_a_folder_becomes_a_project_once(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".gitignore").write_text("*.o\n")
    assert run("init", "--json").json["files"] == ["kernels", ".gitignore"]
    ignored = ["*.o", ".ncu-assist/", "/reports/**/*.html", "/reports/*/suggest/prompt-*.json"]
    assert (tmp_path / ".gitignore").read_text().splitlines() == ignored
    below = tmp_path / "kernels" / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    assert find_project(below).root == tmp_path
    again = run("init")
    assert (again.code, again.out) == (2, "")
    assert f"this is already a project: {tmp_path}" in again.err


def test_what_a_project_keeps_out_of_git_this_one_does_too() -> None:
    """A prompt of ``suggest --dry-run`` is no change of the archive."""
    assert {*NOT_KEPT} <= {*(Path(__file__).parents[2] / ".gitignore").read_text().splitlines()}


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_prompt_is_not_a_file_that_git_lacks(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = Repository(tmp_path / "own")
    monkeypatch.chdir(repository.root)
    run("init")
    prompts = repository.root / "reports" / "gemm" / "suggest"
    prompts.mkdir(parents=True)
    (prompts / "prompt-0123456789ab.json").write_text("{}")
    (prompts / "draft.json").write_text("{}")
    seen = repository.git("status", "--porcelain", "--untracked-files=all", "reports")
    assert seen == "?? reports/gemm/suggest/draft.json"


def test_what_is_to_be_done_next_is_said(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = run("init")
    assert answer.out.split() == ["kernels", ".gitignore"]
    assert answer.err == "1. ncu-assist new KERNEL --from FILE.cu\n"


def test_a_folder_that_cannot_be_written(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernels").write_text("a file in its place")
    before = files(tmp_path)
    answer = run("init")
    assert (answer.code, answer.out) == (6, "")
    assert f"cannot write in {tmp_path}: File exists" in answer.err
    assert files(tmp_path) == before


def test_a_task_for_vscode_in_a_new_project_and_never_over_another(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("init", "--vscode", "--json").json["files"] == ["kernels", ".gitignore", ".vscode/tasks.json"]
    (tmp_path / ".vscode" / "tasks.json").write_text("{}")
    answer = run("init", "--vscode")
    assert (answer.code, answer.out) == (2, "")
    assert "already exists" in answer.err
    assert (tmp_path / ".vscode" / "tasks.json").read_text() == "{}"
