"""Readers of code that were started before there was a report: what they read is what a fresh one reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from patience import CEILING_S

from ncu_assist import process
from ncu_assist.errors import DamagedData
from ncu_assist.ncu import child, compressed, report
from ncu_assist.ncu.child import end_ready, get_ready
from ncu_assist.ncu.source import reading
from ncu_assist.ncu.source.reading import READER, read_source

pytestmark = pytest.mark.slow

DATA = Path(__file__).parent.parent / "data"
TRANSPOSE = DATA / "transpose_full_h200_2025.3.1.ncu-rep.zst"
LIBRARY = DATA / "library_full_h200_2025.3.1.ncu-rep.zst"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The module of each child that is started from the beginning of the test on."""
    seen: list[str] = []
    run = process.run

    def noted(argv: list[str], **options: object) -> process.Completed:
        seen.append(argv[4] if "--ready" in argv else argv[3])
        return run(argv, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(process, "run", noted)
    yield seen
    end_ready(READER)


def all_are_ready() -> bool:
    return all(one.ready.wait(CEILING_S) for own in child._READY.values() for one in own)


def test_a_reader_that_is_ready_reads_what_a_fresh_one_reads(tmp_path: Path, started: list[str]) -> None:
    plain = compressed.plain_file(TRANSPOSE, tmp_path)
    fresh = read_source(plain)
    assert started == [READER]
    get_ready(READER, 1, str(LIBRARY))  # of the same chip
    assert all_are_ready()
    assert started[1:] == ["--ready"]
    found = read_source(plain)
    assert started[2:] == []
    pd.testing.assert_frame_equal(found.sass, fresh.sass)
    pd.testing.assert_frame_equal(found.lines, fresh.lines)
    assert found.texts == fresh.texts
    read_source(plain, [0])
    assert started[2:] == [READER]  # one reads once


def test_a_report_that_gets_nobody_ready_costs_no_reading(tmp_path: Path, started: list[str]) -> None:
    broken = tmp_path / "broken.ncu-rep"
    broken.write_bytes(b"NVR\0" + bytes(100))
    get_ready(READER, 1, str(broken))
    assert all_are_ready()
    assert len(read_source(compressed.plain_file(TRANSPOSE, tmp_path)).sass)


def test_damage_is_told_as_a_fresh_reader_tells_it(
    tmp_path: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, request = compressed.plain_file(TRANSPOSE, tmp_path), reading.SourceRequest
    monkeypatch.setattr(reading, "SourceRequest", lambda count, *more: request(count + 1, *more))  # as if it lost one
    with pytest.raises(DamagedData, match="it returned 2 of 3 launches") as fresh:
        read_source(plain)
    get_ready(READER, 1, str(TRANSPOSE))
    assert all_are_ready()
    with pytest.raises(DamagedData) as ready:
        read_source(plain)
    assert ready.value.message == fresh.value.message
    assert started == [READER, "--ready"]


def test_a_reader_that_ended_or_is_far_from_ready_is_not_waited_for(
    tmp_path: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "SOON_S", 0.0)
    get_ready(READER, 2, str(TRANSPOSE))
    one, other = child._READY[READER]
    one.ready.clear()
    other.end()
    assert len(read_source(compressed.plain_file(TRANSPOSE, tmp_path)).sass)
    assert started[2:] == [READER]
    assert one.is_over
    assert child._READY[READER] == []


def test_values_are_read_by_a_reader_that_is_ready(started: list[str]) -> None:
    fresh = report.read_report(TRANSPOSE)
    get_ready(report.READER, 1)
    assert all_are_ready()
    told: list[tuple[int, int, int]] = []
    found = report.read_report(TRANSPOSE, told=lambda *how_far: told.append(how_far))
    assert started == [report.READER, "--ready"]
    pd.testing.assert_frame_equal(found.metrics, fresh.metrics)
    assert found.notes == fresh.notes
