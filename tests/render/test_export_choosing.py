"""Metrics asked for by name, pattern or key, and the tables made of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from factories import METRICS, STALL, metrics_frame

from ncu_assist.errors import UsageProblem
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.render.export.columns import choose, rows_of, wide

NAMES = list(METRICS)
FACTS = pd.DataFrame({"launch": [0, 1], "kernel": ["a", "b"]})


def columns(*asked: str) -> list[str]:
    return [one.column for one in choose(asked, NAMES, "this run")]


def test_names_patterns_and_keys_in_the_order_asked_for() -> None:
    assert columns("smsp__inst_executed.sum", "dram__bytes_*", "duration") == [
        *("smsp__inst_executed.sum", "dram__bytes_read.sum", "dram__bytes_write.sum", "duration"),
    ]
    assert columns("duration", "duration", "*time_duration*") == ["duration", "gpu__time_duration.sum"]


def test_a_pattern_means_keys_where_no_name_of_ncu_matches() -> None:
    assert columns("stall_[lb]*") == ["stall_barrier", "stall_long_scoreboard"]


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        ("duraton", "use duration", "--metrics duration"),
        ("dram__bytes_read", "needs a rollup; use dram__bytes_read.sum", "--metrics dram__bytes_read.sum"),
        ("nothing*", "no metric of this run matches 'nothing*'", "ncu-assist metrics"),
        ("sm__sass_inst_executed_op_ldsm.sum", "cannot be answered", "ncu-assist metrics"),
    ],
)
def test_a_wrong_name_is_said_with_the_right_one(asked: str, message: str, hint: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        columns(asked)
    assert message in caught.value.message
    assert caught.value.hint == hint


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(UsageProblem) as caught:
        columns("duraton", "duration", "nothing*")
    assert "duraton" in caught.value.message
    assert "nothing*" in caught.value.message


def test_rows_of_names_keys_and_derived_metrics() -> None:
    without = {f"smsp__sass_average_data_bytes_per_sector_mem_global_op_{op}.ratio": None for op in ("ld", "st")}
    without |= dict.fromkeys(CATALOGUE["global_sectors_ideal"].names)
    metrics = metrics_frame({}, {"gpu__time_duration.sum": 5.0, **without})
    chosen = choose(["sector_efficiency_load", "duration", "stall_barrier"], NAMES, "this run")
    rows = rows_of(metrics, chosen)
    assert list(rows.columns) == ["launch", "metric", "value", "text", "unit"]
    assert rows[["launch", "metric", "unit"]].to_numpy().tolist() == [
        [0, "sector_efficiency_load", "%"],
        [0, "duration", "ns"],
        [0, "stall_barrier", "%"],
        [1, "duration", "ns"],
        [1, "stall_barrier", "%"],
    ]
    assert rows["value"].tolist() == pytest.approx([100.0, 100_000.0, 100 * 2 / 23, 5.0, 100 * 2 / 23])
    table = wide(FACTS, rows, [one.column for one in chosen])
    assert list(table.columns) == ["launch", "kernel", "sector_efficiency_load", "duration", "stall_barrier"]
    assert np.isnan(table["sector_efficiency_load"][1])


def test_wide_has_numbers_by_name_then_texts() -> None:
    metrics = metrics_frame({"odd": "none", "z": 1.0}, {"odd": 2.0})
    table = wide(FACTS, metrics)
    names = list(table.columns)[2:]
    assert names == [*sorted(set(NAMES) - {"device__attribute_display_name"} | {"z"}),
                     "device__attribute_display_name", "odd"]  # fmt: skip
    assert table["odd"].tolist() == ["none", "2.0"]
    assert table["z"].tolist()[0] == 1.0
    assert np.isnan(table["z"][1])
    assert table[STALL.format("barrier")].tolist() == [2.0, 2.0]


def test_launches_without_metrics_and_metrics_without_launches() -> None:
    metrics = metrics_frame({})
    assert wide(FACTS, metrics.iloc[:0]).equals(FACTS)
    assert len(wide(FACTS.iloc[1:], metrics)) == 1
    assert wide(FACTS.iloc[:0], metrics).empty
