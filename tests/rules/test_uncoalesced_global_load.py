"""Wasted sectors of loads: where they cost time, where L1 or a broadcast makes them harmless, and what is missing."""

from __future__ import annotations

import pytest
from made_facts import gallery, made, told

from ncu_assist.rules import uncoalesced_global_load as rule
from ncu_assist.rules.model.resources import DRAM_ROWS
from ncu_assist.rules.model.traffic import left_without, uncoalesced, wasted_by_loads


@pytest.mark.parametrize("name", ["load_struct_member", "compound_strided_and_conflicts"])
def test_a_member_of_every_struct_costs_most_of_the_time(name: str) -> None:
    (found,) = told(rule, gallery(name)).findings
    assert found.severity == "high"
    assert found.finding.waste == "sectors_excessive"
    assert "32.0 sectors where its bytes need 4.0" in found.finding.message


def test_the_estimate_is_near_the_time_that_the_repair_took() -> None:
    (found,) = told(rule, gallery("load_struct_member")).findings
    assert found.estimated_speedup == pytest.approx(2.8, rel=0.4)  # measured; the repair is bound otherwise


@pytest.mark.parametrize("name", ["healthy_add", "healthy_stencil", "store_struct_member", "traffic_small_halo"])
def test_loads_side_by_side_are_no_fault(name: str) -> None:
    assert told(rule, gallery(name)).findings == ()


def test_sectors_that_are_told_to_differ_do_so_in_print() -> None:
    facts, wasted = (
        gallery("load_struct_member", bytes_per_sector_load=31.96),
        wasted_by_loads(gallery("load_struct_member")),
    )
    found = uncoalesced(rule.ID, "load", wasted, facts, (), (), "")
    assert found
    assert found.message == "a global load touches 32.00 sectors where its bytes need 31.96"


def test_what_l1_finds_again_costs_nothing_beside_dram() -> None:
    facts = gallery("load_struct_member", l1_hit_rate_load=87.5)
    assert wasted_by_loads(facts).l1 > 0
    assert wasted_by_loads(facts).l2 == 0
    assert told(rule, facts).findings == ()


def test_sectors_that_no_address_explains_are_no_waste() -> None:
    """4.6 sectors a request where 4.0 are needed, and none excessive: requests that L1 took apart."""
    facts = gallery("load_struct_member", global_sectors_excessive=0.0)
    assert wasted_by_loads(facts).l2 == 0
    assert told(rule, facts).findings == ()


def test_requests_of_whole_lines_leave_tags_and_the_way_in_to_others() -> None:
    """Every sector is asked for alone, a tag each; side by side four of them are one request."""
    facts = gallery("load_struct_member", l2_tags_busy=60.0, l2_lookups_busy=20.0)
    left = left_without(wasted_by_loads(facts), facts)
    assert left["L2 tags"] == left["L2 input"] < left["L2 lookups"]
    told = gallery("load_struct_member", l2_tags_busy=60.0, l2_lookups_busy=60.0)  # three sectors a tag
    assert left["L2 tags"] < left_without(wasted_by_loads(told), told)["L2 tags"]
    unknown = gallery("load_struct_member", without=("l2_tags_busy",))
    assert wasted_by_loads(unknown).requests == 0.0


def test_one_word_for_all_lanes_needs_one_sector() -> None:
    facts = gallery("load_struct_member", global_load_sectors=262144.0, bytes_per_sector_load=4.0)
    assert told(rule, facts).findings == ()


def test_host_memory_is_evidence_only_where_it_was_read() -> None:
    sectors = {
        "global_load_sectors": 8 * 262144.0,
        "bytes_per_sector_load": 4.0,
        "global_sectors_excessive": 7 * 262144.0,
    }
    (found,) = told(
        rule, gallery("host_read", host_sectors_read=8 * 262144.0, l1_hit_rate_load=0.0, **sectors)
    ).findings
    assert "host_bytes" in found.finding.evidence
    assert "host link" in found.finding.relieves
    (found,) = told(rule, gallery("load_struct_member")).findings
    assert "host_bytes" not in found.finding.evidence
    assert "host link" not in found.finding.relieves


def test_waste_that_binds_nothing_is_hardly_worth_saying() -> None:
    assert all(one.severity in ("info", "low") for one in told(rule, gallery("matrix_pairs_of_halves")).findings)


def test_without_counters_it_says_what_it_lacks() -> None:
    assert told(rule, made()).unanswered[0].missing == rule.NEEDS
    silent = told(rule, gallery("load_struct_member", without=("l1_hit_rate_load",)))
    assert [one.missing for one in silent.unanswered] == [("l1_hit_rate_load",)]


def test_loads_side_by_side_open_no_rows_for_single_sectors() -> None:
    """Each sector that L2 is asked for comes with a neighbour that nobody asked for: it is read alone."""
    asked = gallery("load_struct_member").value("l2_sectors_read")
    alone = gallery("load_struct_member", dram_bytes_read=2 * 32.0 * asked)
    assert left_without(wasted_by_loads(alone), alone)[DRAM_ROWS] == 0.0
    side_by_side = gallery("healthy_add")
    assert DRAM_ROWS not in left_without(wasted_by_loads(side_by_side), side_by_side)


def test_fewer_bytes_than_a_sector_has_are_named_as_bytes() -> None:
    """A public kernel's loads had 9 bytes in 9 sectors: 9 of 1 beside 3.1 % sector efficiency is a riddle."""
    (found,) = told(rule, gallery("load_struct_member", bytes_per_sector_load=0.5)).findings
    assert found.finding.message == "a global load touches 32.0 sectors for 16 bytes, which fit in one"
