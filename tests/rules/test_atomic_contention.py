"""Atomics that wait for each other, in global and in shared memory."""

from __future__ import annotations

import pytest
from made_facts import gallery, made, told

from ncu_assist.rules import atomic_contention


@pytest.mark.parametrize(
    ("case", "where"), [("atomic_global_tickets", "global memory"), ("atomic_shared_bins", "shared memory")]
)
def test_fires(case: str, where: str) -> None:
    (ranked,) = told(atomic_contention, gallery(case)).findings
    assert where in ranked.finding.message
    assert ranked.severity == "high"


def test_the_estimate_of_shared_bins_is_near_what_the_fix_won() -> None:
    (ranked,) = told(atomic_contention, gallery("atomic_shared_bins")).findings
    assert ranked.estimated_speedup == pytest.approx(30.3 / 21.15, rel=0.2)


@pytest.mark.parametrize("case", ["atomic_shared_bins_fix", "healthy_sum", "occupancy_low_at_ceiling", "host_read"])
def test_does_not_fire(case: str) -> None:
    assert atomic_contention.find(gallery(case)) is None


def test_few_atomics_cannot_cost_more_than_one_by_one() -> None:
    found = atomic_contention.find(gallery("atomic_global_tickets", l2_sectors_atomic=20_000.0))
    assert found is not None
    assert found.saved_ns < 40_000
    assert atomic_contention.find(gallery("atomic_global_tickets", l2_sectors_atomic=1_000.0)) is None


def test_what_waits_behind_atomics_in_their_queue_is_theirs_while_shared_memory_rests() -> None:
    counters = {
        "global_reduction_requests": 5e4, "global_load_requests": 5e4, "shared_atomics": 0.0, "achieved_warps": 50.0,
        "l2_sectors_reduction": 1e7, "sm_count": 132.0, "l2_clock": 1.5e9, "global_atomic_requests": 0.0,
        "sm_cycles_active": 1000.0, "sm_cycles_elapsed": 1000.0,
    }  # fmt: skip
    half = counters | {"warps_long_scoreboard": 50.0, "warps_short_scoreboard": 50.0}
    cases = (counters | {"warps_long_scoreboard": 100.0}, half, half | {"l1_data_pipe": 90.0})
    waits, behind, shared = (atomic_contention.find(made(**some)) for some in cases)
    assert waits is not None
    assert behind is not None
    assert shared is not None
    assert behind.saved_ns == pytest.approx(waits.saved_ns)
    assert shared.saved_ns < 0.55 * waits.saved_ns
    assert waits.evidence[0] == "global_reduction_requests"  # whose result nobody waits for; of the other kind are none


def test_beside_a_dram_that_rests_the_normal_wait_is_short() -> None:
    """What atomics leave is the wait of loads: 0.5 µs where DRAM rests, three times as long at its ceiling."""
    counters = {
        "global_reduction_requests": 5e4, "global_load_requests": 5e4, "shared_atomics": 0.0, "achieved_warps": 50.0,
        "l2_sectors_reduction": 1e7, "sm_count": 132.0, "l2_clock": 1.5e9, "global_atomic_requests": 0.0,
        "sm_cycles_active": 1000.0, "sm_cycles_elapsed": 1000.0, "warps_long_scoreboard": 100.0,
    }  # fmt: skip
    each = 50.0 * 132 * 100_000 / 1e5  # ns a request: 6.6 µs
    for dram, normal in (0.0, 500.0), (100.0, 1500.0):
        found = atomic_contention.find(made(**counters, dram_throughput=dram))
        assert found is not None
        assert found.saved_ns == pytest.approx((1 - 0.5 * normal / each) * 100_000)


def test_a_loop_of_compare_and_swap_counts_its_loads() -> None:
    waits = {"warps_short_scoreboard": 60.0, "warps_mio_throttle": 20.0}
    facts = gallery("atomic_shared_bins_fix", **waits, shared_atomics=1e6, shared_load_instructions=1e6)
    assert atomic_contention.find(facts) is not None
    loads = gallery("atomic_shared_bins_fix", **waits, shared_atomics=1e4, shared_load_instructions=1e6)
    assert atomic_contention.find(loads) is None


def test_without_its_metrics_it_cannot_answer() -> None:
    (silent,) = told(atomic_contention, gallery("atomic_shared_bins", without=("shared_atomics",))).unanswered
    assert silent.missing == ("shared_atomics",)
