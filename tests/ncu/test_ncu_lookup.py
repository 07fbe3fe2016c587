"""What a name stands for, and what a search finds."""

from __future__ import annotations

import pytest

from ncu_assist.errors import UsageProblem
from ncu_assist.ncu.derived import ALL_DERIVED
from ncu_assist.ncu.lookup import NamedRollup, explain, search
from ncu_assist.ncu.metrics import CATALOGUE
from ncu_assist.ncu.name_parts import PARTS, UNITS, read_name
from ncu_assist.ncu.recorded_names import recorded_names
from ncu_assist.ncu.stalls import STALL_REASONS


def keys(patterns: list[str], chip: str | None = None) -> list[str]:
    return [row.key for rows in search(patterns, chip).groups.values() for row in rows]


@pytest.mark.parametrize("key", [*CATALOGUE, *ALL_DERIVED])
def test_every_key_is_found(key: str) -> None:
    row = CATALOGUE[key] if key in CATALOGUE else ALL_DERIVED[key]
    wanted = STALL_REASONS[key.removeprefix("stall_")] if key.startswith("stall_") else row
    assert explain(key) == (wanted,)


def test_every_name_and_label_is_found() -> None:
    for metric in CATALOGUE.values():
        assert metric in explain(metric.label)
        assert metric in explain((metric.shown_as or metric.label).upper())
        for name in metric.names:
            assert metric in explain(name) or name.startswith("smsp__average_warps_issue_stalled_")


COUNTED = "smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio"


@pytest.mark.parametrize("name", ["gmma", "stall_gmma", COUNTED])
def test_a_stall_reason_is_found_under_all_its_names(name: str) -> None:
    assert explain(name) == (STALL_REASONS["gmma"],)


def test_the_samplers_spelling_is_found() -> None:
    sampled = explain("smsp__pcsamp_warps_issue_stalled_warpgroup_arrive_not_issued")
    assert sampled == (STALL_REASONS["warpgroup_arrive"],)
    assert STALL_REASONS["warpgroup_arrive"].same_as == "gmma"


def test_another_rollup_of_a_known_metric_leads_to_it() -> None:
    (found,) = explain("sm__warps_active.max.per_cycle_active")
    assert isinstance(found, NamedRollup)
    assert (found.rollup, found.keys) == ("max.per_cycle_active", ("achieved_occupancy", "achieved_warps"))
    (base,) = explain("sm__warps_active")
    assert isinstance(base, NamedRollup)
    assert base.rollup == ""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("durration", "did you mean 'duration'?"),
        ("smsp__wraps_active.avg.per_cycle_active", "did you mean 'smsp__warps_active.avg.per_cycle_active'?"),
        ("sm__warps_active.avg.nonsense", "did you mean 'sm__warps_active.avg"),
        ("long_scorebord", "did you mean 'long_scoreboard'?"),
        ("L2 Hitt Rate", "did you mean 'l2_hit_rate'?"),
        ("zzzzzz", "ncu-assist metrics"),
        ("", "ncu-assist metrics"),
    ],
)
def test_a_wrong_name_gets_the_nearest(name: str, words: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        explain(name)
    assert words in caught.value.hint


def test_a_pattern_matches_keys_names_and_labels() -> None:
    assert keys([]) == keys(["*"])
    assert len(keys([])) == len(CATALOGUE) + len(ALL_DERIVED)
    assert "l2_hit_rate" in keys(["lts__t_sector_hit"])
    assert "l2_hit_rate" in keys(["L2 Hit Rate"])
    assert keys(["*_hit_rate"]) == ["l2_hit_rate", "l1_hit_rate", "constant_hit_rate"]
    assert keys(["duration", "spill_"]) == ["duration", "spill_instructions"]


def test_names_outside_the_catalogue_are_found_where_it_has_nothing() -> None:
    found = search(["nvlrx__bytes"], None)
    assert found.groups == {}
    assert "nvlrx__bytes" in [one.name for one in found.names]
    assert search(["hit_rate"], None).names == ()


def test_a_chip_has_its_own_names() -> None:
    blackwell = search(["tma"], "gb202")
    assert "sm__inst_executed_pipe_tma_pred_on_any" in [one.name for one in blackwell.names]
    older = search(["tma"], "ga100")
    assert older.groups == {}
    assert "tma_loads" in older.lacking


def test_wrong_patterns_and_chips() -> None:
    with pytest.raises(UsageProblem, match="were not recorded") as caught:
        search([], "gh10")
    assert caught.value.hint == "did you mean 'gh100'?"
    with pytest.raises(UsageProblem, match=r"no metric on gb202 matches 'dram__bytes_read\.summ'") as caught:
        search(["duration", "dram__bytes_read.summ"], "gb202")
    assert caught.value.hint == "ncu-assist metrics dram__bytes_op_read.sum"
    with pytest.raises(UsageProblem, match="no metric matches 'qqq'"):
        search(["qqq"], None)


def test_names_are_read_part_by_part() -> None:
    parts = dict(read_name("lts__t_sectors_srcunit_tex_aperture_sysmem_op_read_lookup_miss"))
    assert list(parts) == ["lts", "sectors", "srcunit_tex", "aperture_sysmem", "op_read", "lookup_miss"]
    assert list(read_name("nonsense")) == []
    assert [part for part, _ in read_name("l1tex__t_sectors_pipe_lsu_mem_global_op_tma_ld")][-1] == "op_tma_ld"
    names = recorded_names()
    assert [unit for unit in UNITS if not any(name.rpartition(".")[2].startswith(f"{unit}_") for name in names)] == []
    assert [part for part in PARTS if not any(part in name for name in names)] == []
