"""Proofs on the CPU: what is faster, wrong, broken or no faster, each for its own reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from requirements import require
from suggest.proof.on_cpu import FASTER, PARENT, project_of, proved

from ncu_assist.project import Project

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    require("torch")
    monkeypatch.chdir(tmp_path)
    return project_of(tmp_path)


def test_right_and_faster_without_counters_is_unproven(project: Project, no_ncu: None) -> None:
    draft = proved(project, FASTER).draft
    assert draft.fate == "unproven", draft.reason
    assert draft.reason.startswith("right, and faster by the clock of its own process; without counters")
    assert draft.proof is not None
    assert [(stage.name, stage.passed) for stage in draft.proof.stages] == [
        ("build", True),
        ("check", True),
        ("bench", True),
        ("profile", False),
    ]
    assert draft.proof.verdict == "faster"
    assert draft.proof.sandbox in ("bwrap", "unshare")
    assert draft.proof.parent_ns > 2e8 > draft.proof.draft_ns > 2.5e7


def test_wrong(project: Project) -> None:
    stored = proved(project, FASTER.replace("1.0", "1.001"))
    assert stored.draft.fate == "rejected"
    assert stored.draft.reason.startswith("wrong on small: output 'y': 1024 of 1024 elements are wrong")
    assert any(name.startswith("runs/") for name in stored.files)


def test_as_slow_as_its_parent(project: Project) -> None:
    draft = proved(project, PARENT.replace("import torch", "import torch  # again")).draft
    assert draft.fate == "rejected"
    assert "its parent" in draft.reason


def test_no_python(project: Project) -> None:
    stored = proved(project, FASTER + "\n\nimport nothing_of_that_name\n")
    assert stored.draft.fate == "rejected"
    assert "nothing_of_that_name" in stored.draft.reason
