"""More bytes than the work needs: chains, and what is not redundant although it is more."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_facts import gallery, made, told
from shape_facts import made as chain

from ncu_assist.ceilings.chips import SECTOR_BYTES
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


def test_a_unit_is_spared_only_its_own_part_of_the_surplus() -> None:
    """Twenty times the sectors at L2 for other reasons: the surplus at an idle DRAM is not why L2 is busy."""
    usual = gallery("traffic_chain")
    many = {key: 20 * usual.value(key) for key in ("l2_sectors_sm", "l2_sectors_read")}
    facts = gallery("traffic_chain", dram_throughput=15.0, l2_tags_busy=85.0, **many)
    (found,) = told(rule, facts).findings
    assert 1.0 < found.estimated_speedup < 1.15
    assert rule.left_by_unit(rule.redundant_bytes(facts), facts)["L2 tags"] > 0.95


def test_the_neighbours_of_scattered_sectors_are_not_redundant() -> None:
    """As in a permutation: L2 is asked for 16.8 million sectors that stand alone, DRAM reads twice as many."""
    reads, requests = 16_777_216, 524_288
    scattered = {
        "dram_bytes_read": 2.0 * reads * SECTOR_BYTES, "dram_bytes_write": 67e6, "dram_throughput": 60.0,
        "global_load_requests": requests, "global_load_sectors": reads, "bytes_per_sector_load": 4.0,
        "global_store_requests": requests, "global_store_sectors": 4 * requests, "bytes_per_sector_store": 32.0,
        "l1_hit_rate_load": 0.0, "global_sectors_excessive": 28 * requests, "l2_sectors_sm": reads + 4 * requests,
    }  # fmt: skip
    facts = replace(chain(scattered), algorithmic_bytes=134_217_728)
    assert facts.value("sectors_per_request_load_ideal") == 4.0
    assert rule.redundant_bytes(facts) == 0
    assert told(rule, facts).findings == ()


@pytest.mark.parametrize(
    ("read", "written", "heads"), [(1e9, 1e8, {"LDG"}), (1e8, 1e9, {"STG"}), (6e8, 5e8, {"LDG", "STG"})]
)
def test_lines_are_of_the_way_that_must_be_most_of_the_surplus(read: float, written: float, heads: set[str]) -> None:
    moved = {"dram_bytes_read": read, "dram_bytes_write": written, "dram_throughput": 85.0, "l2_sectors_sm": 4e7}
    (found,) = told(rule, replace(chain(moved), algorithmic_bytes=300_000_000)).findings
    assert found.finding.about & {"LDG", "STG"} == heads


def test_without_the_bytes_of_the_work_nothing_is_said() -> None:
    assert told(rule, replace(gallery("traffic_chain"), algorithmic_bytes=None)).findings == ()


def test_without_counters_it_says_what_it_lacks() -> None:
    assert told(rule, made()).unanswered[0].missing == rule.NEEDS


def test_advice_is_about_the_order_of_blocks_where_they_share_what_comes() -> None:
    """One launch whose SMs read from L2 what DRAM brings once, or more often; several launches can be fused."""
    moved = {"dram_bytes_read": 1e9, "dram_bytes_write": 1e8, "dram_throughput": 85.0, "l2_sectors_sm": 4e7}
    for times, advice in ((1.0, rule.ON_CHIP), (2.5, rule.IN_ORDER)):
        one = chain(moved | {"l2_sectors_read": times * 1e9 / SECTOR_BYTES})
        (found,) = told(rule, replace(one, algorithmic_bytes=300_000_000)).findings
        assert found.finding.advice == advice
        assert ("; L2 delivers it 2.5 times on average" in found.finding.message) == (times > 2)
    (chained,) = told(rule, gallery("traffic_chain")).findings
    assert chained.finding.advice.startswith("fuse launches, or ")
