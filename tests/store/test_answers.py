"""Answers about stored runs that are looked up: only while runs, files and deciding modules are as they were."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from ncu_assist.analysis.diff import DiffOptions
from ncu_assist.analysis.diff.lines import LineChanges
from ncu_assist.pipeline import reading
from ncu_assist.pipeline.history import history
from ncu_assist.pipeline.reading import UNREADABLE, compare
from ncu_assist.project import Project
from ncu_assist.store import Store, StoredRun, answers
from ncu_assist.store.answers import Answers
from ncu_assist.store.findings import Judged

ROOT = Path(__file__).parents[2]
SAID = Judged("w", True, None, None, 0.1 + 0.2, ())


@pytest.fixture
def stored(tmp_path: Path) -> StoredRun:
    for name in ("kernels", "reports"):
        shutil.copytree(ROOT / name / "add_relu", tmp_path / name / "add_relu", ignore=shutil.ignore_patterns("*.html"))
    return next(one for one in Store(tmp_path / "reports").runs("add_relu") if one.run.launches)


def asked(stored: StoredRun, *more: str) -> int:
    """Return how often the answer had to be worked out, 0 or 1."""
    made: list[int] = []
    known = Answers(stored.folder.parents[2], "add_relu")

    def make() -> Judged:
        made.append(1)
        return SAID

    assert known.of("judged", [stored], more, Judged, make) == SAID
    known.save()
    return len(made)


def test_an_answer_is_worked_out_once(stored: StoredRun) -> None:
    assert [asked(stored), asked(stored), asked(stored, "more"), asked(stored, "more")] == [1, 0, 1, 0]


def test_a_changed_file_and_changed_modules_are_asked_anew(stored: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    asked(stored)
    os.utime(stored.folder / "metrics.parquet", ns=(1, 1))
    assert [asked(stored), asked(stored)] == [1, 0]
    monkeypatch.setattr(answers, "deciding_code", lambda: "other rules")
    assert asked(stored) == 1


def test_a_damaged_cache_and_a_folder_that_may_not_be_written_cost_only_time(stored: StoredRun) -> None:
    asked(stored)
    root = stored.folder.parents[3]
    (path,) = (root / ".ncu-assist" / "index").glob("answers-*.json")
    path.write_bytes(path.read_bytes()[:50])
    assert [asked(stored), asked(stored)] == [1, 0]
    shutil.rmtree(root / ".ncu-assist")
    (root / ".ncu-assist").write_text("a file")
    assert [asked(stored), asked(stored)] == [1, 1]


def test_history_says_the_same_from_what_it_knows(stored: StoredRun) -> None:
    project = Project(stored.folder.parents[3])
    first, second = (history(project, "add_relu") for _ in range(2))
    assert first.rows == second.rows
    assert any(cell.verdict for row in first.rows for cell in row.cells)


def test_what_would_come_back_as_something_else_is_not_kept(stored: StoredRun) -> None:
    known = Answers(stored.folder.parents[2], "add_relu")
    for made in (float("nan"), 1):  # JSON has the one as absent, and as a float the other is 1.0
        found = [known.of(f"time {made}", [stored], (), float | None, lambda made=made: made) for _ in range(2)]
        assert [repr(one) for one in found] == [repr(made)] * 2


def test_a_diff_is_worked_out_once_and_says_the_same(stored: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project(stored.folder.parents[3])
    two, asked = ("add_relu/v0", "add_relu/v1"), DiffOptions()
    first = compare(project, two, None, asked)
    with monkeypatch.context() as patched:
        patched.setattr(reading, "compare_runs", Mock(side_effect=LookupError))
        assert compare(project, two, None, asked) == first
        with pytest.raises(LookupError):
            compare(project, two, None, DiffOptions(every=True))
        os.utime(stored.folder.parents[2] / first.candidate.reference.replace("@", "/") / "samples.parquet", ns=(1, 1))
        with pytest.raises(LookupError):
            compare(project, two, None, asked)


def test_a_diff_whose_lines_may_be_read_the_next_time_is_not_kept(
    stored: StoredRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost, read = LineChanges(notes=("", f"{UNREADABLE}: NVIDIA's reader took too long")), LineChanges()
    found = []
    for lines in (lost, read, lost):
        monkeypatch.setattr(reading, "with_lines", lambda diff, _runs, _every, lines=lines: replace(diff, lines=lines))
        found.append(compare(Project(stored.folder.parents[3]), ("add_relu/v0", "add_relu/v1"), None, DiffOptions()))
    assert [one.lines for one in found] == [lost, read, read]
