"""tail-effect: what an empty last wave costs, and where it costs nothing."""

from __future__ import annotations

import pytest
from shape_facts import Counters, found, made, missing, of_case, saved_share, without

from ncu_assist.rules import tail_effect

TAIL: Counters = {
    "waves_per_sm": 2.05, "grid_size": 271, "sm_count": 132, "dram_throughput": 0,
    "sm_cycles_active": 69, "sm_cycles_active_max": 99, "sm_cycles_elapsed": 100,
}  # fmt: skip


def test_one_wave_and_eight_blocks() -> None:
    assert found(tail_effect, of_case("tail_one_wave_and_eight"))
    assert 1 / (1 - saved_share(tail_effect, of_case("tail_one_wave_and_eight"))) == pytest.approx(1.78, rel=0.1)


def test_saves_the_empty_part_of_the_last_wave() -> None:
    assert saved_share(tail_effect, made(TAIL | {"sm_cycles_active": 40})) == pytest.approx(1 - 2.05 / 3)


def test_saves_no_more_than_multiprocessors_rested() -> None:
    facts = made(TAIL | {"sm_cycles_active": 94})
    assert saved_share(tail_effect, facts) == pytest.approx(0.05)
    finding = found(tail_effect, facts)
    assert finding
    assert finding.message == (
        "the last of 3 waves of blocks fills 5 % of the places for blocks: multiprocessors have few warps then, and "
        "rest 5 % of the time on average"
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"waves_per_sm": 1.0},  # one wave has no last one
        {"waves_per_sm": 3.0},  # full
        {"waves_per_sm": 80.05},  # one of many
        {"sm_cycles_active": 98},  # nobody rested
        {"dram_throughput": 89},  # those that work get all of DRAM
    ],
)
def test_silent_where_it_costs_nothing(changes: Counters) -> None:
    assert found(tail_effect, made(TAIL | changes)) is None


@pytest.mark.parametrize("case", ["tail_after_many_waves", "traffic_small_halo", "healthy_stencil"])
def test_silent_on_recorded_kernels_with_many_waves(case: str) -> None:
    assert found(tail_effect, of_case(case)) is None


def test_without_the_longest_multiprocessor_the_shape_and_the_rest_of_the_mean_bound_it() -> None:
    finding = found(tail_effect, without(made(TAIL), "sm_cycles_active_max"))
    assert finding
    assert finding.assumed
    assert "up to 29 %" in finding.message  # of 32 by the shape: the start is no rest
    shape_alone = {"waves_per_sm": 1.1}
    bare = found(tail_effect, made(shape_alone))
    assert bare
    assert bare.saved_ns == pytest.approx(0.45 * 100_000)


def test_says_what_it_lacks() -> None:
    assert missing(tail_effect, made({})) == ("waves_per_sm",)
