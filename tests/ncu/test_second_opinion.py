"""The ncu of this machine is asked about a report where there is one that can know it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes.fake_ncu import install

from ncu_assist.errors import DamagedData
from ncu_assist.ncu import report as module
from ncu_assist.ncu.report import Report, read_report, second_opinion


@pytest.fixture
def report(full_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    monkeypatch.setenv("PATH", f"{install(tmp_path / 'bin').parent}:{os.environ['PATH']}")
    return read_report(full_path)


def test_an_ncu_that_agrees_is_silent(report: Report) -> None:
    assert second_opinion(report) == ""


def test_an_ncu_that_refuses_the_file(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NCU_MODE", "unreadable-report")
    with pytest.raises(DamagedData, match="ncu refuses it"):
        second_opinion(report)


def test_an_ncu_that_finds_fewer_launches(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NCU_LINES", "4")  # names, units, two launches
    with pytest.raises(DamagedData, match="ncu finds 2 launches in it, not 3"):
        second_opinion(report)


def test_an_older_ncu_is_not_asked(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "version_of", lambda _: "2022.3.0.0")
    monkeypatch.setenv("FAKE_NCU_MODE", "unreadable-report")
    assert "older than the report" in second_opinion(report)


def test_without_ncu_there_is_no_opinion(full_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "find_ncu", _no_ncu)
    assert second_opinion(read_report(full_path)) == ""


def _no_ncu() -> Path:
    from ncu_assist.errors import EnvironmentProblem

    raise EnvironmentProblem("no ncu")
