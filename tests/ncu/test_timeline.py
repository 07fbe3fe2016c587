"""What ncu sampled while a kernel ran, as a frame."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from ncu_assist.ncu.report import read_report
from ncu_assist.ncu.tables import sampled_metrics, timeline_frame
from ncu_assist.store import Store

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "tests" / "data" / "transpose_full_h200_2025.3.1.ncu-rep.zst"
START = 1_745_043_274_995_000_000
NAME, OTHER = "pmsampling:sm__cycles_active.avg", "pmsampling:dramc__throughput.avg.pct_of_peak_sustained_elapsed"


def instances(*rows: tuple[int, str, int, float]) -> pd.DataFrame:
    launch, metric, at, value = zip(*rows, strict=True)
    ids = pd.array([START + one for one in at], dtype="UInt64")
    return pd.DataFrame({"launch": launch, "metric": pd.Categorical(metric), "id": ids, "value": value})


def test_time_runs_from_the_start_of_the_kernel_in_the_pass_that_took_the_sample() -> None:
    made = timeline_frame(
        instances(
            *((0, NAME, at, at / 100) for at in (0, 1500, 3000, 4500)),
            *((0, OTHER, at, 7.0) for at in (90_000, 91_500)),
            (0, "profiler__pmsampler_ctxsw_0", 2000, 1.0),
            (0, "profiler__pmsampler_ctxsw_1", 91_000, 1.0),
            (0, "launch__grid_size", 0, 8.0),
        )
    )
    assert made.to_numpy().tolist() == [
        [0, "dramc__throughput.avg.pct_of_peak_sustained_elapsed", 500.0, 7.0],
        [0, "sm__cycles_active.avg", 1000.0, 30.0],
        [0, "sm__cycles_active.avg", 2500.0, 45.0],
    ]


def test_samples_by_metric_leave_out_what_has_no_value() -> None:
    frame = timeline_frame(instances((3, NAME, 700, 1.0), (3, NAME, 200, 2.0), (3, NAME, 900, float("nan"))))
    (made,) = sampled_metrics(frame)
    assert (made.launch, made.times_ns, made.values) == (3, (0.0, 500.0), (2.0, 1.0))


def test_without_a_start_time_runs_from_the_first_sample_and_without_samples_there_are_no_rows() -> None:
    assert timeline_frame(instances((3, NAME, 700, 1.0), (3, NAME, 200, 2.0)))["time_ns"].tolist() == [0.0, 500.0]
    none = timeline_frame(instances((0, "launch__grid_size", 0, 8.0)))
    assert (list(none), len(none)) == (["launch", "metric", "time_ns", "value"], 0)


def test_hopper_names_the_group_of_units_and_the_first_sample_may_be_of_no_moment() -> None:
    name = "TPC.TriageCompute.sm__cycles_active.avg"
    rows = instances((0, name, -START, 9.0), (0, name, 1000, 1.0), (0, name, 2500, 2.0), (0, name + "x.y", 0, 1.0))
    assert timeline_frame(rows).query("metric == 'sm__cycles_active.avg'")["time_ns"].tolist() == [0.0, 1500.0]


def test_samples_of_a_recorded_launch_come_to_what_ncu_counted_in_another_pass(tmp_path: Path) -> None:
    (stored,) = Store(ROOT / "reports").runs("lightning_decode", "v6_coalesced_store")
    report = read_report(stored.report_file(tmp_path))
    assert report.has_timeline
    frame = report.timeline
    assert frame["metric"].nunique() == 32
    row = report.launches.iloc[frame["launch"].iloc[0]]
    own = frame[frame["metric"] == "dramc__throughput.avg.pct_of_peak_sustained_elapsed"]
    while_it_ran = own["time_ns"].between(0, row["gpu__time_duration.sum"])
    counted = row["gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"]
    assert own.loc[while_it_ran, "value"].mean() == pytest.approx(counted, rel=0.03)


def test_samples_are_read_alone_and_of_some_launches() -> None:
    report = read_report(ROOT / "tests" / "data" / "transpose_full_h200_2025.3.1.ncu-rep.zst")
    text = {"metric": str}
    every = report.timeline.astype(text)
    assert every.equals(timeline_frame(report.instances).astype(text))
    assert len(every)
    own = every[every["launch"].isin([0, 2])].reset_index(drop=True)
    assert report.timeline_of([2, 0]).astype(text).equals(own)


def test_samples_that_are_read_with_the_report_are_those_read_later(monkeypatch: pytest.MonkeyPatch) -> None:
    later = read_report(REPORT)
    expected = {launches: sampled_metrics(later.timeline_of(launches)) for launches in ((0,), (1, 2))}
    assert all(expected.values())
    at_once = read_report(REPORT, timeline=[0, 1, 2, 9])  # it has no launch 9
    monkeypatch.setattr("ncu_assist.ncu.report.run_child", None)  # nothing is read again
    found = {launches: sampled_metrics(at_once.timeline_of(launches)) for launches in expected}
    assert found == expected
    pd.testing.assert_frame_equal(at_once.metrics, later.metrics)
