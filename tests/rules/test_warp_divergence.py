"""warp-divergence: idle lanes where instructions take the time."""

from __future__ import annotations

import pytest
from shape_facts import Counters, found, made, missing, of_case, saved_share, without

from ncu_assist.rules import warp_divergence

APART: Counters = {"threads_per_instruction": 8, "issue_slots_busy": 60, "divergent_branches": 1000}


def test_recorded_work_of_the_first_lane() -> None:
    finding = found(warp_divergence, of_case("divergence_first_lane"))
    assert finding
    assert finding.waste == "divergence"
    assert 1 / (1 - saved_share(warp_divergence, of_case("divergence_first_lane"))) == pytest.approx(1.81, rel=0.2)


def test_saves_idle_lanes_times_issue_time() -> None:
    assert saved_share(warp_divergence, made(APART, long_scoreboard=95)) == pytest.approx(0.75 * 0.6)


def test_states_about_instructions_count_where_slots_are_free() -> None:
    slow = APART | {"issue_slots_busy": 10}
    assert saved_share(warp_divergence, made(slow, wait=50, branch_resolving=30, long_scoreboard=15)) == pytest.approx(
        0.75 * 0.85
    )


def test_part_filled_warps_are_told_apart() -> None:
    finding = found(warp_divergence, made(APART | {"divergent_branches": 0, "block_size": 8}))
    assert finding
    assert finding.message.endswith("because a block has 8 threads")
    whole = found(warp_divergence, made(APART | {"divergent_branches": 0, "block_size": 64}))
    assert whole
    assert "no branch diverges" in whole.message
    untold = found(
        warp_divergence,
        made({key: value for key, value in APART.items() if key != "divergent_branches"} | {"block_size": 64}),
    )
    assert untold
    assert untold.message.endswith("why is not known, as its branches were not counted")


@pytest.mark.parametrize(
    "changes",
    [
        {"threads_per_instruction": 31.9},
        {"issue_slots_busy": 2},  # memory takes the time
    ],
)
def test_silent_where_lanes_cost_nothing(changes: Counters) -> None:
    assert found(warp_divergence, made(APART | changes, long_scoreboard=99)) is None


def test_dram_at_its_ceiling_leaves_nothing_to_win() -> None:
    assert saved_share(warp_divergence, made(APART | {"dram_throughput": 91})) == 0


def test_what_feeds_busy_tensor_cores_from_one_lane_costs_nothing() -> None:
    fed = {"pipe_tensor_cycles": 95, "sm_cycles_active": 1e5, "sm_cycles_elapsed": 1e5}
    assert found(warp_divergence, made(APART | fed)) is None
    assert found(warp_divergence, made(APART | fed | {"pipe_tensor_cycles": 20}))


def test_conflicts_cost_more_than_a_short_branch() -> None:
    assert found(warp_divergence, of_case("compound_conflicts_and_divergence")) is None


def test_says_what_it_lacks() -> None:
    facts = without(made(APART), "threads_per_instruction")
    assert missing(warp_divergence, facts)[:2] == ("threads_per_instruction", "block_size")


def test_a_block_of_one_thread_has_idle_lanes_whatever_was_counted() -> None:
    finding = found(warp_divergence, made({"block_size": 1, "issue_slots_busy": 50}))
    assert finding
    assert "1.0 of 32 lanes" in finding.message
    assert found(warp_divergence, made({"block_size": 128, "issue_slots_busy": 50})) is None


def test_passes_that_idle_lanes_leave_part_filled_go_with_them() -> None:
    """One pass an access goes with the lanes; where it takes several, all but one are there for its lanes."""
    memory = {"l1_data_pipe": 80, "sm_cycles_elapsed": 1e6, "sm_count": 100}
    half = APART | memory | {"threads_per_instruction": 16, "issue_slots_busy": 90}
    each, four = (half | {"shared_load_instructions": count} for count in (80e6, 20e6))
    assert saved_share(warp_divergence, made(each)) == pytest.approx(0.5 * 0.9)
    assert saved_share(warp_divergence, made(four)) == pytest.approx(1 - 80 / 90 * (1 - 0.5 / 4))


def test_lanes_that_lost_no_swap_and_wait_for_those_that_did_are_contention() -> None:
    swapping = APART | {"instructions": 100e6, "shared_atomics": 10e6, "shared_load_instructions": 11e6}
    assert saved_share(warp_divergence, made(swapping)) == pytest.approx(0.75 * (1 - 5 * 0.1) * 0.6)
    integers = swapping | {"shared_load_instructions": 1e6}
    assert saved_share(warp_divergence, made(integers)) == pytest.approx(0.75 * 0.6)


def test_a_lane_that_commands_tma_in_time_costs_nothing() -> None:
    """2e6 instructions of single lanes, 4 cycles each, on 100 SMs of 1e6 cycles: 8 % of the time."""
    commands = APART | {"instructions": 2e6 * 31 / 24, "tma_loads": 1e5, "sm_cycles_elapsed": 1e6, "sm_count": 100}
    assert found(warp_divergence, made(commands | {"l1_fill_busy": 33})) is None
    assert found(warp_divergence, made(commands | {"l1_fill_busy": 5}))  # small copies: they wait for the commands
    assert found(warp_divergence, made(commands | {"l1_fill_busy": 33, "tma_loads": 0}))
    assert found(warp_divergence, made(commands | {"l1_fill_busy": 33, "instructions": 2e7}))


@pytest.mark.parametrize(
    ("threads", "waves", "share"),
    [
        (1, 1000, 1 - 1 / 32),
        (24, 1000, 8 / 32),
        (1, 4, 1 - 1 / 4),  # the warps of a wave run at once: fewer of them end no sooner
        (1, 0.5, 0.1 * 31 / 32),  # only the issue slots have less to do
    ],
)
def test_waits_go_with_the_warps_that_short_blocks_do_not_fill(threads: int, waves: float, share: float) -> None:
    """A public kernel of 16 million blocks of a thread was told that 31 idle lanes cost it 4 % of the time."""
    counted: Counters = {"threads_per_instruction": threads, "block_size": threads, "issue_slots_busy": 10}
    facts = made(counted | {"waves_per_sm": waves}, long_scoreboard=99)
    assert saved_share(warp_divergence, facts) == pytest.approx(share, rel=0.02)
    finding = found(warp_divergence, facts)
    assert finding
    assert finding.advice.startswith("use blocks of whole warps") == (waves > 1)
