"""grid-underfill: idle multiprocessors, warps that could be more, and half a wave that is enough."""

from __future__ import annotations

from dataclasses import replace

import pytest
from factories import launch
from made_ceilings import MIB, ceilings, point
from shape_facts import Counters, found, made, missing, of_case, saved_share, without

from ncu_assist.rules import diagnose, grid_underfill, workload_imbalance
from ncu_assist.rules.model.of_run import LaunchSass, RuleResults, as_built, code_tells_more

SIGNATURE = launch().signature
FEW: Counters = {
    "grid_size": 33, "block_size": 1024, "sm_count": 132, "waves_per_sm": 0.25, "theoretical_warps": 32,
    "dram_throughput": 0, "issue_slots_busy": 20, "sm_cycles_active": 25, "sm_cycles_elapsed": 100,
}  # fmt: skip


def test_a_block_a_row_of_few_rows() -> None:
    finding = found(grid_underfill, of_case("underfill_block_a_row"))
    assert finding
    assert "116 of 132" in finding.message
    assert 1 / (1 - saved_share(grid_underfill, of_case("underfill_block_a_row"))) == pytest.approx(2.03, rel=0.25)


def test_one_block_is_called_one() -> None:
    finding = found(grid_underfill, made(FEW | {"grid_size": 1}, long_scoreboard=90))
    assert finding
    assert finding.message.startswith("1 block fills 25 % of what the chip holds at once, 131 of 132")


def test_a_share_that_is_not_nothing_is_not_called_0_percent() -> None:
    finding = found(grid_underfill, made(FEW | {"grid_size": 1, "waves_per_sm": 0.0005}, long_scoreboard=90))
    assert finding
    assert finding.message.startswith("1 block fills 0.05 % of what")


def test_a_block_without_a_whole_warp_says_so() -> None:
    finding = found(grid_underfill, made(FEW | {"grid_size": 1, "block_size": 1}, long_scoreboard=90))
    assert finding
    assert finding.message.startswith("1 block of a single thread fills 25 %")
    assert "into more blocks, of whole warps" in finding.advice


def test_blocks_spread_over_all_multiprocessors() -> None:
    assert saved_share(grid_underfill, made(FEW, long_scoreboard=90)) == pytest.approx(0.75)


def test_the_time_that_the_longest_block_takes_alone_is_not_claimed_twice() -> None:
    """As in a report of an RTX 3050 Ti: 40 blocks on 20 multiprocessors, whose mean works a twentieth of the time."""
    even = FEW | {"grid_size": 264, "theoretical_warps": 64, "issue_slots_busy": 1,
                  "sm_cycles_active": 95, "sm_cycles_active_max": 98}  # fmt: skip
    uneven = even | {"sm_cycles_active": 5}
    whole, rest = (saved_share(grid_underfill, made(one, long_scoreboard=90)) for one in (even, uneven))
    gone = saved_share(workload_imbalance, made(uneven, long_scoreboard=90))
    assert gone == pytest.approx(0.93 - 0.10)
    assert rest == pytest.approx(whole * (1 - gone))


def test_waiting_warps_get_company_as_well() -> None:
    few = FEW | {"theoretical_warps": 64, "waves_per_sm": 0.125, "issue_slots_busy": 5}
    assert saved_share(grid_underfill, made(few, long_scoreboard=80)) == pytest.approx(1 - 0.25 * (1 - 0.8 * 0.5))


def test_a_block_everywhere_and_no_waiting_is_enough() -> None:
    enough = FEW | {"grid_size": 132, "waves_per_sm": 0.5, "theoretical_warps": 64, "sm_cycles_active": 98}
    assert found(grid_underfill, made(enough | {"issue_slots_busy": 80}, long_scoreboard=80)) is None
    assert found(grid_underfill, made(enough | {"issue_slots_busy": 20}, long_scoreboard=80)) is not None


def test_dram_at_its_ceiling_leaves_nothing_to_win() -> None:
    enough = FEW | {"grid_size": 132, "waves_per_sm": 0.5, "theoretical_warps": 64, "dram_throughput": 91}
    assert saved_share(grid_underfill, made(enough, long_scoreboard=95)) == 0


def test_a_full_link_to_the_host_leaves_nothing_to_win() -> None:
    """150,600 sectors take 90 of the 100 us over an assumed 53.55 GB/s, and a start 2.5: no grid is any faster."""
    crossing = FEW | {"host_sectors_read": 150_600.0, "host_sectors_write": 0.0}
    assert saved_share(grid_underfill, made(crossing, long_scoreboard=90)) == pytest.approx(0.075, abs=0.001)


def test_so_does_a_link_that_is_full_of_small_requests() -> None:
    """60,000 sectors, each a request, take 90 of the 100 us at the measured rate, and their bytes 35; a start 2.5."""
    small = FEW | {"host_sectors_read": 60_000.0, "host_sectors_write": 0.0, "pcie_write_bandwidth": 9.6e9}
    links = (point("host_to_device", 1, 0, MIB, 55e9, "events"), point("zero_copy_sectors", 1, 0, MIB, 32 * 2e9 / 3))
    for measured, room in (links, 0.075), (links[:1], 0.625):
        facts = replace(made(small, long_scoreboard=90), ceilings=replace(ceilings(), link=measured))
        assert saved_share(grid_underfill, facts) == pytest.approx(room, abs=0.01)


@pytest.mark.parametrize("case", ["occupancy_low_at_ceiling", "tail_one_wave_and_eight", "healthy_float_product"])
def test_silent_on_recorded_kernels_that_fill_the_chip(case: str) -> None:
    assert found(grid_underfill, of_case(case)) is None


def test_says_what_it_lacks() -> None:
    assert missing(grid_underfill, without(made(FEW), "waves_per_sm")) == ("waves_per_sm",)


ONE_BLOCK: Counters = FEW | {
    "grid_size": 1, "waves_per_sm": 1 / 264, "sm_cycles_active": 0.6, "sm_cycles_active_max": 80, "dram_throughput": 1,
    "issue_slots_busy": 0.2, "l1_data_pipe": 0.3,
}  # fmt: skip


def test_no_grid_makes_a_launch_shorter_than_its_start() -> None:
    facts = made(ONE_BLOCK, duration_ns=4000.0, long_scoreboard=90)
    assert (1 - saved_share(grid_underfill, facts)) * 4000 >= 2500 + 0.02 * 4000


def test_units_of_the_one_busy_multiprocessor_do_not_limit_what_more_of_them_win() -> None:
    """L1 is busy 40 % of the time there: spread over 132 it is no limit."""
    facts = made(ONE_BLOCK, long_scoreboard=90)
    assert saved_share(grid_underfill, facts) > 0.7
    finding = found(grid_underfill, facts)
    assert finding
    assert "L1 data pipe" in finding.relieves


def test_threads_without_a_loop_only_get_out_of_each_other_s_way() -> None:
    """Each instruction once a warp: no thread has work to give to others, and what warps wait for is no queue."""
    facts = replace(made(ONE_BLOCK, long_scoreboard=80, mio_throttle=5), straight=frozenset({SIGNATURE}))
    assert facts.is_straight
    assert saved_share(grid_underfill, facts) == pytest.approx(132 * 0.003 / 0.9 * 131 / 132)
    finding = found(grid_underfill, facts)
    assert finding
    assert finding.advice.startswith("use smaller blocks")
    queued = replace(made(ONE_BLOCK, mio_throttle=70), straight=frozenset({SIGNATURE}))
    assert saved_share(grid_underfill, queued) == pytest.approx(0.8 * 0.7 * 131 / 132)


@pytest.mark.parametrize(
    ("counts", "advice"),
    [([32.0, 0.0, 32.0], "use smaller"), ([64.0, 0.0, 32.0], "split the work"), ([30.0, 30.0, 32.0], "split the work")],
)
def test_the_code_tells_whether_a_thread_has_a_loop(counts: list[float], advice: str) -> None:
    """32 warps: what 64 of them executed was executed twice each; 30 may be the turns of one that jumps."""
    facts = made(ONE_BLOCK, long_scoreboard=80, barrier=15)
    own = replace(facts.combined.launches[0], grid=(1, 1, 1), block=(1024, 1, 1))
    facts = replace(facts, combined=replace(facts.combined, launches=(own,)))
    before = RuleResults(facts, diagnose(facts, {grid_underfill.ID: grid_underfill}), {})
    assert code_tells_more(before)
    code = LaunchSass.of({own.index: (["FFMA R4, R4, R5, R6", "@P0 BRA 0x10", "EXIT"], counts, [])}, [own])
    after = [one.finding for one in as_built(before, code).diagnosis.findings if one.finding.rule == grid_underfill.ID]
    assert after[0].advice.startswith(advice)
