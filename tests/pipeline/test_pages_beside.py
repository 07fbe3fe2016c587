"""Pages that other processes make are those that this one makes, and whatever one of them cannot do is done here."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from factories import make_run, samples_frame, save_run, times
from measured import Notes
from patience import CEILING_S

from ncu_assist import process
from ncu_assist.ncu import child
from ncu_assist.ncu.child import ready_count
from ncu_assist.pipeline.pages import beside
from ncu_assist.pipeline.pages.beside import get_makers_ready, pages_follow
from ncu_assist.pipeline.pages.writing import PageRequest, Pages, pages_of, report
from ncu_assist.project import Project, find_project
from ncu_assist.store import Store, StoredRun

pytestmark = pytest.mark.slow

VERSIONS = [f"v{number}_step" for number in range(4)]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A kernel of four versions that were timed in one bench, and two cores."""
    (tmp_path / "pyproject.toml").write_text("[tool.ncu-assist]\n")
    frames = [samples_frame(times(1e4 * (n + 1), n), version=name) for n, name in enumerate(VERSIONS)]
    for number, name in enumerate(VERSIONS):
        run = make_run(version=name, created=f"2026-11-2{number}T07:45:00Z")
        save_run(Store(tmp_path / "reports"), run, samples=pd.concat(frames, ignore_index=True))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    return find_project(tmp_path)


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """The command lines of the children that made pages."""
    run, seen = process.run, list[Sequence[str]]()

    def noted(argv: Sequence[str], **how: Any) -> process.Completed:
        if beside.__name__ in argv:
            seen.append(argv)
        return run(argv, **how)

    monkeypatch.setattr(process, "run", noted)
    return seen


def pages(project: Project) -> dict[str, bytes]:
    """Return the pages of runs, and remove them."""
    found = {str(path.relative_to(project.reports)): path.read_bytes() for path in project.reports.glob("*/*/*/*.html")}
    for name in found:
        (project.reports / name).unlink()
    return found


def runs(project: Project) -> list[StoredRun]:
    return [Store(project.reports).runs("add_one", name)[0] for name in VERSIONS]


def test_the_pages_of_children_are_the_same(
    project: Project, children: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    report(project, PageRequest("add_one"), Notes())
    theirs = pages(project)
    assert len(children) == 2
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    report(project, PageRequest("add_one"), Notes())
    assert len(children) == 2
    assert len(theirs) == 4
    assert pages(project) == theirs


def test_makers_that_got_ready_make_the_same(
    project: Project, children: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of runs that were not there as they got ready; more pages than makers are shared out."""
    stored = runs(project)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    for count in (1, 2, 3):
        assert pages_of(project, stored[:count], Notes())
        expected = pages(project)
        with monkeypatch.context() as patch:
            patch.setattr(os, "cpu_count", lambda: 4)
            get_makers_ready(project.reports, "add_one", count)  # nobody has said that pages follow
            assert children == []
            with pages_follow():
                get_makers_ready(project.reports, "add_one", count)
                assert all(one.ready.wait(CEILING_S) for one in child._READY[beside.__name__])
                patch.setattr(Pages, "run_text", None)  # what would make them here
                written = pages_of(project, stored[:count], Notes())
                assert ready_count(beside.__name__) == 0
        assert written is not None
        assert written.problems == ()
        assert pages(project) == expected
        assert len(children) == min(count, 2)
        children.clear()


def test_makers_end_with_the_block(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    with pages_follow():
        get_makers_ready(project.reports, "add_one", 3)  # on half of the cores
        waiting = list(child._READY[beside.__name__])
        assert len(waiting) == 2
    assert all(one.is_over for one in waiting)


@pytest.mark.parametrize("request_", [PageRequest(every=True), None])
def test_a_damaged_run_is_named_and_stops_nothing(
    project: Project, children: list[Sequence[str]], request_: PageRequest | None
) -> None:
    stored = runs(project)
    samples = stored[1].folder / "samples.parquet"
    samples.write_bytes(samples.read_bytes()[:-9])
    notes = Notes()
    written = report(project, request_, notes) if request_ else pages_of(project, stored, notes)
    assert written is not None
    assert any("v1_step" in problem and "samples.parquet" in problem for problem in written.problems)
    made = {name.split("/")[1] for name, page in pages(project).items() if b"damaged" not in page}
    assert {"v0_step", "v2_step", "v3_step"} <= made


def test_pages_that_a_child_leaves_are_made_here(
    project: Project, children: list[Sequence[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dies = tmp_path / "dies"
    dies.write_text(f'#!/bin/sh\ncase "$*" in *{beside.__name__}*) exit 3;; esac\nexec {sys.executable} "$@"\n')
    dies.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(dies))
    written = report(project, PageRequest("add_one"), Notes())
    assert written.problems == ()
    assert len(children) == 2
    assert len(pages(project)) == 4


def test_without_room_for_children_the_pages_are_made_here(
    project: Project, children: list[Sequence[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    assert report(project, PageRequest("add_one"), Notes()).problems == ()
    monkeypatch.setattr(tempfile, "TemporaryDirectory", lambda **_: full(Path("/tmp"), b""))
    with made(project) as texts:
        assert len([text() for text in texts]) == 4
    assert children == []


def test_a_module_in_the_current_folder_is_not_taken_for_one_of_pythons(
    project: Project, children: list[Sequence[str]], tmp_path: Path
) -> None:
    (tmp_path / "bisect.py").write_text("raise SystemExit(7)\n")
    used: list[bool] = []
    with made(project, lambda: used.append(True) or "") as texts:
        assert all(name in text() for name, text in zip(VERSIONS, texts, strict=True))
    assert used == []
    assert len(children) == 2


def made(project: Project, make: Callable[[], str] = lambda: "made here") -> Any:
    stored = runs(project)
    wanted = [beside.WantedPage(one.run.kernel, one.run.version, one.run.run_id) for one in stored]
    return beside.made_beside(project.reports, True, wanted, [make] * len(stored))
