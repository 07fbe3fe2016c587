"""L2 at its limit with what it has: not spills, not beside DRAM, not wasted sectors."""

from __future__ import annotations

import pytest
from made_facts import gallery, made, told

from ncu_assist.rules import l2_bound as rule


def test_sweeps_over_a_table_keep_l2_busy() -> None:
    (found,) = told(rule, gallery("l2_sweep_a_sum")).findings
    assert found.severity == "high"
    assert found.estimated_speedup == pytest.approx(3.0, rel=0.28)  # measured; the logarithm within 0.25


@pytest.mark.parametrize("name", ["spill_asked_occupancy", "local_stack", "load_struct_member", "healthy_add"])
def test_spills_waste_and_dram_have_rules_of_their_own(name: str) -> None:
    assert told(rule, gallery(name)).findings == ()


def test_hits_beside_dram_cost_nothing() -> None:
    assert told(rule, gallery("l2_sweep_a_sum", dram_throughput=86.0)).findings == ()


def test_wasted_sectors_are_not_the_limit_of_l2() -> None:
    assert told(rule, gallery("l2_sweep_a_sum", bytes_per_sector_load=8.0, global_sectors_excessive=1e6)).findings == ()


def test_without_counters_it_says_what_it_lacks() -> None:
    assert told(rule, made()).unanswered[0].missing == rule.NEEDS
