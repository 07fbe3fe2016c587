"""Whole proofs on a GPU, from replies on disk: one that is right and faster, one that is subtly wrong."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from cli.commandline import Run, run

REPLIES = Path(__file__).parent.parent / "replies"
WHOLE_S = 40.0  # 24 to 29 s (benchmarks/suggest_cost.py), the pages and a cold disk on top

__all__ = ["run"]
pytestmark = pytest.mark.gpu


@pytest.fixture
def project(tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kernel and its recorded runs as a project of its own."""
    for name in ("kernels", "reports"):
        target = tmp_path / name / "lightning_decode"
        shutil.copytree(repository / name / "lightning_decode", target, ignore=shutil.ignore_patterns("*.html"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_right_and_faster_is_kept_as_the_next_version(run: Run, project: Path) -> None:
    started = time.monotonic()
    answer = run("suggest", "v6", "--reply", str(REPLIES / "coalesced_load.md"), "--prove", "--json")
    seconds = time.monotonic() - started
    (draft,) = answer.json["drafts"]
    assert (answer.code, draft["fate"], draft["reason"]) == (0, "kept", "")
    assert answer.json["written"] == ["v11_coalesced_load.cu"]
    stages = [stage["name"] for stage in draft["proof"]["stages"]]
    assert stages == ["build", "sanitize", "check", "bench", "profile", "diff"]
    assert draft["proof"]["speedup_low"] > 1.3  # 1.87 on an H200; an H100 meets its slower DRAM at 1.57
    assert [score["came_true"] for score in draft["proof"]["scores"]][:2] == [True, True]
    assert list((project / "reports" / "lightning_decode" / "v11_coalesced_load").iterdir())
    assert "v11_coalesced_load" in run("history", "lightning_decode").out
    assert run("verify").code == 0
    assert seconds < WHOLE_S


def test_subtly_wrong_is_rejected_for_that(run: Run, project: Path) -> None:
    answer = run("suggest", "v6", "--reply", str(REPLIES / "rounded_exponent.md"), "--prove", "--json")
    (draft,) = answer.json["drafts"]
    assert (answer.code, draft["fate"]) == (3, "rejected")
    assert draft["reason"].startswith("wrong on b64_d96: output '")
    assert not list((project / "kernels" / "lightning_decode").glob("v11_*"))


def test_what_does_not_compile_is_rejected_with_the_compilers_words_kept(run: Run, project: Path) -> None:
    reply = (REPLIES / "coalesced_load.md").read_text().replace("col = i % D;", "col = i % E;")
    (project / "reply.md").write_text(reply)
    answer = run("suggest", "v6", "--reply", "reply.md", "--prove", "--json")
    (draft,) = answer.json["drafts"]
    assert (answer.code, draft["fate"], draft["reason"]) == (3, "rejected", "it does not build")
    assert [(stage["name"], stage["passed"]) for stage in draft["proof"]["stages"]] == [("build", False)]
    log = (project / "reports" / draft["folder"] / "build.log").read_text()
    assert 'identifier "E" is undefined' in log
    assert str(project) not in log
