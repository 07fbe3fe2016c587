"""What the host link needs: for bytes and for requests, and what is left of both where loads are uncoalesced."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_ceilings import ceilings, point
from made_facts import gallery
from shape_facts import Counters, made

from ncu_assist.frame import combine_tables
from ncu_assist.rules import RULES, Diagnosis, Facts, diagnose
from ncu_assist.rules.model.dram import Crossed, crossed, link_ns
from ncu_assist.rules.model.resources import HOST_LINK
from ncu_assist.rules.model.savings import loads
from ncu_assist.rules.model.shape import uncovered_part
from ncu_assist.rules.model.traffic import must_cross
from ncu_assist.store import Store

ARCHIVE = Store(Path(__file__).parents[2] / "reports")
TOKENS = 262_144
# What v1 and v2 of fast_h2d, which read a sector a request, came to on one machine; 725e6 on another (its worklog).
REQUESTS = 660e6
LINK = (point("host_to_device", 1, 0, 1 << 28, 55.2e9), point("zero_copy_sectors", 1, 0, 1 << 26, 32 * REQUESTS))
MEASURED = replace(ceilings(), link=LINK)
# 100 us, 40 MB
READS: Counters = {"host_sectors_read": 1.25e6, "host_sectors_write": 0.0}


def with_link(facts: Facts, requests: bool = True) -> Facts:
    return replace(facts, ceilings=MEASURED if requests else replace(MEASURED, link=LINK[:1]))


def recorded(version: str) -> Facts:
    """Return the counters of a recorded version of fast_h2d."""
    (stored,) = (one for one in ARCHIVE.runs("fast_h2d") if one.run.version == version)
    combined = combine_tables(stored.run, stored.by_launch(), stored.run.launches[0].workload)
    return with_link(Facts(combined, stored.run.device))


def told(version: str) -> Diagnosis:
    return diagnose(recorded(version), RULES)


def sent(requests: float, duration_ns: float = 100_000.0) -> Counters:
    """Return what ncu shows of so many requests for reading."""
    return {"pcie_write_bandwidth": 16 * requests / duration_ns * 1e9}


def test_requests_are_what_is_written_over_pcie() -> None:
    assert crossed(made(READS | sent(0.9e6))).requests == pytest.approx(0.9e6)
    both = READS | sent(0.9e6) | {"host_sectors_write": 50_000.0}
    both["pcie_write_bandwidth"] += 36 * 50_000.0 / 100e-6  # a header for each line, as in `host_write`
    assert crossed(made(both)).requests == pytest.approx(0.9e6)


def test_a_request_is_of_one_sector_at_least_and_of_a_line_at_most() -> None:
    assert crossed(made(READS)).requests == 1.25e6 / 4  # not counted
    assert crossed(made(READS | sent(3e6))).requests == 1.25e6  # other traffic
    assert crossed(made(sent(3e6))) == Crossed(0.0, 0.0, 0.0)


def test_whole_lines_are_counted_where_whole_lines_are_read() -> None:
    """The gallery's `host_read`: 8 MiB are 65,536 lines; what else goes over PCIe in 0.2 ms is three per cent."""
    assert crossed(gallery("host_read")).requests == pytest.approx(65_536, rel=0.04)


def test_the_link_needs_the_longer_of_bytes_and_requests() -> None:
    facts = made({"host_sectors_read": 60_000.0} | sent(60_000.0))
    assert link_ns(with_link(facts)) == pytest.approx(60_000 / REQUESTS * 1e9)
    assert link_ns(with_link(facts, requests=False)) == pytest.approx(32 * 60_000 / 55.2)
    lines = made({"host_sectors_read": 60_000.0} | sent(15_000.0))
    assert link_ns(with_link(lines)) == pytest.approx(32 * 60_000 / 55.2)


def test_kernels_are_held_against_kernels_where_those_were_measured() -> None:
    facts = made({"host_sectors_read": 60_000.0})
    kernels = replace(MEASURED, link=(*LINK, point("zero_copy_read", 1, 0, 1 << 28, 51e9)))
    assert link_ns(replace(facts, ceilings=kernels)) == pytest.approx(32 * 60_000 / 51.0)


def test_a_full_link_is_a_unit_at_its_limit() -> None:
    full = with_link(made(READS | sent(1.25e6)))
    assert loads(full)[HOST_LINK] == 1.0
    assert uncovered_part(full) == 0.0
    assert uncovered_part(with_link(made({"host_sectors_read": 4.0}))) == 1.0


def test_more_than_pcie_can_carry_came_over_another_link() -> None:
    """63 GB/s are 197,000 sectors in 100 us; what a faster link needs for more is not known, and bounds nothing."""
    assert loads(made({"host_sectors_read": 180_000.0}))[HOST_LINK] == 1.0
    assert loads(made({"host_sectors_read": 220_000.0}))[HOST_LINK] == 0.0
    assert loads(with_link(made({"host_sectors_read": 220_000.0})))[HOST_LINK] == 1.0


@pytest.mark.parametrize(
    ("version", "a_token"), [("v1_byte_copy", 624), ("v2_thread_a_token", 39.5), ("v3_warp_a_token", 6.77),
                             ("v6_line_aligned", 6.01), ("v10_bulk_copies", 14.6)],
)  # fmt: skip
def test_requests_of_recorded_kernels_are_those_of_the_worklog(version: str, a_token: float) -> None:
    assert crossed(recorded(version)).requests / TOKENS == pytest.approx(a_token, rel=0.002)


@pytest.mark.parametrize("version", ["v1_byte_copy", "v2_thread_a_token"])
def test_coalesced_they_would_ask_for_their_bytes_in_lines(version: str) -> None:
    what = must_cross(recorded(version))
    assert what.read / TOKENS == pytest.approx(656 / 32, rel=0.08)  # and the indices, on the device
    assert what.requests == what.read / 4


def test_sectors_that_each_cross_once_but_alone_are_wasted_requests() -> None:
    """A thread a row: caches keep each sector, so no byte of 8 MiB is wasted, but lines come in quarters."""
    alone = {"global_load_sectors": 4 * 262144.0, "bytes_per_sector_load": 8.0, "l1_hit_rate_load": 75.0}
    counters = {**alone, "global_sectors_excessive": 3 * 262144.0, **sent(262144.0, 400_000.0)}
    facts = with_link(gallery("host_read", **counters))
    launches = (replace(facts.combined.launches[0], duration_ns=400_000.0),)
    slow = replace(facts, combined=replace(facts.combined, launches=launches))
    assert crossed(slow) == Crossed(262144.0, 262144.0, 0.0)
    assert must_cross(slow) == Crossed(262144.0, 65536.0, 0.0)
    first = diagnose(slow, RULES).first
    assert first is not None
    assert first.finding.rule == "uncoalesced-global-load"
    assert first.estimated_speedup == pytest.approx(397 / 152, rel=0.1)


def test_bulk_copies_keep_their_requests() -> None:
    facts = recorded("v10_bulk_copies")
    assert must_cross(facts) == crossed(facts)


@pytest.mark.parametrize(
    ("version", "speedup"), [("v1_byte_copy", 225_810 / 3627), ("v2_thread_a_token", 14_251 / 3627)]
)
def test_a_thread_a_token_is_uncoalesced_and_v3_proves_it(version: str, speedup: float) -> None:
    """v3 only coalesces."""
    found = told(version)
    assert found.first is not None
    assert found.first.finding.rule == "uncoalesced-global-load"
    assert found.first.estimated_speedup == pytest.approx(speedup, rel=0.3)


@pytest.mark.parametrize(
    "version", ["v0_torch_mapped", "v3_warp_a_token", "v4_loads_first", "v5_limited_grid", "v6_line_aligned",
                "v9_triton_mapped", "v10_bulk_copies"],
)  # fmt: skip
def test_what_asks_for_its_bytes_is_bound_by_the_link(version: str) -> None:
    found = told(version)
    assert found.first is not None
    assert found.first.finding.rule == "host-link-bound"
    assert ("in requests of 51 bytes" in found.first.finding.message) == (version == "v10_bulk_copies")


def test_without_a_measured_rate_of_requests_bytes_alone_count() -> None:
    facts = with_link(recorded("v10_bulk_copies"), requests=False)
    assert link_ns(facts) == pytest.approx(32 * facts.value("host_sectors_read") / 55.2)
    assert all("requests" not in one.finding.message for one in diagnose(facts, RULES).findings)
