"""Done: at DRAM's ceiling without waste; assumed where no curve says so; never where sectors are wasted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_ceilings import ceilings, point
from made_facts import gallery, made, told

from ncu_assist.ceilings import Ceilings
from ncu_assist.record import Device
from ncu_assist.rules import at_dram_roofline as rule
from ncu_assist.rules.model.dram import asked_share, fill


@pytest.mark.parametrize("name", ["healthy_add", "healthy_sum", "healthy_softmax", "healthy_stencil"])
def test_a_healthy_kernel_is_done(name: str) -> None:
    (found,) = told(rule, gallery(name)).findings
    assert (found.severity, found.saved_ns, found.finding.assumed) == ("info", 0.0, True)


@pytest.mark.parametrize("name", ["load_struct_member", "store_struct_member", "traffic_chain"])
def test_wasted_bytes_are_not_the_roofline(name: str) -> None:
    assert all(one.value("dram_throughput") > 80 for one in gallery(name).by_kernel)
    assert told(rule, gallery(name)).findings == ()


@pytest.mark.parametrize(
    ("busy", "duration_ns", "expected"),
    [(76, 22e3, [True]), (76, 100e3, []), (82, 100e3, [True]), (86, 1e9, [True]), (81, 1e9, []), (72, 22e3, [])],
)
def test_three_quarters_may_do_for_short_launches(busy: float, duration_ns: float, expected: list[bool]) -> None:
    facts = made(duration_ns, dram_throughput=busy, dram_bytes_read=1e8, dram_bytes_write=0.0)
    assert [one.finding.assumed for one in told(rule, facts).findings] == expected


def test_without_ceilings_it_is_assumed_and_says_by_what() -> None:
    facts = made(1e9, dram_throughput=90.0, dram_bytes_read=27e9, dram_bytes_write=0.0)
    (found,) = told(rule, facts).findings
    assert found.finding.message == (
        "at DRAM's ceiling, assumed: DRAM is at 90 % of its peak; no ceiling was measured on such a GPU; "
        "no stream over memory of an unknown kind was seen: that of other memory, 89 to 96 %; "
        "whether these 27 GB are needed is not known"
    )


@pytest.mark.parametrize(
    ("busy", "words"),
    [
        (83.0, "within 5 % of DRAM's ceiling, assumed: DRAM is at 83 % of its peak, streams of 100 µs reach 86 %; no"),
        (87.0, "at DRAM's ceiling, assumed: DRAM is at 87 % of its peak, streams of 100 µs reach 86 %; no ceiling"),
    ],
)
def test_below_what_streams_of_its_length_reach_it_is_not_called_there(busy: float, words: str) -> None:
    facts = made(100e3, dram_throughput=busy, dram_bytes_read=400e6, dram_bytes_write=0.0)
    (found,) = told(rule, facts).findings
    assert found.finding.message.startswith(words)


def test_what_l2_takes_beyond_the_peak_does_not_make_dram_full() -> None:
    """As on an A40: DRAM is at 43 % in 10 µs, and at 108 % with what L2 holds. Then L2 took what DRAM could not."""
    sectors = {"global_store_requests": 2e5, "global_store_sectors": 8e5, "bytes_per_sector_store": 32.0}
    facts = made(25e3, dram_throughput=45.0, dram_bytes_read=5e6, dram_bytes_write=1e6, **sectors)
    held = replace(facts, device=Device("GPU", "", "8.6", 84, 50 << 20, None, None))
    assert told(rule, held).findings == ()
    assert asked_share(held) == 0.45


def test_it_is_done_only_where_bytes_and_ceiling_are_known() -> None:
    facts = gallery("healthy_sum")
    rate = 0.9 * facts.value("dram_peak_bandwidth")
    every_mix = [
        point(name, 4 - w, w, size, rate) for name, w in (("read", 0), ("fill", 4)) for size in (1 << 28, 1 << 32)
    ]
    measured = replace(facts, ceilings=ceilings(*every_mix))
    firsts = [
        told(rule, one).findings[0].finding.message.partition(":")[0]
        for one in (measured, replace(measured, algorithmic_bytes=None), facts)
    ]
    assert firsts == ["done", "at DRAM's ceiling", "at DRAM's ceiling, assumed"]


@pytest.mark.parametrize(
    ("tensor", "sectors", "expected"),
    [(5.0, 4.0, False), (5.0, 0.5, False), (5.0, 1.1, True), (80.0, 4.0, True)],
)
def test_a_product_that_reads_its_tiles_again_is_not_done(tensor: float, sectors: float, expected: bool) -> None:
    """By what SMs ask L2 for, of what comes from DRAM; what streams through once may be a product of few rows."""
    facts = made(
        1e9, dram_throughput=90.0, dram_bytes_read=27e9, dram_bytes_write=0.0, tensor_ops_fp16=1e11,
        pipe_tensor_cycles=tensor, l2_sectors_read=sectors * 27e9 / 32, sm_cycles_active=1e9, sm_cycles_elapsed=1e9,
    )  # fmt: skip
    assert bool(told(rule, facts).findings) is expected
    assert bool(told(rule, replace(facts, algorithmic_bytes=27_000_000_000)).findings) is True


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
    assert "DRAM is at 85 % of its peak (87 % including results that L2 still holds)" in found.finding.message


def test_without_counters_it_says_what_it_lacks() -> None:
    assert told(rule, made()).unanswered[0].missing == rule.NEEDS


def _reads(rate: float) -> Ceilings:
    sizes = (1 << 28, 1 << 30)
    points = (point("read", 1, 0, size, rate) for size in sizes)
    counted = (replace(one, counted_read_bytes=float(one.bytes), counted_write_bytes=0.0) for one in points)
    return ceilings(*counted)
