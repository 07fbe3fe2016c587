"""Drafts under compute-sanitizer before they are timed, in the sandbox: a race, nothing, no such tool, no end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes.fake_sanitizer import install
from patience import CEILING_S
from requirements import require
from suggest.proof.on_cpu import FASTER, project_of, proved

from ncu_assist.project import Project
from ncu_assist.store.drafts import Draft, ProofStage

pytestmark = pytest.mark.slow
RACE = """========= Error: Race reported between Write access at add_one(const float *, float *, long)+0x90 in v2.cu:12
=========     and Read access at add_one(const float *, float *, long)+0x110 in v2.cu:15 [255 hazards]
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""


@pytest.fixture
def tool(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the fake, which is the first on PATH, outside of the project: that a sandbox does not show."""
    folder = install(tmp_path_factory.mktemp("tool")).parent
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    require("torch")
    monkeypatch.chdir(tmp_path)
    return project_of(tmp_path)


def _sanitize(draft: Draft) -> ProofStage:
    assert draft.proof is not None
    assert [stage.name for stage in draft.proof.stages][:2] == ["build", "sanitize"]
    return draft.proof.stages[1]


def test_a_race_is_rejected_before_anything_is_timed(project: Project, tool: Path) -> None:
    (tool / "v2_awake-racecheck.txt").write_text(RACE)
    draft = proved(project, FASTER, sanitize_s=CEILING_S).draft
    said = "racecheck: race on shared memory at v2.cu:12 and v2.cu:15: write and read (in add_one, 255 times)"
    assert (draft.fate, draft.reason) == ("rejected", said)
    assert not _sanitize(draft).passed
    assert draft.proof is not None
    assert len(draft.proof.stages) == 2


def test_where_nothing_is_found_that_is_said_with_the_workloads(project: Project, no_ncu: None, tool: Path) -> None:
    draft = proved(project, FASTER, sanitize_s=CEILING_S).draft
    assert draft.reason.startswith("right, and faster")
    stage = _sanitize(draft)
    assert stage.passed
    assert stage.said.startswith("memcheck, racecheck, synccheck: nothing found on small, odd (")


@pytest.mark.parametrize(
    ("mode", "limit_s", "said"),
    [
        ("hang", 2.0, "memcheck: no result: was not done after 2 s and was ended"),
        ("broken", CEILING_S, "memcheck: no result: its libraries are not next to it: a broken installation; try: "),
    ],
)
def test_what_comes_to_no_end_rejects_nobody_and_is_said(
    project: Project, mode: str, limit_s: float, said: str, no_ncu: None, tool: Path
) -> None:
    (tool / "mode").write_text(mode)
    draft = proved(project, FASTER, sanitize_s=limit_s).draft
    assert draft.reason.startswith("right, and faster")
    assert _sanitize(draft).passed
    assert _sanitize(draft).said.startswith(said)


def test_without_the_tool_the_stage_is_skipped_and_that_is_said(project: Project, no_ncu: None) -> None:
    draft = proved(project, FASTER, sanitize_s=CEILING_S).draft
    assert _sanitize(draft).passed
    assert _sanitize(draft).said == "skipped: there is no compute-sanitizer on PATH or beside nvcc"
