"""L1 at its limit through loads that hit: not shuffles, not spills, not beside DRAM, not uncoalesced."""

from __future__ import annotations

import pytest
from made_facts import gallery, made, told

from ncu_assist.rules import l1_bound as rule


def test_a_load_for_each_sum_keeps_l1_busy() -> None:
    (found,) = told(rule, gallery("l1_column_filter")).findings
    assert found.severity == "high"
    assert found.finding.detail == {"pipe": "lsu"}
    assert found.estimated_speedup == pytest.approx(2.56, rel=0.28)  # measured; the logarithm within 0.25


@pytest.mark.parametrize(
    "name",
    ["pipe_lsu_shuffles", "local_stack", "tensor_straight_from_global", "healthy_float_product", "shared_stride_of_16"],
)
def test_l1_busy_with_something_else_is_no_lack_of_registers(name: str) -> None:
    assert told(rule, gallery(name)).findings == ()


def test_reuse_beside_dram_costs_nothing() -> None:
    assert told(rule, gallery("l1_column_filter", dram_throughput=86.0)).findings == ()


def test_loads_that_miss_cannot_be_kept() -> None:
    assert told(rule, gallery("l1_column_filter", l1_hit_rate_load=40.0)).findings == ()


def test_without_counters_it_says_what_it_lacks() -> None:
    assert told(rule, made()).unanswered[0].missing == rule.NEEDS
    silent = told(rule, gallery("l1_column_filter", without=("l1_hit_rate_load",)))
    assert [one.missing for one in silent.unanswered] == [("l1_hit_rate_load",)]
