"""The catalogue and the derived metrics, held against recorded reports."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from ncu_assist.ncu.derived import DERIVED, why_not_applicable
from ncu_assist.ncu.metrics import CATALOGUE, STALL, stall_reasons
from ncu_assist.ncu.report import Report, read_report

DATA = Path(__file__).parent.parent / "data"


@pytest.fixture(scope="module")
def report() -> Report:
    return read_report(DATA / "transpose_full_h200_2025.3.1.ncu-rep.zst")


def values_of(report: Report, launch: int) -> dict[str, float]:
    frame = report.metrics[report.metrics.launch == launch]
    return dict(zip(frame.metric, frame.value, strict=True))


@pytest.mark.parametrize("key", CATALOGUE)
def test_each_metric_exists_in_a_full_report_of_h200(report: Report, key: str) -> None:
    metric = CATALOGUE[key]
    frame = report.metrics[(report.metrics.launch == 1) & (report.metrics.metric == metric.names[0])]
    assert len(frame) == 1, f"{metric.names[0]} is not in --set full of 2025.3.1 on H200"
    assert frame.unit.iloc[0] == metric.unit
    assert not math.isnan(frame.value.iloc[0])
    assert metric.key == key
    assert metric.label
    assert metric.meaning


def test_rows_say_how_launches_combine(report: Report) -> None:
    for metric in [*CATALOGUE.values(), *DERIVED.values()]:
        if metric.unit == "%":
            assert metric.combine == "time-mean", f"{metric.key}: percentages must never be added"
    assert CATALOGUE["duration"].combine == CATALOGUE["dram_bytes_read"].combine == "sum"
    assert not set(CATALOGUE) & set(DERIVED)


def test_what_counts_as_exact_repeats_exactly(report: Report) -> None:
    first, second = values_of(report, 0), values_of(report, 2)
    for metric in CATALOGUE.values():
        if metric.exact:
            assert metric.value(first) == metric.value(second), metric.key
    for derived in DERIVED.values():
        if derived.exact:
            before, after = derived.value(first), derived.value(second)
            assert before == after or (math.isnan(before or 0) and math.isnan(after or 0)), derived.key


def test_another_chips_spelling_is_found() -> None:
    assert CATALOGUE["dram_bytes_read"].value({"dram__bytes_op_read.sum": 5.0}) == 5.0
    assert CATALOGUE["dram_bytes_read"].value({}) is None
    assert CATALOGUE["dram_bytes_read"].value({"dram__bytes_read.sum": math.nan}) is None


def test_the_strided_store_shows(report: Report) -> None:
    naive = {key: derived.value(values_of(report, 0)) for key, derived in DERIVED.items()}
    assert naive["sector_efficiency_load"] == 100.0
    assert naive["sector_efficiency_store"] == 12.5  # 4 of 32 bytes
    assert naive["sector_efficiency"] == pytest.approx(200 / 9)  # 4 + 4 sectors ideal, 4 + 32 touched
    assert naive["sectors_per_request_load"] == 4.0
    assert naive["sectors_per_request_store"] == pytest.approx(32, rel=0.02)
    assert naive["dram_peak_bandwidth"] == pytest.approx(4.81e12, rel=0.01)


def test_bank_conflicts_show(report: Report) -> None:
    shared = values_of(report, 1)
    assert DERIVED["bank_conflict_ways"].value(shared) == 16.5  # loads 32-way, stores free of conflicts
    assert DERIVED["excess_wavefront_share"].value(shared) == pytest.approx(100 * 31 / 33)
    assert DERIVED["dram_bytes"].value(shared) == 4197376.0


def test_a_ratio_without_traffic_is_not_applicable_and_an_absent_metric_is_none(report: Report) -> None:
    naive = values_of(report, 0)
    ways = DERIVED["bank_conflict_ways"].value(naive)
    assert ways is not None
    assert math.isnan(ways)
    assert why_not_applicable(naive) == "n/a"
    assert why_not_applicable({**naive, "smsp__inst_executed_op_tma_ld.sum": 8.0}) == "n/a (TMA)"
    for derived in DERIVED.values():
        assert derived.value({}) is None
    quiet = {**naive, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": 0.0}
    for key in ("sector_efficiency_store", "sectors_per_request_store"):
        value = DERIVED[key].value(quiet)
        assert value is not None
        assert math.isnan(value)


def test_stall_reasons_are_an_open_set(report: Report) -> None:
    found = stall_reasons(values_of(report, 0))
    assert {"long_scoreboard", "gmma", "drain", "selected"} <= set(found)
    assert len(found) == 19
    assert max(found, key=lambda reason: found[reason]) == "drain"
    assert STALL.fullmatch("smsp__average_warps_issue_stalled_new_thing_per_issue_active.ratio")
    assert stall_reasons({"sm__throughput": 1.0}) == {}
