"""More bytes than the work needs: chains, and what is not redundant although it is more."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_facts import gallery, made, told

from ncu_assist.rules import redundant_traffic as rule


def test_three_launches_move_three_times_the_bytes() -> None:
    (found,) = told(rule, gallery("traffic_chain")).findings
    assert found.severity == "high"
    assert "1.54 GB where the work needs 537 MB" in found.finding.message
    assert not found.finding.assumed
    assert found.estimated_speedup == pytest.approx(3.05, rel=0.28)  # measured; the logarithm within 0.25


def test_what_may_have_stayed_in_l2_is_an_upper_bound() -> None:
    facts = gallery("traffic_chain")
    moved = facts.value("dram_bytes_read") + facts.value("dram_bytes_write")
    (found,) = told(rule, replace(facts, algorithmic_bytes=int(moved - 150e6))).findings
    assert found.finding.assumed
    assert "upper bound" in found.finding.message


@pytest.mark.parametrize("name", ["load_struct_member", "store_struct_member", "traffic_small_halo", "healthy_stencil"])
def test_wasted_sectors_and_halos_are_not_redundant(name: str) -> None:
    assert [one.severity for one in told(rule, gallery(name)).findings if one.severity != "info"] == []


def test_without_the_bytes_of_the_work_nothing_is_said() -> None:
    assert told(rule, replace(gallery("traffic_chain"), algorithmic_bytes=None)).findings == ()


def test_without_counters_it_says_what_it_lacks() -> None:
    assert told(rule, made()).unanswered[0].missing == rule.NEEDS
