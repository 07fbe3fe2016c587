"""Savings that rest on the start of a kernel, as it was measured on two GPUs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_ceilings import ceilings
from shape_facts import Counters, found, made, saved_share

from ncu_assist.ceilings import shipped
from ncu_assist.frame import combine_launches
from ncu_assist.rules import launch_bound, near_ceiling, shared_bank_conflict, unexplained
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.savings import START_NS, assumes_start, busiest_unit, loads, next_limit, saved_ns, spread

# Of a public report of an RTX 3060: one block that writes and reads a tile column by column, on one SM of 30.
ONE_BLOCK: Counters = {
    "grid_size": 1, "block_size": 1024, "sm_count": 30, "waves_per_sm": 0.0333, "theoretical_warps": 32,
    "sm_cycles_elapsed": 6654, "sm_cycles_active": 156.7, "sm_cycles_active_max": 4701,
    "l1_data_pipe": 1.189, "shared_wavefronts": 2048, "shared_wavefronts_excessive": 1984,
    "dram_throughput": 0.6, "issue_slots_busy": 0.4,
}  # fmt: skip


def test_the_start_is_that_of_the_first_two_sizes_of_the_shipped_curves() -> None:
    starts = []
    for one in shipped():
        for name in {point.name for point in one.dram}:
            curve = [point for point in one.dram if point.name == name and point.source == "ncu"]
            first, second = sorted(curve, key=lambda point: point.bytes)[:2]
            each = (second.seconds.median - first.seconds.median) / (second.bytes - first.bytes)
            starts.append(1e9 * (first.seconds.median - each * first.bytes))
    assert min(starts) < START_NS < max(starts)
    assert sorted(starts)[len(starts) // 2] == pytest.approx(START_NS, rel=0.15)


@pytest.mark.parametrize(("duration_ns", "assumed"), [(50_000.0, True), (200_000.0, False)])
def test_a_short_launch_on_a_gpu_that_nobody_measured_assumes_it(duration_ns: float, assumed: bool) -> None:
    facts = made({}, duration_ns=duration_ns)
    assert assumes_start(facts) is assumed
    assert assumes_start(replace(facts, ceilings=ceilings())) is False
    assert assumes_start(made({}, {}, duration_ns=duration_ns)) is assumed


@pytest.mark.parametrize(("load", "gone"), [(0.9, 1.0), (0.81, 1.0), (0.6, 0.6)])
def test_the_whole_time_goes_with_a_unit_that_takes_the_time(load: float, gone: float) -> None:
    """From 80 % of what it can reach on: what rests between its work is waiting for it."""
    facts = made({"l2_data_busy": 90.0 * load}, duration_ns=1e7)
    assert saved_ns(facts, {"L2 data": 0.5}) == pytest.approx(0.5 * gone * 1e7, rel=1e-3)


def test_with_fewer_blocks_than_multiprocessors_units_count_where_there_is_work() -> None:
    """1.19 % of all 30 L1s are 36 % of the one at work; DRAM and L2 serve all, and are as busy as they are."""
    facts, full = (made(ONE_BLOCK | {"grid_size": blocks}, duration_ns=5248.0) for blocks in (1, 30))
    assert loads(facts)["L1 data pipe"] == pytest.approx(30 * 0.01189 / 0.9)
    assert spread(facts)["L1 data pipe"] == pytest.approx(0.01189 / 0.9)
    assert loads(facts)["DRAM"] == spread(facts)["DRAM"] == loads(full)["DRAM"]
    two = of_two_kernels(made(ONE_BLOCK, ONE_BLOCK, duration_ns=5248.0))
    assert len(two.by_kernel) == 2
    assert spread(two)["L1 data pipe"] == pytest.approx(spread(facts)["L1 data pipe"])
    assert loads(two)["L1 data pipe"] == pytest.approx(loads(facts)["L1 data pipe"])
    worked = made(ONE_BLOCK | {"sm_cycles_active": 4701 / 2}, duration_ns=5248.0)  # half of them did, whatever the grid
    assert loads(worked)["L1 data pipe"] == pytest.approx(2 * 0.01189 / 0.9)
    busiest = busiest_unit(facts)
    assert busiest
    assert (busiest.name, busiest.share) == ("L1 data pipe", pytest.approx(30 * 0.01189))


def test_conflicts_of_one_block_cost_what_they_cost_its_multiprocessor() -> None:
    """1,984 passes too many in 6,654 cycles; without them the same kernel took 3.87 of the 5.25 us."""
    share = saved_share(shared_bank_conflict, made(ONE_BLOCK, duration_ns=5248.0))
    assert share == pytest.approx(1984 / 6654 / 0.9, rel=0.01)
    assert saved_share(shared_bank_conflict, made(ONE_BLOCK | {"grid_size": 30}, duration_ns=5248.0)) < 0.02


def of_two_kernels(facts: Facts) -> Facts:
    """Return facts of two launches as of two kernels."""
    first, second = facts.combined.launches
    other = replace(second, kernel="other", signature="other()")
    return replace(facts, combined=combine_launches(None, (first, other), facts.combined.tables))


def test_what_is_fused_with_others_has_their_multiprocessors_as_well() -> None:
    facts = made(ONE_BLOCK | {"l1_data_pipe": 2.5}, duration_ns=3000.0)
    finding = found(launch_bound, facts)
    assert finding
    assert next_limit(finding, facts, 3.0) is None
    assert saved_share(launch_bound, facts) == pytest.approx(2200 / 3000)


def test_a_unit_of_few_multiprocessors_says_of_which_it_is_busy() -> None:
    few = made(ONE_BLOCK | {"l1_data_pipe": 2.8, "shared_wavefronts": 0, "shared_wavefronts_excessive": 0})
    for rule in (near_ceiling, unexplained):
        finding = found(rule, few)
        assert finding
        assert "busy 84 % of the time on the multiprocessors that have a block, 93 % of" in finding.message
    whole = found(near_ceiling, made(ONE_BLOCK | {"grid_size": 30, "l1_data_pipe": 84}))
    assert whole
    assert "busy 84 % of the time, 93 % of" in whole.message
