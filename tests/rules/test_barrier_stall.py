"""barrier-stall: waits at barriers that no other work covers."""

from __future__ import annotations

import pytest
from made_facts import told
from shape_facts import Counters, found, made, missing, of_case, saved_share, without

from ncu_assist.rules import barrier_stall

BARRIERS: Counters = {"warps_barrier": 60, "warps_selected": 1, "barriers": 1, "block_size": 1024, "dram_throughput": 0}

CYCLES: Counters = {"sm_cycles_active": 1000, "sm_cycles_elapsed": 1000, "sm_count": 1, "instructions": 3200}


# Thirty warps, each at a barrier after every ten instructions; they fill most issue slots.
STEPS: Counters = {
    "sm_cycles_active": 1000, "sm_cycles_elapsed": 1000, "sm_count": 1, "threads": 30 * 32,
    "instructions": 3000, "issue_slots_busy": 75, "pipe_adu": 60, "dram_throughput": 0, "warps_barrier": 30,
}  # fmt: skip


def test_recorded_barriers_at_every_step() -> None:
    (ranked,) = told(barrier_stall, of_case("barrier_every_step")).findings
    assert ranked.finding.stalls == ("barrier",)
    assert "one every 11 instructions" in ranked.finding.message
    assert "shuffles" in ranked.finding.advice
    # the repaired kernel took 77.98 µs instead of 314.38: the estimate must be near
    assert ranked.estimated_speedup == pytest.approx(314.38 / 77.98, rel=0.15)


def test_steps_that_set_the_pace_go_but_for_a_shuffle_and_a_sum() -> None:
    left = 0.75 / 0.9 * 0.2
    assert saved_share(barrier_stall, made(STEPS, barrier=30)) == pytest.approx(1 - left, abs=0.03)
    behind = made(STEPS | {"dram_throughput": 45}, barrier=30)
    assert 0.4 < saved_share(barrier_stall, behind) <= 0.5


def test_waits_for_memory_stay_where_steps_go() -> None:
    """Of a warp's time at no barrier a fifth goes with loads: so does a fifth of the time that others wait for it."""
    shuffled = STEPS | {"pipe_lsu": 60, "warps_barrier": 0}  # two a barrier: of ten instructions four go
    steps = 0.4 * 0.75
    assert saved_share(barrier_stall, made(shuffled, barrier=20)) == pytest.approx(0.2 + steps, abs=0.01)
    loading = made(shuffled, barrier=20, long_scoreboard=16)
    assert saved_share(barrier_stall, loading) == pytest.approx(0.2 * (1 - 0.16 / 0.8) + steps, abs=0.01)


def test_steps_are_of_warps_that_wait_for_barriers_most() -> None:
    finding = found(barrier_stall, made(STEPS, barrier=25, wait=40))
    assert finding
    assert finding.saved_ns <= 0.25 * 100_000


@pytest.mark.parametrize(
    "changes",
    [
        {"issue_slots_busy": 35, "pipe_adu": 28, "instructions": 1400},  # warps wait for a slow one
        {"threads": 100 * 32},  # three barriers a warp
        {"instructions": 12_000},  # most of them are no steps
        {"constant_requests": 200},  # half of what the ADU pipe did
        {"pipe_lsu": 80},  # nearly three shuffles a barrier
    ],
)
def test_elsewhere_only_the_waits_go(changes: Counters) -> None:
    finding = found(barrier_stall, made(STEPS | changes, barrier=30))
    assert finding
    assert finding.saved_ns <= 0.3 * 100_000
    assert "instructions" not in finding.message


def test_accesses_whose_lanes_are_switched_off_are_no_shuffles() -> None:
    off = {"pipe_lsu": 80, "threads_per_instruction": 32, "threads_per_instruction_predicated": 20}
    finding = found(barrier_stall, made(STEPS | off, barrier=30))
    assert finding
    assert "instructions" in finding.message


def test_saves_the_waits_as_far_as_nothing_else_is_busy() -> None:
    assert saved_share(barrier_stall, made(BARRIERS, barrier=60)) == pytest.approx(0.6)
    assert saved_share(barrier_stall, made(BARRIERS | {"l1_data_pipe": 45}, barrier=60)) == pytest.approx(0.3)


def test_issue_slots_of_the_steps_do_not_bound_it() -> None:
    """A barrier in ten instructions takes them with it; one in 400 leaves the work between as it is."""
    often = BARRIERS | CYCLES | {"issue_slots_busy": 80, "pipe_adu": 64}
    assert saved_share(barrier_stall, made(often, barrier=60)) == pytest.approx(0.6)
    assert saved_share(barrier_stall, made(BARRIERS | {"issue_slots_busy": 80}, barrier=60)) == pytest.approx(0.6)
    seldom = BARRIERS | CYCLES | {"issue_slots_busy": 80, "pipe_adu": 1.6}
    kept = 1 - 10 * 0.016 * 0.5 / (0.8 * 4)
    assert saved_share(barrier_stall, made(seldom, barrier=60)) == pytest.approx(0.6 * (1 - kept * 0.8 / 0.9), rel=0.05)


def test_the_pipe_that_carries_barriers_out_does_not_bound_it() -> None:
    finding = found(barrier_stall, made(BARRIERS | CYCLES | {"pipe_adu": 85}, barrier=60))
    assert finding
    assert "ADU pipe" in finding.relieves


@pytest.mark.parametrize(("blocks", "share"), [(1, 0.6), (10, 0.06), (5, 0.12), (None, 0.06)])
def test_where_the_longest_sm_was_not_counted_waits_are_of_the_mean_with_a_block(
    blocks: int | None, share: float
) -> None:
    """A block of a public report: its SM works 2,000 of 3,170 cycles, which is 4.5 % of all fourteen."""
    counted: Counters = BARRIERS | {"sm_count": 10, "sm_cycles_active": 100, "sm_cycles_elapsed": 1000}
    counted |= {"grid_size": blocks} if blocks else {}
    assert saved_share(barrier_stall, made(counted, barrier=60)) == pytest.approx(share)
    assert saved_share(barrier_stall, made(counted | {"sm_cycles_active_max": 500}, barrier=60)) == pytest.approx(0.3)


@pytest.mark.parametrize("changes", [{"dram_throughput": 91}, {"l1_data_pipe": 90}])
def test_silent_behind_a_resource_at_its_limit(changes: Counters) -> None:
    assert found(barrier_stall, made(BARRIERS | changes, barrier=30)) is None


@pytest.mark.parametrize("case", ["healthy_tensor_rate", "healthy_softmax", "healthy_float_product", "healthy_sum"])
def test_silent_on_recorded_kernels_with_barriers_that_cost_nothing(case: str) -> None:
    assert found(barrier_stall, of_case(case)) is None


def test_says_what_it_lacks() -> None:
    assert missing(barrier_stall, without(of_case("barrier_every_step"), "warps_barrier")) == ("warps_barrier",)
