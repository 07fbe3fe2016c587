"""workload-imbalance: multiprocessors that wait for others, apart from what the number of blocks explains."""

from __future__ import annotations

import pytest
from shape_facts import Counters, found, made, missing, of_case, saved_share, without

from ncu_assist.rules import workload_imbalance

UNEVEN: Counters = {
    "waves_per_sm": 1.0, "grid_size": 1056, "sm_count": 132, "dram_throughput": 0,
    "sm_cycles_active": 30, "sm_cycles_active_max": 95, "sm_cycles_elapsed": 100,
}  # fmt: skip


def test_rows_of_very_different_length() -> None:
    finding = found(workload_imbalance, of_case("imbalance_long_rows"))
    assert finding
    assert "10.7" in finding.message


def test_where_hardly_any_multiprocessor_works_it_says_how_many() -> None:
    """A public kernel of 40 blocks on 20 multiprocessors: one thread of one of them did the work."""
    lonely = found(workload_imbalance, made(UNEVEN | {"sm_cycles_active": 95 / 132}))
    assert lonely
    assert lonely.message.endswith("the others wait for it, as if 1.0 of the 132 did all of the work")
    half = found(workload_imbalance, made(UNEVEN | {"sm_cycles_active": 60}))
    assert half
    assert half.message.endswith("the others wait for it")


def test_where_the_longest_was_not_counted_it_says_what_block_that_takes() -> None:
    """A public report of 79 waves: active for half of the time. In one wave any block may be long."""
    counters = UNEVEN | {"sm_cycles_active": 50, "waves_per_sm": 80.0, "grid_size": 84480}
    many = found(workload_imbalance, without(made(counters), "sm_cycles_active_max"))
    assert many
    assert many.assumed
    assert "longest was not counted: it works up to 2.00 times as long as the mean" in many.message
    longer = (1.0 - 0.5 - 2_500 / 100_000) / 0.5 * 80
    assert many.message.endswith(f"; for that, a block must last at least {longer:.0f} times as long as the mean one")
    single = found(workload_imbalance, without(made(UNEVEN), "sm_cycles_active_max"))
    assert single
    assert "a block must last" not in single.message
    counted = found(workload_imbalance, made(counters))
    assert counted
    assert "a block must last" not in counted.message
    assert "was not counted" not in counted.message


def test_saves_the_rest_of_the_mean_multiprocessor() -> None:
    assert saved_share(workload_imbalance, made(UNEVEN)) == pytest.approx(0.65 - 0.1)


def test_counts_only_the_room_that_dram_has() -> None:
    half = saved_share(workload_imbalance, made(UNEVEN | {"l2_data_busy": 45}))
    assert half == pytest.approx((0.65 - 0.1) / 2)


def test_blocks_that_follow_one_another_end_apart() -> None:
    waves = UNEVEN | {"waves_per_sm": 2.0, "sm_cycles_active": 60}
    assert saved_share(workload_imbalance, made(waves)) == pytest.approx(0.35 - 0.25)
    assert found(workload_imbalance, made(waves | {"sm_cycles_active": 70})) is None


def test_silent_on_what_even_kernels_show_too() -> None:
    """Equal blocks rest by up to 9.2 % on average, because they neither start nor are served in step."""
    assert found(workload_imbalance, made(UNEVEN | {"sm_cycles_active": 86})) is None
    assert saved_share(workload_imbalance, made(UNEVEN | {"sm_cycles_active": 80})) == pytest.approx(0.15 - 0.1)


@pytest.mark.parametrize(
    "changes",
    [
        {"sm_cycles_active": 94},  # even
        {"grid_size": 33, "waves_per_sm": 0.03, "sm_cycles_active": 24},  # blocks for a quarter of the chip
        {"waves_per_sm": 1.05, "sm_cycles_active": 50},  # a last wave
    ],
)
def test_silent_where_the_blocks_explain_it(changes: Counters) -> None:
    assert found(workload_imbalance, made(UNEVEN | changes)) is None


@pytest.mark.parametrize(
    "case", ["underfill_block_a_row", "tail_one_wave_and_eight", "healthy_sum", "occupancy_registers_fix"]
)
def test_silent_on_recorded_kernels_of_other_kinds(case: str) -> None:
    assert found(workload_imbalance, of_case(case)) is None


def test_says_what_it_lacks() -> None:
    assert missing(workload_imbalance, without(made(UNEVEN), "sm_cycles_active")) == ("sm_cycles_active",)


EARLY: Counters = {
    "waves_per_sm": 1.5, "grid_size": 1584, "block_size": 128, "sm_count": 132, "dram_throughput": 0,
    "sm_cycles_active": 99, "sm_cycles_active_max": 99, "sm_cycles_elapsed": 10_000_000,
    "theoretical_warps": 32, "achieved_warps": 6,
}  # fmt: skip
WORKING: Counters = {"sm_cycles_active": 9_900_000, "sm_cycles_active_max": 9_900_000}


def test_names_warps_that_last_longer_where_every_multiprocessor_stays_active() -> None:
    """A public kernel had 8 warps where 48 fit, on multiprocessors that were active from start to end."""
    finding = found(workload_imbalance, made(EARLY | WORKING, long_scoreboard=90.0))
    assert finding
    assert finding.detail == {"of": "warps"}
    assert "6.0 warps run on a multiprocessor on average, where equal blocks would keep 24 running" in finding.message
    assert "later than the limits in the report allow" in finding.message


def test_saves_waits_beyond_what_equal_warps_show() -> None:
    facts = made(EARLY | WORKING, long_scoreboard=90.0)
    missing_part = 1 - 6 / 24 - 2_500 / 100_000 - 400 / (10_000_000 * 8 * 132 / 1584) - 0.5
    assert saved_share(workload_imbalance, facts) == pytest.approx(0.99 * 0.9 * missing_part)


def test_of_less_than_one_wave_no_block_gets_in_late() -> None:
    few = EARLY | WORKING | {"waves_per_sm": 0.5, "grid_size": 528, "achieved_warps": 2}
    finding = found(workload_imbalance, made(few, long_scoreboard=90.0))
    assert finding
    assert finding.message.endswith("where equal blocks would keep 16 running: most end long before the last")


@pytest.mark.parametrize(
    ("changes", "waits"),
    [
        ({"achieved_warps": 13}, 90.0),  # more than half: equal warps, some of which are served first, show it too
        ({"issue_slots_busy": 88}, 90.0),  # a unit takes the time
        ({}, 2.0),  # no waits that other warps could cover
    ],
)
def test_silent_on_warps_that_end_early_at_no_cost(changes: Counters, waits: float) -> None:
    assert found(workload_imbalance, made(EARLY | WORKING | changes, long_scoreboard=waits)) is None


def test_small_blocks_that_end_before_the_next_start_are_low_occupancy() -> None:
    limits = {f"block_limit_{one}": 64.0 for one in ("registers", "warps", "shared_memory")} | {"max_warps": 16.0}
    small = EARLY | WORKING | limits | {"waves_per_sm": 62.0, "grid_size": 261_888, "block_size": 32}
    assert found(workload_imbalance, made(small | {"block_limit_blocks": 32}, long_scoreboard=90.0)) is None
    assert found(workload_imbalance, made(small | {"block_limit_blocks": 128}, long_scoreboard=90.0))
