"""A closer look reads a report once, for lines, code and texts."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ladder import WORKLOAD, step

from ncu_assist.ncu.report import Report
from ncu_assist.ncu.source.reading import SourceTables
from ncu_assist.pipeline.showing import look_closer
from ncu_assist.store import StoredRun

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs as they were before they kept their code: all is read from their reports."""
    monkeypatch.setattr(StoredRun, "code", lambda self: None)


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what was read from a report, each time it was."""
    found: list[str] = []
    whole = Report.source

    def source(self: Report, *given: Any) -> SourceTables:
        found.append("source")
        return whole(self, *given)

    monkeypatch.setattr(Report, "source", source)
    return found


def test_one_reading_is_enough_for_lines_code_and_texts(readings: list[str]) -> None:
    look = look_closer(step(6), WORKLOAD, rules=False)
    assert readings == ["source"]
    assert look.spots
    assert look.spots.lines
    assert look.code
    (text,) = [text for name, text in look.texts.items() if name.endswith("v6_coalesced_store.cu")]
    assert text == next(iter(step(6).source_texts().values()))
    assert look.kept == frozenset()


def without_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Report.source
    monkeypatch.setattr(Report, "source", lambda self, wanted: replace(whole(self, wanted), texts={}))


def test_what_the_report_does_not_hold_comes_from_the_run_s_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    without_texts(monkeypatch)
    look = look_closer(step(7), WORKLOAD, rules=False)
    assert {Path(name).name for name in look.texts} == {"v7_registers_128bit.cu"}
    assert look.kept == frozenset(look.texts)


def test_a_source_that_is_too_short_for_its_lines_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    without_texts(monkeypatch)
    monkeypatch.setattr(StoredRun, "source_texts", lambda self: {"v7_registers_128bit.cu": "short\n"})
    assert look_closer(step(7), WORKLOAD, rules=False).texts == {}


def test_a_changed_source_that_nobody_needs_is_no_obstacle(tmp_path: Path) -> None:
    stored = step(6)
    folder = tmp_path / stored.folder.name
    shutil.copytree(stored.folder, folder)
    (folder / "source" / "v6_coalesced_store.cu").write_text("other", encoding="utf-8")
    assert look_closer(replace(stored, folder=folder), WORKLOAD, rules=False).texts
