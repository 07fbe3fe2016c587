"""Wasted sectors of stores: twice at DRAM where L2 must fill them in; a few of them are no fault."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_facts import gallery, made, told

from ncu_assist.frame import combine_launches
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.rules import uncoalesced_global_store as rule
from ncu_assist.rules.model.traffic import Wasted, left_without, wasted_by_stores

TOUCHED, IDEAL = "memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal"


def test_a_member_of_every_struct_costs_most_of_the_time() -> None:
    (found,) = told(rule, gallery("store_struct_member")).findings
    assert found.severity == "high"
    assert "32.0 sectors where its bytes need 4.0" in found.finding.message
    assert found.estimated_speedup == pytest.approx(5.25, rel=0.28)  # measured; the logarithm within 0.25


def test_what_was_counted_of_loads_and_stores_together_is_said_of_both() -> None:
    facts = gallery("store_struct_member")
    apart = {name for verb in ("load", "store") for name in CATALOGUE[f"bytes_per_sector_{verb}"].names}
    tables = [{name: value for name, value in one.items() if name not in apart} for one in facts.combined.tables]
    facts = replace(facts, combined=combine_launches(None, facts.combined.launches, tables))
    (found,) = told(rule, facts).findings
    assert found.finding.message.startswith("global loads and stores together touch 4.5 times the sectors")
    told_apart = [one | {f"{IDEAL}:load": 1048576.0, f"{IDEAL}:store": 1048576.0} for one in tables]
    told_apart = [one | {f"{TOUCHED}:load": 1048576.0, f"{TOUCHED}:store": 8388608.0} for one in told_apart]
    facts = replace(facts, combined=combine_launches(None, facts.combined.launches, told_apart))
    (found,) = told(rule, facts).findings
    assert found.finding.message == "a global store touches 32.0 sectors where its bytes need 4.0"


def test_sectors_written_in_part_are_read_as_well() -> None:
    facts = gallery("store_struct_member")
    unread = gallery("store_struct_member", dram_bytes_read=32.0 * 1048576)  # what the loads need
    assert wasted_by_stores(facts).dram > 2 * wasted_by_stores(unread).dram > 0


def test_what_is_sent_to_l2_is_mostly_stores() -> None:
    """A load sends a request for up to four sectors, a store its bytes: so much more of the way in is theirs."""
    facts = gallery("store_struct_member", l2_sectors_read=4e6, l2_sectors_write=4e6, l2_sectors_sm=8e6)
    left = left_without(Wasted(3e6, 3e6, 0.0, stored=3e6), facts)
    assert left["L2 lookups"] == pytest.approx(1 - 3 / 8)
    assert left["L2 input"] == left["L1 output"] == pytest.approx(1 - 3 / 5)


def test_a_sector_alone_is_a_request_that_also_says_which_bytes_it_brings() -> None:
    sectors = {"l2_sectors_read": 4e6, "l2_sectors_write": 4e6, "l2_sectors_sm": 8e6}
    facts = gallery("store_struct_member", **sectors, l2_tags_busy=60.0, l2_lookups_busy=20.0)
    left = left_without(Wasted(3e6, 3e6, 0.0, stored=3e6, requests=3e6), facts)
    assert left["L2 tags"] == pytest.approx(1 - 3 / 8)
    assert left["L2 input"] == pytest.approx(1 - (3 + 3) / (5 + 3))


def test_requests_count_for_scattered_stores_alone() -> None:
    alone = {"l2_tags_busy": 60.0, "l2_lookups_busy": 20.0}
    stored = 32 * 262144
    facts = gallery("store_struct_member", **alone)
    assert wasted_by_stores(facts).requests == pytest.approx(stored - stored / 8 / 4, rel=0.01)
    assert wasted_by_stores(gallery("store_strided_rarely", **alone)).requests == 0.0
    assert wasted_by_stores(gallery("store_struct_member", without=("l2_tags_busy",))).requests == 0.0


@pytest.mark.parametrize("name", ["store_strided_rarely", "load_struct_member", "healthy_softmax", "traffic_chain"])
def test_few_strided_stores_or_none_are_no_fault(name: str) -> None:
    assert told(rule, gallery(name)).findings == ()


def test_without_counters_it_says_what_it_lacks() -> None:
    assert told(rule, made()).unanswered[0].missing == rule.NEEDS
    silent = told(rule, gallery("store_struct_member", without=("l2_sectors_sm",)))
    assert [one.missing for one in silent.unanswered] == [("l2_sectors_sm",)]


def test_a_kernel_that_stores_nothing_has_no_question_open() -> None:
    said = told(rule, gallery("healthy_sum"))
    assert (said.findings, said.unanswered) == ((), ())
