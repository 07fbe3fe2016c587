"""Host memory in a kernel: much of it is the time, a few bytes are not, a measured link is believed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_ceilings import ceilings, point
from made_facts import gallery, made, told

from ncu_assist.rules import host_link_bound as rule


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
    (found,) = told(rule, replace(gallery("host_read"), ceilings=fast)).findings
    assert not found.finding.assumed
    assert found.finding.saved_ns == pytest.approx(262144 * 32 / 450.0)


def test_without_counters_it_says_what_it_lacks() -> None:
    assert told(rule, made()).unanswered[0].missing == rule.NEEDS
