"""What a name stands for, and what a search finds."""

from __future__ import annotations

import shlex

import pytest

from ncu_assist.errors import UsageProblem
from ncu_assist.ncu.catalogue.chips import recorded_names
from ncu_assist.ncu.catalogue.lookup import NVIDIA_RULES, NamedRollup, explain, search
from ncu_assist.ncu.catalogue.metric_doctor import MISTAKEN
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.ncu.catalogue.spelling import PARTS, UNITS, read_name
from ncu_assist.ncu.catalogue.stalls import STALL_REASONS


def keys(patterns: list[str], chip: str | None = None) -> list[str]:
    return [row.key for rows in search(patterns, chip).groups.values() for row in rows]


@pytest.mark.parametrize("key", [*ROWS])
def test_every_key_is_found(key: str) -> None:
    wanted = STALL_REASONS.get(key.removeprefix("stall_"), ROWS[key])
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
    assert sampled == (STALL_REASONS["gmma"],)
    assert explain("warpgroup_arrive") == explain("stall_warpgroup_arrive_not_issued") == explain("gmma")
    assert explain("no_instructions") == explain("stall_no_instructions") == (STALL_REASONS["no_instruction"],)


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("sm_efficiency", "explain sm_active_share"),
        ("flop_count_sp", "explain fp32_flops"),
        ("gld_throughput", "explain l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum.per_second"),
        ("dram_read_throughput", "explain dram__bytes_read.sum.per_second"),
        ("shared_load_transactions_per_request", "explain shared_wavefronts_load"),
        ("occupancy", "explain achieved_occupancy"),
        ("GLD_EFFICIENCY", "explain sector_efficiency_load"),
        ("warp_execution_efficiency", "explain threads_per_instruction"),
        ("l2_read_throughput", "explain lts__t_sectors_op_read.sum.per_second"),
        ("tex_cache_hit_rate", "explain l1_hit_rate"),
        ("local_load_transactions", "explain local_load_sectors"),
        ("stall_memory_dependency", "explain stall_long_scoreboard"),
        ("tensor_active", "explain pipe_tensor_cycles"),
        ("gld_efficency", "explain sector_efficiency_load"),
        ("warps_active", "explain active_warps"),  # the same words in another order
        # nothing counts the same, or nothing is near: a list to look through, no guess
        ("inst_replay_overhead", "metrics"),
        ("lds_throughput", "metrics throughput"),
        ("tensor_core_usage", "metrics tensor"),
        ("l3_hit_rate", "metrics rate"),
        ("sm_utilization", "metrics"),
    ],
)
def test_names_of_other_tools_are_answered_by_meaning(asked: str, hint: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        explain(asked)
    assert caught.value.hint == f"ncu-assist {hint}"


def test_a_rule_is_found_by_its_identifier() -> None:
    assert explain("SOLBottleneck") == explain("solbottleneck") == (NVIDIA_RULES["SOLBottleneck"],)


def test_every_hint_is_a_command_that_answers() -> None:
    for asked in [*MISTAKEN, "durration", "SOLBotleneck", "L2 Hitt Rate", "uncoalesced", "x; rm -rf /", "'", "é", ""]:
        try:
            explain(asked)
        except UsageProblem as problem:
            tool, command, *words = shlex.split(problem.hint)
            assert (tool, command) in (("ncu-assist", "explain"), ("ncu-assist", "metrics")), asked
            assert explain(*words) if command == "explain" else search(words, None).groups


def test_what_ncu_counts_under_another_tools_name_leads_to_the_catalogue() -> None:
    (found,) = explain("inst_executed")
    assert isinstance(found, NamedRollup)
    assert found.keys == ("instructions",)


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
        ("durration", "ncu-assist explain duration"),
        ("smsp__wraps_active.avg.per_cycle_active", "ncu-assist explain smsp__warps_active.avg.per_cycle_active"),
        ("sm__warps_active.avg.nonsense", "ncu-assist explain sm__warps_active.avg"),
        ("long_scorebord", "ncu-assist explain long_scoreboard"),
        ("L2 Hitt Rate", "ncu-assist explain l2_hit_rate"),
        ("SOLBotleneck", "ncu-assist explain SOLBottleneck"),
        ("uncoalesced", "ncu-assist explain UncoalescedGlobalAccess"),
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
    assert len(keys([])) == len(ROWS)
    assert "l2_hit_rate" in keys(["lts__t_sector_hit"])
    assert "l2_hit_rate" in keys(["L2 Hit Rate"])
    assert keys(["*_hit_rate"]) == ["l2_hit_rate", "l1_hit_rate", "constant_hit_rate"]
    assert keys(["duration", "spill_"]) == ["duration", "spill_instructions"]


@pytest.mark.parametrize(
    ("short", "meant", "not_meant"),
    [
        ("regs", "registers", "duration"),
        ("SMEM", "block_limit_shared_memory", "host_sectors_missed"),  # not sysmem
        ("shmem", "block_limit_shared_memory", "duration"),
        ("bw", "dram_bandwidth", "duration"),
        ("tput", "sm_throughput", "duration"),
        ("gmem", "global_load_sectors", "local_load_sectors"),
        ("lmem", "local_load_sectors", "global_load_sectors"),
        ("insts", "instructions", "duration"),
    ],
)
def test_abbreviations_of_the_field_find_what_they_are_short_for(short: str, meant: str, not_meant: str) -> None:
    found = keys([short])
    assert meant in found
    assert not_meant not in found


def test_what_an_abbreviation_is_in_ncus_own_names_is_found_on_a_chip() -> None:
    assert any("shmem" in one.name for one in search(["shmem"], "ga100").names)


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
    with pytest.raises(UsageProblem, match="did you mean 'gh100'") as caught:
        search([], "gh10")
    assert caught.value.hint == "ncu-assist metrics --chip gh100"
    with pytest.raises(UsageProblem, match=r"no metric on gb202 matches 'dram__bytes_read\.summ'") as caught:
        search(["duration", "dram__bytes_read.summ"], "gb202")
    assert caught.value.hint == "ncu-assist metrics dram__bytes_op_read.sum --chip gb202"
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
