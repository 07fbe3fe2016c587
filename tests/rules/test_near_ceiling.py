"""near-ceiling: a busy unit has an owner, and stands before what takes no work off it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_facts import gallery
from shape_facts import found, made, of_case

from ncu_assist.ceilings import ceilings_of
from ncu_assist.rules import RULES, diagnose, near_ceiling
from ncu_assist.rules.model.savings import busiest_unit, saved_ns

CASES = ["traffic_small_halo", "healthy_float_product"]


@pytest.mark.parametrize("case", CASES)
def test_between_done_and_faulty_there_is_an_answer(case: str) -> None:
    facts = of_case(case)
    assert facts.device
    first = diagnose(replace(facts, ceilings=ceilings_of(facts.device)), RULES).first
    assert first
    assert (first.finding.rule, first.severity) == (near_ceiling.ID, "info")


def test_names_the_unit_and_the_distance() -> None:
    finding = found(near_ceiling, made({"l2_data_busy": 72.0, "dram_throughput": 20.0}))
    assert finding
    assert finding.detail == {"unit": "L2 data"}
    assert "72 % of the time, 80 % of what it can reach" in finding.message
    assert finding.evidence == ("l2_data_busy",)
    assert found(near_ceiling, made({"l2_data_busy": 59.0, "dram_throughput": 20.0})) is None


def test_a_unit_at_its_ceiling_is_not_said_to_leave_0_percent() -> None:
    """A public product on an FMA pipe at 95 %, where nine tenths are assumed to be reachable."""
    finding = found(near_ceiling, made({"l2_data_busy": 95.0, "dram_throughput": 20.0}))
    assert finding
    assert finding.message.startswith("L2 data is busy 95 % of the time, which is all that it can reach: ")
    assert " 0 %" not in finding.message


def test_throughputs_of_the_whole_do_where_no_part_was_counted() -> None:
    finding = found(near_ceiling, made({"sm_throughput": 85.0, "memory_throughput": 40.0}))
    assert finding
    assert finding.detail == {"unit": "SM"}


@pytest.mark.parametrize(("busy", "stops"), [(66.0, False), (72.0, False), (73.0, True)])
def test_to_stop_is_said_only_of_a_unit_that_takes_the_time(busy: float, stops: bool) -> None:
    """80 % of the 90 % that a unit of L2 reaches: below it the same work can be done faster."""
    finding = found(near_ceiling, made({"l2_data_busy": busy - 0.5, "dram_throughput": 20.0}))
    assert finding
    assert ("or stop here" in finding.advice) is stops
    assert ("keep this unit busy" in finding.advice) is not stops


def test_further_from_the_ceiling_it_also_says_what_warps_wait_for() -> None:
    """The closer, the less of the time goes with waiting: nothing changes at once where `unexplained` takes over."""
    near, far, further = (
        diagnose(made({"l2_data_busy": busy, "dram_throughput": 20.0}, long_scoreboard=60.0), RULES).findings
        for busy in (73.0, 61.0, 59.0)
    )
    assert "unless it gets less work" in near[0].finding.message
    assert "the first stall reason" not in near[0].finding.message
    assert far[0].finding.rule == near_ceiling.ID
    assert "at most 32 % of the time can be saved if it waits less, more only if it gets" in far[0].finding.message
    assert far[0].finding.evidence == ("l2_data_busy", "warps_long_scoreboard")
    said = "the first stall reason, 60 % of all warp states, is long scoreboard"
    assert said in far[0].finding.message
    assert further[-1].finding.rule == "unexplained"
    assert said in further[-1].finding.message


def test_warps_that_are_ready_wait_for_nothing() -> None:
    """Most warps of a public cuBLAS product were not selected: what they wait for is not the question."""
    finding = found(near_ceiling, made({"l2_data_busy": 61.0, "dram_throughput": 20.0}, not_selected=60.0))
    assert finding
    assert finding.message.endswith("more only if it gets less work")
    assert finding.evidence == ("l2_data_busy",)


@pytest.mark.parametrize(("unit", "key"), [("tensor cores are", "pipe_tensor_cycles"), ("L2 data is", "l2_data_busy")])
def test_the_verb_fits_the_unit(unit: str, key: str) -> None:
    finding = found(near_ceiling, made({key: 85.0, "sm_cycles_active": 1e5, "sm_cycles_elapsed": 1e5}))
    assert finding
    assert finding.message.startswith(f"{unit} busy 85 %")


def test_not_where_most_warps_wait_for_something_else() -> None:
    busy = {"pipe_fma": 66.0, "sm_cycles_active": 100.0, "sm_cycles_elapsed": 100.0}
    assert found(near_ceiling, made(busy, not_selected=80))
    assert found(near_ceiling, made(busy, no_instruction=80)) is None


def test_a_remark_elsewhere_stands_behind_a_unit_that_takes_the_time() -> None:
    tail = {"waves_per_sm": 2.8, "sm_cycles_active": 80, "sm_cycles_active_max": 90, "sm_cycles_elapsed": 100}
    busy = diagnose(
        made(tail | {"pipe_xu": 95.0, "dram_throughput": 5.0}), {r: RULES[r] for r in ("tail-effect", "near-ceiling")}
    )
    assert [one.finding.rule for one in busy.findings] == ["near-ceiling", "tail-effect"]
    idle = diagnose(
        made(tail | {"pipe_xu": 5.0, "dram_throughput": 5.0}), {r: RULES[r] for r in ("tail-effect", "near-ceiling")}
    )
    assert [one.finding.rule for one in idle.findings] == ["tail-effect"]


def test_what_is_done_behind_a_busier_unit_saves_nothing() -> None:
    """Conflicts on a pipe at 38 % behind one at 78 % win nothing; alone they do."""
    parts = {"l1_data_pipe": 38.0, "sm_cycles_active": 100.0, "sm_cycles_elapsed": 100.0, "dram_throughput": 5.0}
    behind, alone = made(parts | {"pipe_fma": 78.0}), made(parts | {"pipe_fma": 20.0})
    assert saved_ns(behind, {"L1 data pipe": 0.5}) == 0.0
    assert saved_ns(alone, {"L1 data pipe": 0.5}) > 0.0


def test_the_busiest_unit_is_the_one_nearest_to_what_it_can_reach() -> None:
    busiest = busiest_unit(made({"l2_data_busy": 60.0, "dram_throughput": 62.0}))
    assert busiest
    assert busiest.name == "DRAM"
    assert not busiest.takes_the_time
    assert busiest_unit(made({})) is None


def test_more_blocks_may_win_while_dram_is_below_its_own_limit() -> None:
    """0.75 waves at 67 % of DRAM: below the 88 % of what it can reach from which its work is the time."""
    few = {"waves_per_sm": 0.75, "grid_size": 396, "block_size": 256, "sm_count": 132, "theoretical_warps": 40}
    first = diagnose(made(few | {"dram_throughput": 67.0, "issue_slots_busy": 10.0}), RULES).first
    assert first
    assert (first.finding.rule, first.finding.assumed) == ("grid-underfill", True)


@pytest.mark.parametrize(("tensor", "said"), [(0.0, True), (40.0, False)])
def test_a_product_on_the_fma_pipe_is_told_of_idle_tensor_cores(tensor: float, said: bool) -> None:
    busy = {"pipe_fma_cycles": 80.0, "pipe_tensor_cycles": tensor, "sm_cycles_active": 1e5, "sm_cycles_elapsed": 1e5}
    finding = found(near_ceiling, made(busy))
    assert finding
    assert ("tensor cores, which are idle" in finding.advice) is said


FLOATS = ("fp32_add_per_cycle", "fp32_mul_per_cycle", "fp32_fma_per_cycle")


def test_a_full_fma_pipe_whose_sums_nobody_counted_may_be_full_of_pairs() -> None:
    """What `pipe-bound` says where they are counted; of a pipe that is not full nothing is said."""
    unknown = diagnose(gallery("pipe_fma_unfused", without=FLOATS), RULES).findings[0].finding
    assert unknown.rule == near_ceiling.ID
    assert "see whether products and sums are one instruction" in unknown.advice
    issue = found(
        near_ceiling,
        made({"issue_slots_busy": 95, "pipe_fma": 40, "sm_cycles_active": 1e5, "sm_cycles_elapsed": 1e5}, wait=90),
    )
    assert issue
    assert "one instruction" not in issue.advice


def test_a_cache_that_may_be_nearer_to_its_limit_takes_the_place_of_what_could_be_saved() -> None:
    """As in what ncu prints: throughputs of wholes and of caches, and no part of any."""
    wholes = {"sm_throughput": 62.0, "memory_throughput": 60.0}
    beside = found(near_ceiling, made(wholes | {"l1_cache_throughput": 82.0}))
    assert beside
    assert "ncu calls L1 82 % busy, and whether that limits it was not counted" in beside.message
    assert "can be saved" not in beside.message
    known = found(near_ceiling, made(wholes | {"l1_cache_throughput": 82.0, "l1_data_pipe": 10.0}))
    assert known
    assert "at most 31 % of the time can be saved" in known.message


def test_memory_that_dram_does_not_explain_is_the_ceiling_and_names_the_cache() -> None:
    """What ncu prints by default of a product without tiles: only DRAM is counted apart, at 0.4 %."""
    printed = {"memory_throughput": 98.6, "dram_throughput": 0.4, "sm_throughput": 23.2, "l1_cache_throughput": 98.9}
    finding = found(near_ceiling, made(printed | {"l2_cache_throughput": 4.9}))
    assert finding
    assert finding.detail == {"unit": "memory"}
    assert finding.message.endswith("; of its parts ncu calls L1 the busiest, 99 %")
    assert finding.advice.startswith("keep reused values in registers")
