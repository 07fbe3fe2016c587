"""Host memory in a kernel: much of it is the time, a few bytes are not, a measured link is believed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_ceilings import ceilings, point
from made_facts import gallery, made, told

from ncu_assist.rules import host_link_bound as rule
from ncu_assist.rules.model.dram import link_load, link_ns


def test_reading_host_memory_is_nearly_all_of_the_time() -> None:
    (found,) = told(rule, gallery("host_read")).findings
    assert found.severity == "high"
    assert found.finding.assumed
    assert "reads 8.39 MB of host memory" in found.finding.message


def test_writing_counts_as_well() -> None:
    facts = gallery("host_read", host_sectors_read=0.0, host_sectors_write=262144.0)
    (found,) = told(rule, facts).findings
    assert "writes 8.39 MB" in found.finding.message
    assert (found.finding.waste, "STG" in found.finding.about) == ("sectors", True)


def test_reads_show_where_warps_wait() -> None:
    (found,) = told(rule, gallery("host_read")).findings
    assert (found.finding.waste, found.finding.about) == ("samples", frozenset())


def test_a_few_settings_cost_nothing() -> None:
    assert told(rule, gallery("host_read", host_sectors_read=4.0)).findings == ()
    assert told(rule, gallery("healthy_add", host_sectors_read=4.0)).findings == ()


def test_beside_dram_at_its_ceiling_the_link_is_not_what_binds() -> None:
    assert told(rule, gallery("healthy_add", host_sectors_read=262144.0)).findings == ()


def test_a_measured_link_is_believed() -> None:
    fast = replace(ceilings(), link=(point("host to device", 1, 0, 1 << 28, 450e9, "events"),))
    facts = replace(gallery("host_read", l2_sectors_read=1e7), ceilings=fast)  # most reads are not of host memory
    (found,) = told(rule, facts).findings
    assert not found.finding.assumed
    assert found.finding.saved_ns == pytest.approx(262144 * 32 / 450.0)


def test_warps_wait_for_the_host_while_the_link_has_room() -> None:
    """A basic set: reads alone were counted, no stall reasons. 4 % of the link, and nothing else is read or busy."""
    counted = {"l2_sectors_read": 125e6, "sm_throughput": 7.0, "dram_throughput": 0.1, "dram_bytes_read": 2e7}
    facts = made(3.9e9, host_sectors_read=133e6, **counted)
    assert 0.02 < link_load(facts) < 0.1
    (found,) = told(rule, facts).findings
    assert found.estimated_speedup > 10
    assert found.finding.assumed
    assert "reads 4.26 GB of host memory across the link, 100 % of what SMs read from L2" in found.finding.message
    assert "; warps probably wait for it, which was not counted, while the link is busy" in found.finding.message
    assert "prefetch managed memory" in found.finding.advice
    assert "; 8 M of these sectors are fetched for atomics, one every 488 ns" in found.finding.message
    assert found.finding.advice.startswith("keep what atomics add to in GPU memory, or do fewer of them; then copy")
    few = {"grid_size": 1.0, "sm_count": 48.0, "sm_throughput": 0.2}
    for other in ({"l2_sectors_read": 300e6}, {"sm_throughput": 80.0}, few):  # other reads, a busy unit, empty SMs
        (found,) = told(rule, made(3.9e9, **{"host_sectors_read": 133e6, **counted, **other})).findings
        assert found.finding.saved_ns == pytest.approx(link_ns(facts))


def test_counters_that_differ_by_little_show_no_atomics() -> None:
    """Those of a public report without atomics differ by up to 0.2 %, as they are of different passes."""
    counted = {"l2_sectors_read": 125e6, "sm_throughput": 7.0, "dram_throughput": 0.1, "dram_bytes_read": 2e7}
    (found,) = told(rule, made(3.9e9, host_sectors_read=125.25e6, **counted)).findings
    assert found.finding.message.endswith("while the link is busy 8 % of the time")
    assert found.finding.advice.startswith("copy the data to the GPU first")


def test_the_wait_is_no_longer_than_what_warps_waited() -> None:
    facts = gallery("host_read", l2_sectors_read=262144.0, host_sectors_read=26214.0 * 6)
    assert 0.0 < link_load(facts) < 0.65
    (found,) = told(rule, facts).findings
    waited = (facts.stall("long_scoreboard") + facts.stall("lg_throttle")) / 100
    assert found.finding.saved_ns == pytest.approx(facts.duration_ns * 0.6 * waited, rel=0.01)


def test_small_requests_are_named_where_they_fill_the_link() -> None:
    """262,144 sectors, each a request, at 1.6 a ns: 164 of 167 us, where their bytes take 19."""
    points = (point("host_to_device", 1, 0, 1 << 28, 450e9), point("zero_copy_sectors", 1, 0, 1 << 26, 32 * 1.6e9))
    facts = replace(gallery("host_read", pcie_write_bandwidth=30e9), ceilings=replace(ceilings(), link=points))
    (found,) = told(rule, facts).findings
    assert "in requests of 32 bytes where a line is 128" in found.finding.message
    assert "whole lines" in found.finding.advice
    assert link_ns(facts) == pytest.approx(262144 / 1.6)


def test_what_uncoalesced_loads_waste_is_not_counted() -> None:
    """Four sectors are touched where one is needed: three quarters of the bytes cross for nothing."""
    sectors = 4 * 262144.0
    waste = {"global_load_sectors": sectors, "bytes_per_sector_load": 8.0, "global_sectors_excessive": 0.75 * sectors}
    facts = gallery("host_read", host_sectors_read=sectors, l1_hit_rate_load=0.0, **waste)
    (found,) = told(rule, facts).findings
    assert "reads 33.6 MB of host memory across the link, of which its loads need 8.39 MB" in found.finding.message
    assert found.finding.saved_ns == told(rule, gallery("host_read")).findings[0].finding.saved_ns


def test_what_has_to_come_from_the_host_crosses_whatever_is_changed() -> None:
    """A launch of a call whose data lie on the host cannot win those."""
    facts = gallery("host_read")
    (free,) = told(rule, facts).findings
    (bound,) = told(rule, replace(facts, host_bytes=262144 * 32)).findings
    assert free.estimated_speedup > 10
    assert bound.saved_ns <= facts.duration_ns - link_ns(facts) < free.saved_ns
    (half,) = told(rule, replace(facts, host_bytes=131072 * 32)).findings
    assert half.saved_ns == pytest.approx(facts.duration_ns - link_ns(facts) / 2, rel=0.05)


def test_without_counters_it_says_what_it_lacks() -> None:
    assert told(rule, made()).unanswered[0].missing == rule.NEEDS
