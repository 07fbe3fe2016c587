"""Curves of occupancy and of what was sampled while a kernel ran, as charts."""

from __future__ import annotations

from pathlib import Path

import pytest
from factories import launch
from ladder import WORKLOAD, step

from ncu_assist.ncu.tables import SampledMetric
from ncu_assist.pipeline.opened_reports import bare_reports
from ncu_assist.pipeline.showing import gather
from ncu_assist.render.html.curves import occupancy_charts, timeline_charts
from ncu_assist.render.html.run_counters import occupancy_model
from ncu_assist.render.words.launches import limits_of

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_occupancy_is_drawn_over_what_a_block_takes_with_where_it_stands() -> None:
    shown = gather(step(6), WORKLOAD)
    charts = occupancy_charts(shown)
    assert [one.title for one in charts] == ["Threads a block", "Registers a thread", "Shared memory a block"]
    values = shown.combined.values
    warps = f"{values['theoretical_warps']:.0f} warps"
    assert all(f": {warps}, limited by " in one.description for one in charts)
    assert charts[0].description.startswith(f"now {values['block_size']:.0f}: ")
    assert occupancy_model(shown)["curves"] == charts


def test_a_curve_names_all_that_limit_as_the_sentence_does() -> None:
    """Registers and warps each allow 6 blocks of this launch: neither is the one limit."""
    report = ROOT / "tests" / "data" / "repeats_full_h200_2025.3.1.ncu-rep.zst"
    views = [
        one.of_launch(row) for one in [gather(bare_reports([str(report)], [report], None)[0])] for row in one.launches
    ]
    told = [(occupancy_model(one)["sentence"], occupancy_charts(one)[0].description) for one in views]
    several = [pair for pair in told if " and " in str(pair[0]).partition(":")[0]]
    assert several
    top = [chart.y.ticks[-1] for one in views for chart in occupancy_charts(one)]
    assert {(tick.text, tick.at) for tick in top} == {("64", 26.0)}  # what an SM of an H200 holds
    three = limits_of({"registers": 2.0, "warps": 2.0, "shared": 2.0, "blocks": 32.0})
    assert three == ("registers, warps and shared memory", 2.0)
    for sentence, description in told:
        names = str(sentence).partition(":")[0].removeprefix("Limited by ")
        assert f"limited by {names};" in description


def test_a_timeline_ends_with_the_kernel_else_with_the_last_sample_that_counted_something() -> None:
    name = "sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed"
    sampled = (
        SampledMetric(0, name, tuple(1000.0 * n for n in range(5)), (0.0, 40.0, 20.0, 0.0, 0.0)),
        SampledMetric(0, "sm__idle", (0.0,), (0.0,)),
        SampledMetric(1, name, (0.0,), (5.0,)),
    )
    (chart,) = timeline_charts(sampled, launch(0, duration_ns=None))
    assert (chart.title, chart.y_label) == ("SM: instructions executed", "%")
    assert chart.description == "3 samples over 2 µs: mean 20.0 %, median 20.0 %, most 40.0 %"
    (whole,) = timeline_charts(sampled, launch(0, duration_ns=3500.0))
    assert whole.description == "4 samples over 3.50 µs: mean 15.0 %, median 10.0 %, most 40.0 %"
    assert timeline_charts(sampled, launch(2)) == ()
