"""Too few bytes under way: not at DRAM's ceiling, not where warps are missing, not where a cache answers."""

from __future__ import annotations

import pytest
from made_facts import gallery, made, told

from ncu_assist.rules import low_bytes_in_flight as rule

CASE = "flight_halves_one_by_one"


def test_halves_one_by_one_leave_dram_waiting() -> None:
    (found,) = told(rule, gallery(CASE)).findings
    assert found.severity == "high"
    assert found.finding.assumed
    assert "49.2 kB" in found.finding.message
    assert found.estimated_speedup == pytest.approx(1.91, rel=0.28)  # measured; the logarithm within 0.25


@pytest.mark.parametrize("name", ["healthy_sum", "occupancy_low_at_ceiling", "flight_halves_one_by_one_fix"])
def test_waits_at_the_ceiling_are_no_fault(name: str) -> None:
    assert gallery(name).stall("long_scoreboard") > 50
    assert told(rule, gallery(name)).findings == ()


@pytest.mark.parametrize("name", ["occupancy_registers", "occupancy_shared", "underfill_block_a_row", "l2_sweep_a_sum"])
def test_missing_warps_and_caches_have_rules_of_their_own(name: str) -> None:
    assert told(rule, gallery(name)).findings == ()


def test_a_warp_that_asks_for_its_part_is_not_what_is_missing() -> None:
    assert told(rule, gallery(CASE, achieved_occupancy=8.0)).findings == ()  # a request is 1/12 of a warp's part
    assert told(rule, gallery(CASE, achieved_occupancy=9.0)).findings


def test_a_counter_below_what_the_rate_needs_cannot_tell() -> None:
    """716 B an SM at more than a terabyte a second would be loads of a few nanoseconds."""
    facts = gallery(CASE)
    rate = facts.value("dram_bytes_read") / facts.duration_ns * rule.LATENCY_NS / facts.value("sm_count")
    assert rate < facts.value("bytes_in_flight")
    seen = facts.value("warps_long_scoreboard") * 0.9 * rate / facts.value("bytes_in_flight")
    assert told(rule, gallery(CASE, warps_long_scoreboard=seen)).findings == ()


def test_it_says_that_the_bytes_are_a_lower_bound() -> None:
    (found,) = told(rule, gallery(CASE)).findings
    assert "at least" in found.finding.message


def test_loads_that_a_cache_answers_do_not_wait_for_dram() -> None:
    assert told(rule, gallery(CASE, dram_bytes_read=0.7 * 134e6)).findings == ()


def test_without_counters_it_says_what_it_lacks() -> None:
    assert told(rule, made()).unanswered[0].missing == rule.NEEDS
