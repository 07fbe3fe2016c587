"""Code that is read together with a report, or later: the same."""

from __future__ import annotations

import pickle
from pathlib import Path

import pandas as pd
import pytest

from ncu_assist.ncu import report as reports
from ncu_assist.ncu.report import read_report
from ncu_assist.ncu.source import reading

pytestmark = pytest.mark.slow

PATH = Path(__file__).parent.parent / "data" / "transpose_full_h200_2025.3.1.ncu-rep.zst"


def test_imported_files_come_whole() -> None:
    source = read_report(PATH).source([0, 1])
    (name,) = source.texts
    assert name.endswith("/transpose.cu")
    assert source.texts[name].splitlines()[13] == "  out[x * N + y] = in[y * N + x];"
    assert set(source.lines.launch) == {0, 1}


def test_code_that_is_read_with_the_report_is_that_read_later(monkeypatch: pytest.MonkeyPatch) -> None:
    later, coded = read_report(PATH), read_report(PATH, ahead=True)
    tables = later.source([1])
    monkeypatch.setattr(reading, "run_child", None)  # nothing is read again
    pd.testing.assert_frame_equal(coded.source([1]).sass, tables.sass)
    pd.testing.assert_frame_equal(coded.source([1]).lines, tables.lines)
    assert dict(coded.source([1]).texts) == dict(tables.texts)


def test_code_of_many_launches_is_not_read_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_AHEAD", 1)
    assert not len(read_report(PATH, ahead=True).known)


def test_code_is_read_once_and_only_what_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    report = read_report(PATH)
    whole = read_report(PATH).source()
    read: list[list[int]] = []
    real = reports.read_source
    monkeypatch.setattr(
        reports, "read_source", lambda path, wanted, **more: read.append(sorted(wanted)) or real(path, wanted, **more)
    )
    report.source([2])
    report.source([0, 2])
    assert report.source([0, 2]) is report.source([2, 0])
    assert read == [[2], [0]]
    report.source()
    pd.testing.assert_frame_equal(report.sass, whole.sass)
    assert read == [[2], [0], [1]]
    again = pickle.loads(pickle.dumps(report))
    assert (len(again.known), len(report.known)) == (0, 3)
