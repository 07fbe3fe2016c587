"""What git knows of a project: the commit of a run, and whether its kernel's folder differed from it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from factories import make_run
from gitted import Repository

from ncu_assist import record
from ncu_assist.commits import commit_of, git, resolved
from ncu_assist.errors import UsageProblem


def test_a_folder_is_dirty_by_its_own_files_only(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    first = repository.commit({"kernels/add/v1_a.py": "one", "kernels/mul/v1_a.py": "one"})
    (tmp_path / "kernels/mul/v1_a.py").write_text("two")
    (tmp_path / "kernels/mul/v2_b.py").write_text("new")
    (tmp_path / "kernels/add/__pycache__").mkdir()
    (tmp_path / "kernels/add/__pycache__/v1_a.pyc").write_text("made by Python")
    add, mul = (commit_of(tmp_path / "kernels" / name) for name in ("add", "mul"))
    assert add == record.Commit(first, False)
    assert mul == record.Commit(first, True)
    assert (add.short, mul.short) == (first[:12], first[:12] + "+")


def test_where_git_knows_nothing_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert commit_of(tmp_path) is None
    Repository(tmp_path)
    assert commit_of(tmp_path) is None  # a repository without a commit
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit_of(tmp_path) is None  # no git


def test_a_hook_of_another_repository_does_not_lead_astray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = Repository(tmp_path / "own"), Repository(tmp_path / "other")
    other.commit({"a": "1"})
    commit = own.commit({"a": "2"})
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    assert commit_of(tmp_path / "own") == record.Commit(commit, False)


def test_what_git_refuses_is_said_in_its_words(tmp_path: Path) -> None:
    Repository(tmp_path).commit({"a": "1"})
    with pytest.raises(UsageProblem, match="'origin/main' is no commit") as error:
        resolved(tmp_path, "origin/main")
    assert error.value.hint == "git fetch origin main"
    with pytest.raises(UsageProblem, match="'--help' is no commit"):
        resolved(tmp_path, "--help")
    with pytest.raises(UsageProblem, match=r"git show: .*nowhere"):
        git(tmp_path, "show", "HEAD:nowhere")


def test_an_old_run_has_no_commit_and_keeps_its_digest() -> None:
    old = msgspec.json.decode(record.encode(make_run()))
    del old["commit"]
    old["digest"] = record.content_digest(msgspec.json.encode(old))
    assert record.decode(msgspec.json.encode(old)).commit is None
    new = make_run(commit=record.Commit("ab" * 20, True))
    assert record.decode(record.encode(new)).commit == new.commit
