"""What stands in for ceilings that nobody measured: by kind of memory, and never more than what was measured."""

from __future__ import annotations

import pytest

from ncu_assist.ceilings import Ceilings, shipped
from ncu_assist.ceilings.chips import DRAM_DEFAULTS, START_NS, dram_default, memory_kind
from ncu_assist.ceilings.interpolation import dram_curves

SMALL = 256 << 20


@pytest.mark.parametrize(
    ("capability", "kind"),
    [
        ("6.1", "GDDR"), ("7.0", "HBM"), ("7.2", "LPDDR"), ("7.5", "GDDR"), ("8.0", "HBM"), ("8.6", "GDDR"),
        ("8.7", "LPDDR"), ("8.9", "GDDR"), ("9.0", "HBM"), ("10.0", "HBM"), ("12.0", "GDDR"), ("12.1", "LPDDR"),
    ],
)  # fmt: skip
def test_the_kind_of_memory_follows_from_the_compute_capability(capability: str, kind: str) -> None:
    assert memory_kind(capability) == kind
    assert dram_default(capability).kind == kind


def test_of_a_report_that_names_no_chip_the_least_of_all_kinds_is_taken() -> None:
    assert memory_kind("") is None
    assert dram_default("").low == min(one.low for one in DRAM_DEFAULTS.values())
    assert dram_default("").why == "no stream over memory of an unknown kind was seen: that of other memory, 89 to 96 %"


def test_it_says_where_it_was_seen() -> None:
    assert dram_default("8.9").why == "streams over GDDR reach 91 to 96 % on T4, GTX 1660 SUPER, A40, RTX 4090"
    assert "no stream over LPDDR was seen" in dram_default("8.7").why


def test_a_short_launch_is_asked_for_less() -> None:
    default = dram_default("8.6")
    assert default.share(1e9) == pytest.approx(0.91, abs=1e-4)
    assert default.share(30_000.0) == pytest.approx(0.91 * 0.9)
    assert default.share(START_NS) == default.share(0.0) == 0.0


@pytest.mark.parametrize("ceilings", list(shipped()), ids=lambda one: one.device.name)
def test_what_was_measured_starts_within_the_time_assumed(ceilings: Ceilings) -> None:
    """The time of small streams is a start, and then their bytes at the rate of the largest."""
    for curve in dram_curves(ceilings, "ncu"):
        rate = curve.points[-1].bytes_per_second
        starts = [1e9 * (one.seconds.median - one.bytes / rate) for one in curve.points if one.bytes <= SMALL]
        assert max(starts) < 1.1 * START_NS
