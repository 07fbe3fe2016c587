"""The catalogue, held against recorded reports, ncu's labels, and the lists of every recorded chip."""

from __future__ import annotations

import functools
from pathlib import Path

import pandas as pd
import pytest
from missing_keys import missing_keys
from recorded_values import launches, values_of

from ncu_assist.ncu.catalogue.chips import CHIPS, UNLISTED, chip_of, on_chip, recorded_names
from ncu_assist.ncu.catalogue.metric import SUM
from ncu_assist.ncu.catalogue.metrics import CATALOGUE, GROUPS, STALL
from ncu_assist.ncu.catalogue.rows import DERIVED_GROUPS, ROWS
from ncu_assist.ncu.catalogue.spelling import split
from ncu_assist.ncu.catalogue.stalls import SAMPLED, SAMPLED_AS, STALL_REASONS
from ncu_assist.ncu.report import read_report

DATA = Path(__file__).parent.parent / "data"
IN_REPORTS = {key: metric for key, metric in CATALOGUE.items() if not metric.given}


@functools.cache
def units() -> dict[str, str]:
    metrics = read_report(DATA / "transpose_full_h200_2025.3.1.ncu-rep.zst").metrics
    first = metrics[metrics.launch == 1]
    return dict(zip(first.metric, first.unit, strict=True))


@functools.cache
def labels() -> set[tuple[str, str, str]]:
    return set(pd.read_csv(DATA / "labels_2025.3.1.tsv", sep="\t").itertuples(index=False, name=None))


@pytest.mark.parametrize("key", IN_REPORTS)
def test_each_metric_exists_in_a_full_report_of_h200(key: str) -> None:
    metric = CATALOGUE[key]
    assert metric.names[0] in values_of("transpose", "transpose_shared"), "not in --set full of 2025.3.1 on H200"
    assert units()[metric.names[0]] == (metric.unit if metric.ncu_unit is None else metric.ncu_unit)
    assert metric.ncu_unit != metric.unit


def test_a_unit_of_ncu_that_is_not_true_is_known_and_seldom() -> None:
    odd = {key: (metric.unit, metric.ncu_unit) for key, metric in CATALOGUE.items() if metric.ncu_unit is not None}
    assert {key for key in odd if not key.startswith("warps_")} == {
        *("global_sectors_theoretical", "global_sectors_ideal", "shared_wavefronts", "shared_wavefronts_ideal"),
        *("immediate_constant_requests", "branch_share"),
    }
    assert odd["shared_wavefronts"] == ("", "sectors")
    assert odd["immediate_constant_requests"] == ("request", "cycle")
    assert {metric.unit for key, metric in CATALOGUE.items() if "sectors" in key} == {"sector"}


def test_better_is_said_only_where_it_is_true_of_the_number_alone() -> None:
    """A sector count has an ideal, a busy unit may be busy with waste, a waiting warp may wait at a limit."""
    neither = {key for key, row in ROWS.items() if row.better is None}
    assert {"sectors_per_request_load", "sectors_per_request_store"} <= neither
    assert {"stall_not_selected", "stall_math_pipe_throttle", "stall_wait", "stall_gmma"} <= neither
    assert {key for key in ROWS if key.endswith("_busy")} <= neither
    assert {"ipc", "achieved_occupancy", "l1_hit_rate", "l2_hit_rate", "registers"} <= neither
    assert STALL_REASONS["not_selected"].better is STALL_REASONS["selected"].better is None
    excess = ("sectors_per_request_load_excess", "sectors_per_request_store_excess")
    assert {ROWS[key].better for key in (*excess, "stall_barrier", "duration", "sm_idle_share")} == {"lower"}
    assert {ROWS[key].better for key in ("sector_efficiency_load", "dram_throughput", "sm_active_share")} == {"higher"}


def test_only_what_tma_can_touch_speaks_of_it() -> None:
    for row in ROWS.values():
        if "TMA" in row.meaning:
            assert not {"local", "shared"} & set(row.key.split("_")), row.key
    assert "request" in CATALOGUE["local_spilling_requests"].meaning


def test_what_no_report_holds_is_marked_and_few() -> None:
    assert [key for key, metric in CATALOGUE.items() if metric.given] == ["dram_ceiling"]
    assert CATALOGUE["dram_ceiling"].names[0] not in units()


@pytest.mark.parametrize("key", IN_REPORTS)
def test_section_and_label_are_those_of_ncu(key: str) -> None:
    metric = CATALOGUE[key]
    named = {(section, label) for section, label, name in labels() if name == metric.names[0]}
    if metric.section:
        assert (metric.section, metric.shown_as or metric.label) in named
    else:
        assert named == set(), "ncu shows it under a label"
        assert metric.shown_as == ""


@pytest.mark.parametrize("chip", CHIPS)
def test_each_metric_has_a_spelling_on_each_chip_or_says_that_it_lacks_one(chip: str) -> None:
    for key, metric in IN_REPORTS.items():
        here = any(on_chip(chip).has(name) for name in metric.names)
        assert here == (chip not in metric.lacking), key


def test_every_spelling_exists_somewhere() -> None:
    for key, metric in IN_REPORTS.items():
        for name in metric.names:
            assert on_chip(None).has(name), (key, name)


def test_what_no_query_lists_is_known_and_few() -> None:
    known = recorded_names()
    bases = {key: known.get(split(metric.names[0])[0]) for key, metric in IN_REPORTS.items()}
    unlisted = {key for key, recorded in bases.items() if recorded is None or recorded.collection == UNLISTED}
    assert unlisted == {
        *("branch_share", "theoretical_occupancy", "theoretical_warps"),
        *("pcie_link_rate", "pcie_link_width"),
    }


def test_nothing_is_there_twice() -> None:
    rows = [metric for group in GROUPS.values() for metric in group]
    derived = [row for group in DERIVED_GROUPS.values() for row in group]
    keys = [row.key for row in (*rows, *derived)]
    names = [name for metric in rows for name in metric.names]
    assert len(set(keys)) == len(keys)
    assert set(DERIVED_GROUPS) <= set(GROUPS)
    assert len(set(names)) == len(names)
    shown = [row.label for row in (*rows, *derived)]
    assert len(set(shown)) == len(shown)


def test_rows_say_how_launches_combine() -> None:
    for metric in ROWS.values():
        if metric.unit == "%":
            assert metric.combine.how not in ("sum", "max"), f"{metric.key}: percentages must never be added"
    assert CATALOGUE["duration"].combine == CATALOGUE["dram_bytes_read"].combine == SUM


def test_a_meaning_is_one_line_that_stands_alone() -> None:
    for row in ROWS.values():
        assert len(row.meaning) <= 140, row.key
        assert row.meaning[-1] not in ".;,", row.key
        assert not row.meaning.startswith(("the same", "of those")), row.key


def test_another_chips_spelling_is_found() -> None:
    read = CATALOGUE["dram_bytes_read"]
    assert read.value({"dram__bytes_op_read.sum": 5.0}) == 5.0
    assert read.value({}) is None
    assert read.value({"dram__bytes_read.sum": float("nan")}) is None


def test_chips_are_found_by_compute_capability() -> None:
    assert chip_of("9.0") is CHIPS["gh100"]
    assert chip_of("1.0") is None
    assert {chip for recorded in recorded_names().values() for chip in recorded.chips} == set(CHIPS)


def test_all_that_the_catalogue_asks_for_is_on_hopper() -> None:
    assert missing_keys(on_chip("gh100")) == ()


def test_stall_reasons_are_an_open_set() -> None:
    values = values_of("transpose", "transpose_naive")
    found = {match.group(1): value for name, value in values.items() if (match := STALL.fullmatch(name))}
    assert {"long_scoreboard", "gmma", "drain", "selected"} <= set(found)
    assert len(found) == 19
    assert max(found, key=lambda reason: found[reason]) == "drain"
    assert STALL.fullmatch("smsp__average_warps_issue_stalled_new_thing_per_issue_active.ratio")


def test_every_stall_reason_that_a_report_names_is_explained() -> None:
    names = launches("transpose")[0][1]
    counted = {match.group(1) for name in names if (match := STALL.fullmatch(name))}
    sampled = {match.group(1) for name in names if (match := SAMPLED.fullmatch(name))}
    assert counted == set(STALL_REASONS)
    assert set(SAMPLED_AS) == sampled - counted
    assert set(SAMPLED_AS.values()) == counted - sampled
    for reason in STALL_REASONS.values():
        assert reason.waits_for
        assert reason.try_this.endswith(".")


@pytest.mark.parametrize(
    ("name", "value"), [("sm__inst_issued.avg.per_cycle_active", 2.0), ("smsp__issue_active.avg.per_cycle_active", 0.5)]
)
def test_issue_slots_follow_from_what_is_issued_a_cycle(name: str, value: float) -> None:
    """Half of them while SMs are active, which is for 80 % of the time."""
    cycles = {"sm__cycles_active.avg": 80.0, "sm__cycles_elapsed.avg": 100.0}
    assert CATALOGUE["issue_slots_busy"].value({name: value, **cycles}) == pytest.approx(40.0)
