"""A run whose report was opened answers as the run does, and reads its source once."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from ncu_assist.ncu import report as reports
from ncu_assist.pipeline.opened_reports import OpenedRun, with_report
from ncu_assist.pipeline.reading import MOST_IN_REPORT, side_lines
from ncu_assist.pipeline.showing import look_closer
from ncu_assist.store import Store, StoredRun

pytestmark = pytest.mark.slow

REPORTS = Path(__file__).parents[2] / "reports"


@pytest.fixture
def stored() -> StoredRun:
    return Store(REPORTS).runs("lightning_decode", "v6_coalesced_store")[0]


def test_lines_and_close_look_share_one_reading(
    stored: StoredRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StoredRun, "code", lambda self: None)
    run = with_report(stored, tmp_path, MOST_IN_REPORT)
    read = []
    real = reports.read_source
    monkeypatch.setattr(reports, "read_source", lambda *given, **more: read.append(1) or real(*given, **more))
    look = look_closer(run, "b64_d96", rules=False)
    wanted = [one.index for one in stored.run.launches if one.workload == "b64_d96"]
    lines = side_lines(run, wanted)
    assert look.code is not None
    assert read == [1]
    monkeypatch.undo()  # alone: from the code that the run keeps
    alone = side_lines(stored, wanted)
    assert [(one.place, one.ns, one.excess) for one in lines.lines] == [
        (one.place, one.ns, one.excess) for one in alone.lines
    ]
    assert (lines.own, lines.texts, lines.note) == (alone.own, alone.texts, alone.note)


def test_it_has_the_tables_of_the_archive(stored: StoredRun, tmp_path: Path) -> None:
    run = with_report(stored, tmp_path, MOST_IN_REPORT)
    assert isinstance(run, OpenedRun)
    assert run.reference == stored.reference
    assert run.by_launch() == stored.by_launch()
    pd.testing.assert_frame_equal(run.metrics(), stored.metrics())


def test_a_report_of_too_many_launches_stays_closed(stored: StoredRun, tmp_path: Path) -> None:
    assert with_report(stored, tmp_path, 0) is stored
