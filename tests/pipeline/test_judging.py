"""Every run with counters is archived with what the rules say of it, and no rule can cost a measurement."""

from __future__ import annotations

from pathlib import Path

import pytest
from factories import make_run, metrics_frame
from fakes.fake_ncu import REPORT
from recording import record

from ncu_assist import __version__
from ncu_assist.pipeline import derived
from ncu_assist.pipeline.derived import save_judged
from ncu_assist.pipeline.importing import RunNames, import_report
from ncu_assist.project import Project
from ncu_assist.store import Store, metrics_parquet
from ncu_assist.store.findings import FINDINGS

FILES = {"metrics.parquet": metrics_parquet(metrics_frame())}


def test_a_run_with_counters_keeps_its_findings(tmp_path: Path) -> None:
    store = Store(tmp_path / "reports")
    stored = save_judged(store, make_run(), FILES)
    said = stored.findings()
    assert said is not None
    assert said.tool == __version__
    assert said.of_workload("small") is not None
    assert stored.run.notes == ()
    assert store.verify() == []


def test_a_run_without_counters_has_none(tmp_path: Path) -> None:
    stored = save_judged(Store(tmp_path / "reports"), make_run(profile=None, launches=()), {"build.log": b"fine"})
    assert set(stored.run.files) == {"build.log"}


def test_a_rule_that_fails_costs_no_measurement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("float division by zero")

    monkeypatch.setattr(derived, "findings_of", broken)
    stored = save_judged(Store(tmp_path / "reports"), make_run(notes=("before",)), FILES)
    assert set(stored.run.files) == {"metrics.parquet"}
    assert stored.findings() is None
    assert stored.run.notes[0] == "before"
    assert "are not stored: ZeroDivisionError: float division by zero" in stored.run.notes[1]


@pytest.mark.slow
def test_an_imported_report_is_judged_by_launch_and_as_a_whole(tmp_path: Path) -> None:
    stored = import_report(Project(tmp_path), REPORT, RunNames("transpose", "v1"))
    said = stored.findings()
    assert said is not None
    assert [one.launch for one in said.judged if one.whole] == [None]
    assert {one.launch for one in said.judged} == {None, *(launch.index for launch in stored.run.launches)}
    assert all(one.workload is None and one.findings for one in said.judged)


def test_a_recorded_run_keeps_what_was_said(tmp_path: Path) -> None:
    stored = save_judged(Store(tmp_path / "live"), make_run(), FILES)
    shipped = record(stored, Store(tmp_path / "shipped"), "small")
    assert shipped.read(FINDINGS) == stored.read(FINDINGS)
