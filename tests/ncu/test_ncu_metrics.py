"""The catalogue, held against recorded reports, ncu's labels, and the lists of every recorded chip."""

from __future__ import annotations

import functools
from pathlib import Path

import pandas as pd
import pytest
from recorded_values import launches, values_of

from ncu_assist.ncu.available_names import on_chip
from ncu_assist.ncu.chips import CHIPS, chip_of
from ncu_assist.ncu.derived import ALL_DERIVED, DERIVED_GROUPS
from ncu_assist.ncu.metric_doctor import missing_keys
from ncu_assist.ncu.metrics import CATALOGUE, GROUPS, STALL, stall_reasons
from ncu_assist.ncu.recorded_names import UNLISTED, recorded_names
from ncu_assist.ncu.report import read_report
from ncu_assist.ncu.spelling import split
from ncu_assist.ncu.stalls import SAMPLED, STALL_REASONS

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
    assert units()[metric.names[0]] == metric.unit


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
    assert unlisted == {"branch_share", "theoretical_occupancy", "theoretical_warps"}


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
    for metric in [*CATALOGUE.values(), *ALL_DERIVED.values()]:
        if metric.unit == "%":
            assert metric.combine == "time-mean", f"{metric.key}: percentages must never be added"
    assert CATALOGUE["duration"].combine == CATALOGUE["dram_bytes_read"].combine == "sum"


def test_a_meaning_is_one_line_that_stands_alone() -> None:
    for row in [*CATALOGUE.values(), *ALL_DERIVED.values()]:
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
    found = stall_reasons(values_of("transpose", "transpose_naive"))
    assert {"long_scoreboard", "gmma", "drain", "selected"} <= set(found)
    assert len(found) == 19
    assert max(found, key=lambda reason: found[reason]) == "drain"
    assert STALL.fullmatch("smsp__average_warps_issue_stalled_new_thing_per_issue_active.ratio")
    assert stall_reasons({"sm__throughput": 1.0}) == {}


def test_every_stall_reason_that_a_report_names_is_explained() -> None:
    names = launches("transpose")[0][1]
    counted = {match.group(1) for name in names if (match := STALL.fullmatch(name))}
    sampled = {match.group(1) for name in names if (match := SAMPLED.fullmatch(name))}
    assert counted | sampled == set(STALL_REASONS)
    assert {reason.name for reason in STALL_REASONS.values() if reason.same_as} == sampled - counted
    for reason in STALL_REASONS.values():
        assert reason.waits_for
        assert reason.try_this.endswith(".") or reason.same_as
