"""Done: at DRAM's ceiling without waste; assumed where no curve says so; never where sectors are wasted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_ceilings import ceilings, point
from made_facts import gallery, made, told

from ncu_assist.ceilings import Ceilings
from ncu_assist.rules import at_dram_roofline as rule
from ncu_assist.rules.dram import fill


@pytest.mark.parametrize("name", ["healthy_add", "healthy_sum", "healthy_softmax", "healthy_stencil"])
def test_a_healthy_kernel_is_done(name: str) -> None:
    (found,) = told(rule, gallery(name)).findings
    assert (found.severity, found.saved_ns, found.finding.assumed) == ("info", 0.0, False)


@pytest.mark.parametrize("name", ["load_struct_member", "store_struct_member", "traffic_chain"])
def test_wasted_bytes_are_not_the_roofline(name: str) -> None:
    assert gallery(name).value("dram_throughput") > 80
    assert told(rule, gallery(name)).findings == ()


@pytest.mark.parametrize(("busy", "gigabytes", "expected"), [(80, 0.5, [True]), (80, 1.2, []), (74, 0.5, [])])
def test_three_quarters_may_do_for_less_than_a_gigabyte(busy: float, gigabytes: float, expected: list[bool]) -> None:
    facts = gallery("healthy_sum", dram_throughput=busy, dram_bytes_read=gigabytes * 1e9)
    said = told(rule, replace(facts, algorithmic_bytes=None))
    assert [one.finding.assumed for one in said.findings] == expected


def test_what_l2_still_holds_was_moved_too() -> None:
    plain = gallery("healthy_softmax")
    held = gallery("healthy_softmax", dram_bytes_write=plain.value("dram_bytes_write") - 20e6)
    assert fill(held) > fill(plain)


@pytest.mark.parametrize(("reached", "done"), [(0.90, True), (1.05, False)])
def test_a_measured_ceiling_decides(reached: float, done: bool) -> None:
    facts = gallery("healthy_sum")
    rate = facts.value("dram_throughput") / 100 * facts.value("dram_peak_bandwidth") * reached / 0.95
    assert bool(told(rule, replace(facts, ceilings=_reads(rate))).findings) is done


def test_without_counters_it_says_what_it_lacks() -> None:
    assert told(rule, made()).unanswered[0].missing == rule.NEEDS


def _reads(rate: float) -> Ceilings:
    sizes = (1 << 28, 1 << 30)
    points = (point("read", 1, 0, size, rate) for size in sizes)
    counted = (replace(one, counted_read_bytes=float(one.bytes), counted_write_bytes=0.0) for one in points)
    return ceilings(*counted)
