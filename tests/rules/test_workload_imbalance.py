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
