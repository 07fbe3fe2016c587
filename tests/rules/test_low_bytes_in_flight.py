"""Too few bytes under way: not at DRAM's ceiling, not where warps are missing, not where a cache answers."""

from __future__ import annotations

from typing import Any

import pytest
from made_facts import gallery, made, told

from ncu_assist.rules import Facts
from ncu_assist.rules import low_bytes_in_flight as rule
from ncu_assist.rules.model.dram import fill

CASE = "flight_halves_one_by_one"


def test_halves_one_by_one_leave_dram_waiting() -> None:
    (found,) = told(rule, gallery(CASE)).findings
    assert found.severity == "high"
    assert found.finding.assumed
    assert "where 49 kB fill it" in found.finding.message
    assert found.estimated_speedup == pytest.approx(1.91, rel=0.28)  # measured; the logarithm within 0.25


@pytest.mark.parametrize("name", ["healthy_sum", "occupancy_low_at_ceiling", "flight_halves_one_by_one_fix"])
def test_waits_at_the_ceiling_are_no_fault(name: str) -> None:
    assert gallery(name).stall("long_scoreboard") > 50
    assert told(rule, gallery(name)).findings == ()


@pytest.mark.parametrize(
    "name",
    ["occupancy_registers", "occupancy_shared", "occupancy_eight_quads", "underfill_block_a_row", "l2_sweep_a_sum"],
)
def test_missing_warps_and_caches_have_rules_of_their_own(name: str) -> None:
    assert told(rule, gallery(name)).findings == ()


def test_bulk_copies_have_too_few_stages_by_the_rate_that_they_bring() -> None:
    """The counter shows too little for DRAM's rate, and a life is too long to tell: the rate itself is left."""
    long_life = {"l2_sectors_read": 4e6 * 6}
    copied = {"tma_load_bytes": 0.9 * 32 * 4e6 * 6}
    assert told(rule, unseen(**long_life)).findings == ()
    (found,) = told(rule, unseen(**long_life, **copied)).findings
    assert "copies of at least 2.2 kB under way" in found.finding.message
    assert "stages" in found.finding.advice
    assert told(rule, unseen(**long_life, **copied, dram_throughput=93.0)).findings == ()
    assert told(rule, unseen(**long_life, tma_load_bytes=0.1 * copied["tma_load_bytes"])).findings == ()


def test_loads_that_something_before_dram_holds_up_are_not_dram_s() -> None:
    """Half the bytes under way that DRAM needs bring half its rate; where they bring 5 %, DRAM is not what is slow."""
    facts = gallery(CASE)
    assert facts.bytes_needed_in_flight
    part = facts.value("bytes_in_flight") / facts.bytes_needed_in_flight
    assert told(rule, gallery(CASE, dram_throughput=100 * part)).findings
    assert told(rule, gallery(CASE, dram_throughput=10 * part)).findings == ()


def test_a_warp_that_asks_for_its_part_is_not_what_is_missing() -> None:
    assert told(rule, gallery(CASE, achieved_occupancy=8.0)).findings == ()  # a request is 1/12 of a warp's part
    assert told(rule, gallery(CASE, achieved_occupancy=9.0)).findings


def test_at_least_as_many_bytes_are_asked_for_as_the_rate_of_dram_lacks() -> None:
    """3.74 kB are a thirteenth of what DRAM needs, and a lower bound: by its rate DRAM has half of what it needs."""
    (found,) = told(rule, gallery(CASE)).findings
    words, times, *_ = found.finding.figures.removeprefix("at ").split()
    assert words == "least"
    assert float(times) == pytest.approx(1 / fill(gallery(CASE)), abs=0.005)
    assert float(times) >= found.estimated_speedup
    assert "times as many bytes at once, by the rate of DRAM" in found.finding.figures


def test_bytes_shown_that_ask_for_less_than_the_rate_are_said_as_about() -> None:
    facts = gallery(CASE)
    assert facts.bytes_needed_in_flight
    times = 0.8 / fill(facts)
    more = facts.bytes_needed_in_flight / times / facts.value("bytes_in_flight")
    changed = gallery(CASE, warps_long_scoreboard=more * facts.value("warps_long_scoreboard"), achieved_occupancy=99.0)
    (found,) = told(rule, changed).findings
    assert f"about {times:.1f} times as many bytes at once" in found.finding.figures
    assert "by the rate of DRAM" not in found.finding.figures


@pytest.mark.parametrize(("sectors", "wider"), [(15.0, True), (16.0, False)])
def test_who_loads_16_bytes_already_is_not_told_to(sectors: float, wider: bool) -> None:
    requests = gallery(CASE).value("global_load_sectors") / sectors
    (found,) = told(rule, gallery(CASE, global_load_requests=requests, warps_long_scoreboard=6.0)).findings
    assert ("load 16 bytes at a time" in found.finding.advice) == wider
    assert "several values before the first is used" in found.finding.advice


def test_a_counter_below_what_the_rate_needs_cannot_tell() -> None:
    """716 B an SM at more than a terabyte a second would be loads of a few nanoseconds."""
    facts = gallery(CASE)
    rate = facts.value("dram_bytes_read") / facts.duration_ns * rule.LATENCY_NS / facts.value("sm_count")
    assert rate < facts.value("bytes_in_flight")
    seen = facts.value("warps_long_scoreboard") * 0.9 * rate / facts.value("bytes_in_flight")
    assert told(rule, gallery(CASE, warps_long_scoreboard=seen)).findings == ()


# One load of a float a thread, 48 warps an SM: a life reads 128 bytes, 6 KiB are under way at most.
ONE_LOAD = {"warps_long_scoreboard": 28.0, "achieved_warps": 48.0, "l2_sectors_read": 4e6, "threads": 32e6}


def unseen(**changed: Any) -> Facts:
    """Return a kernel of whose loads the counter shows 2.0 kB an SM, where DRAM's rate takes 2.2."""
    return gallery(CASE, **{**ONE_LOAD, **changed})


def test_what_warps_read_in_their_whole_life_is_the_most_under_way() -> None:
    assert unseen().value("bytes_in_flight") < rule._least(unseen())
    (found,) = told(rule, unseen()).findings
    assert found.severity == "high"
    assert "loads of at most 6.1 kB under way on an SM, where 49 kB fill it" in found.finding.message
    assert set(rule.OF_MOST) < set(found.finding.evidence)


@pytest.mark.parametrize(
    "changed",
    [
        {"l2_sectors_read": 4e6 * 6},  # a life reads as much as a warp's part of what DRAM needs, 768 bytes
        {
            "achieved_warps": 20.0,
            "achieved_occupancy": 15.0,
        },  # warps lack more than a warp, which has a sixth of its part
        {"achieved_warps": 10.0},  # 1,280 bytes at most do not allow DRAM's rate: most warps ended at once
    ],
)
def test_where_more_may_be_under_way_nothing_is_said(changed: dict[str, float]) -> None:
    assert told(rule, unseen(**changed)).findings == ()


@pytest.mark.parametrize("key", rule.OF_MOST)
def test_without_the_counters_of_the_bound_nothing_is_said(key: str) -> None:
    assert told(rule, gallery(CASE, without=(key,), **ONE_LOAD)).findings == ()


def test_it_says_that_the_bytes_are_a_lower_bound() -> None:
    (found,) = told(rule, gallery(CASE)).findings
    assert "at least" in found.finding.message


def test_loads_that_a_cache_answers_do_not_wait_for_dram() -> None:
    assert told(rule, gallery(CASE, dram_bytes_read=0.7 * 134e6)).findings == ()


def test_without_counters_it_says_what_it_lacks() -> None:
    assert told(rule, made()).unanswered[0].missing == rule.NEEDS
