"""The lines of a report without its instructions: the same costs, and nothing disassembled."""

from __future__ import annotations

import io
from array import array
from pathlib import Path

import pandas as pd
import pytest
from ncu.test_ncu_source_reader import FakeAction

from ncu_assist.ncu.compressed import read_plain
from ncu_assist.ncu.report import read_report
from ncu_assist.ncu.source import reading
from ncu_assist.ncu.source.reader import _Reading
from ncu_assist.ncu.source.reading import read_lines, read_source

pytestmark = pytest.mark.slow

DATA = Path(__file__).parent.parent / "data"
NAMES = ("transpose_full", "triton_full", "repeats_full", "library_full", "torch_full", "transpose_basic")


@pytest.mark.parametrize("name", NAMES)
def test_every_line_costs_what_its_instructions_do(name: str, tmp_path: Path) -> None:
    plain = tmp_path / "r.ncu-rep"
    plain.write_bytes(read_plain(DATA / f"{name}_h200_2025.3.1.ncu-rep.zst"))
    whole = read_source(plain).lines
    some = read_lines(plain, range(whole.launch.nunique()), name="r")
    counted = whole.index[whole.instructions.fillna(0) + whole.samples.fillna(0) > 0]
    key = ["launch", "file", "line"]
    left, right = (frame.astype({"file": object}).set_index(key) for frame in (whole.loc[counted], some.lines))
    kept = right.loc[right.index.isin(left.index)].drop(columns="sass_instructions")
    pd.testing.assert_frame_equal(kept, left.drop(columns="sass_instructions"), check_names=False)
    lost = right.loc[~right.index.isin(left.index)]
    assert not (lost.instructions > 0).any()


def test_imported_files_come_whole() -> None:
    report = read_report(DATA / "transpose_full_h200_2025.3.1.ncu-rep.zst")
    source = report.source_lines([0, 1])
    (name,) = source.texts
    assert name.endswith("/transpose.cu")
    assert source.texts[name].splitlines()[13] == "  out[x * N + y] = in[y * N + x];"
    assert set(source.lines.launch) == {0, 1}


def test_no_instruction_is_disassembled() -> None:
    action = FakeAction({"inst_executed": {0x1000: 8.0, 0x1010: 7.0, 0x2010: 1.0}})
    out = io.BytesIO()
    work = _Reading(out, with_sass=False)
    work.launch(action, 0)
    assert action.asked == []
    (counted,) = work.document().functions
    assert (counted.addresses, counted.sass) == ((0x1000, 0x1010, 0x2010), ("", "", ""))
    assert array("d", out.getvalue()).tolist() == [8.0, 7.0, 1.0]


def test_code_that_is_read_with_the_report_is_that_read_later(monkeypatch: pytest.MonkeyPatch) -> None:
    path = DATA / "transpose_full_h200_2025.3.1.ncu-rep.zst"
    later, lined, coded = read_report(path), read_report(path, ahead="lines"), read_report(path, ahead="sass")
    tables, lines = later.source([1]), later.source_lines([1])
    monkeypatch.setattr(reading, "run_child", None)  # nothing is read again
    pd.testing.assert_frame_equal(coded.source([1]).sass, tables.sass)
    pd.testing.assert_frame_equal(coded.source([1]).lines, tables.lines)
    pd.testing.assert_frame_equal(lined.source_lines([1]).lines, lines.lines)
    assert dict(coded.source_lines([1]).texts) == dict(lines.texts)
    with pytest.raises(TypeError):
        lined.source([1])


def test_code_of_many_launches_is_not_read_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_AHEAD", 1)
    assert read_report(DATA / "transpose_full_h200_2025.3.1.ncu-rep.zst", ahead="sass").ahead == {}
