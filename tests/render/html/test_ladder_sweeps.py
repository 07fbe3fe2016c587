"""A sweep on the page of a kernel: bars of its own, no column of the ladder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from factories import WORKLOAD
from made import saved

from ncu_assist.analysis.archive import KernelLadder
from ncu_assist.analysis.history import History, HistoryCell, Sweep, VersionRow
from ncu_assist.record import Timing
from ncu_assist.render.html.ladder import ladder_html
from ncu_assist.render.html.ladder_chart import sweep_bars
from ncu_assist.store import StoredRun

NAMES = ("small", "b32", "b64")


def swept(root: Path) -> StoredRun:
    """Save a run that was timed on three workloads: 100 µs, 160 µs and not at all."""
    stored = saved(root, "v1_block")
    timing = stored.run.timing("small")
    assert timing is not None
    assert stored.run.bench is not None
    timings = (timing, _timing(timing, "b32", 1.6e5))
    facts = tuple(replace(WORKLOAD, name=name, integers={"n": 1024, "block": int(name[1:])}) for name in NAMES[1:])
    run = replace(stored.run, workloads=(WORKLOAD, *facts), bench=replace(stored.run.bench, timings=timings))
    return replace(stored, run=run)


def _timing(timing: Timing, workload: str, median_ns: float) -> Timing:
    return replace(timing, workload=workload, median_ns=median_ns, copy_ns=8e4)


@pytest.fixture
def shown(tmp_path: Path) -> History:
    v0, v1 = saved(tmp_path, "v0_torch", 2e5), swept(tmp_path)
    others = [HistoryCell(name, None, None, served=False) for name in NAMES[1:]]
    steps = (
        VersionRow("v0_torch", None, (HistoryCell("small", v0, None), *others)),
        VersionRow("v1_block", "v0_torch", tuple(HistoryCell(name, v1, None) for name in NAMES)),
    )
    small, b32, b64 = steps[1].cells
    sweep = Sweep("v1_block", "block", ((32, b32), (64, b64), (256, small)))
    return History("add_one", NAMES, "small", steps, (sweep,), {"b32": ("v1",), "b64": ("v1",)})


def test_bars_by_value(shown: History) -> None:
    (bars,) = sweep_bars(shown.sweeps)
    assert bars.caption == "block of v1_block: float32, n = 1024"
    assert [(bar.label.label, bar.text) for bar in bars.bars] == [
        ("block 32", "160 µs · 50 % of copy"),
        ("block 64", "not measured"),
        ("block 256", bars.bars[2].text),
    ]
    assert bars.bars[0].share == pytest.approx(1 / 1.05)
    assert bars.bars[0].ceiling == pytest.approx(0.5 / 1.05)
    assert bars.bars[1].share is None


def test_its_points_are_no_columns(shown: History) -> None:
    page = ladder_html(KernelLadder(shown, None, {}, (), ()))
    assert 'id="sweeps"' in page
    assert page.count("block of v1_block") == 2  # the heading, and the caption for those who cannot see it
    assert 'id="matrix-table"' not in page  # of one workload
    assert "each point was timed on its own" in page


def test_a_page_without_sweeps_has_no_such_section(shown: History) -> None:
    page = ladder_html(KernelLadder(replace(shown, sweeps=(), only={}), None, {}, (), ()))
    assert 'id="sweeps"' not in page
    assert 'id="matrix-table"' in page


def test_what_is_measured_with_all_versions_stays_a_workload(shown: History) -> None:
    made: History = shown
    assert [made.workloads[place] for place in made.places] == ["small"]
