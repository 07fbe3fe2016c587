"""Done: at DRAM's ceiling without waste; assumed where no curve says so; never where sectors are wasted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_ceilings import ceilings, point
from made_facts import gallery, made, told

from ncu_assist.ceilings import Ceilings
from ncu_assist.rules import at_dram_roofline as rule
from ncu_assist.rules.model.dram import fill


@pytest.mark.parametrize("name", ["healthy_add", "healthy_sum", "healthy_softmax", "healthy_stencil"])
def test_a_healthy_kernel_is_done(name: str) -> None:
    (found,) = told(rule, gallery(name)).findings
    assert (found.severity, found.saved_ns, found.finding.assumed) == ("info", 0.0, False)


@pytest.mark.parametrize("name", ["load_struct_member", "store_struct_member", "traffic_chain"])
def test_wasted_bytes_are_not_the_roofline(name: str) -> None:
    assert all(one.value("dram_throughput") > 80 for one in gallery(name).by_kernel)
    assert told(rule, gallery(name)).findings == ()


@pytest.mark.parametrize(
    ("busy", "gigabytes", "expected"),
    [(80, 0.12, [True]), (80, 0.5, []), (84, 0.5, [True]), (84, 1.2, []), (72, 0.12, [])],
)
def test_three_quarters_may_do_for_small_launches(busy: float, gigabytes: float, expected: list[bool]) -> None:
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


@pytest.mark.parametrize(("duration_ns", "done"), [(2_200.0, False), (19_000.0, False), (21_000.0, True)])
def test_a_short_launch_is_not_done_at_half_of_the_peak(duration_ns: float, done: bool) -> None:
    """A curve ends at 32 MiB; carried on to tiny kernels it would call most of them done."""
    peak = {"dram_peak_bytes_per_cycle": 1000.0, "dram_clock": 4e9}
    facts = made(duration_ns, dram_throughput=51.0, dram_bytes_read=2e6, dram_bytes_write=0.0, **peak)
    assert bool(told(rule, replace(facts, ceilings=_reads(2.0e12))).findings) is done


def test_the_message_tells_what_was_counted_from_what_l2_holds() -> None:
    facts = gallery("healthy_softmax")
    (found,) = told(rule, replace(facts, ceilings=_reads(0.9 * facts.value("dram_peak_bandwidth")))).findings
    assert "DRAM is at 85 % of its peak (87 % with what L2 still holds of the results)" in found.finding.message


def test_without_counters_it_says_what_it_lacks() -> None:
    assert told(rule, made()).unanswered[0].missing == rule.NEEDS


def _reads(rate: float) -> Ceilings:
    sizes = (1 << 28, 1 << 30)
    points = (point("read", 1, 0, size, rate) for size in sizes)
    counted = (replace(one, counted_read_bytes=float(one.bytes), counted_write_bytes=0.0) for one in points)
    return ceilings(*counted)
