"""What stands in for ceilings that nobody measured: by kind of memory, and never more than what was measured."""

from __future__ import annotations

import pytest

from ncu_assist.ceilings import Ceilings, shipped
from ncu_assist.ceilings.chips import DRAM_DEFAULTS, START_NS, dram_default, memory_kind
from ncu_assist.ceilings.records import attribute_peak, dram_curves

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


# Bus and clock as CUDA gives them, and the bandwidth that the maker prints (product pages; a whole number is rounded).
@pytest.mark.parametrize(
    ("board", "bits", "clock_mhz", "capability", "printed_gb"),
    [
        ("GTX 1070 Ti, GDDR5", 256, 4004, "6.1", 256), ("GTX 1650, GDDR5", 128, 4001, "7.5", 128),
        ("P40, GDDR5", 384, 3615, "6.1", 346), ("GTX 1080, GDDR5X", 256, 5005, "6.1", 320),
        ("GTX 1080 Ti, GDDR5X", 352, 5505, "6.1", 484), ("T4, GDDR6", 256, 5001, "7.5", 320),
        ("RTX 2080 Ti, GDDR6", 352, 7000, "7.5", 616), ("A40, GDDR6", 384, 7251, "8.6", 696),
        ("L4, GDDR6", 192, 6251, "8.9", 300), ("RTX 3080, GDDR6X", 320, 9501, "8.6", 760),
        ("RTX 4090, GDDR6X", 384, 10501, "8.9", 1008), ("RTX 5090, GDDR7", 512, 14001, "12.0", 1792),
        ("P100, HBM2", 4096, 715, "6.0", 732), ("V100, HBM2", 4096, 877, "7.0", 900),
        ("A100 40 GB, HBM2", 5120, 1215, "8.0", 1555), ("A100 80 GB PCIe, HBM2e", 5120, 1512, "8.0", 1935),
        ("H100 SXM, HBM3", 5120, 2619, "9.0", 3350), ("GH200, HBM3", 6144, 2619, "9.0", 4000),
        ("AGX Xavier, LPDDR4X, whose attribute is the clock of the GPU", 256, 1377, "7.2", None),
    ],
)  # fmt: skip
def test_the_peak_by_attributes_is_what_the_maker_prints(
    board: str, bits: int, clock_mhz: int, capability: str, printed_gb: int | None
) -> None:
    expected = None if printed_gb is None else pytest.approx(1e9 * printed_gb, rel=0.01)
    assert attribute_peak(bits, 1e3 * clock_mhz, capability) == expected


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
        rate = curve[-1].bytes_per_second
        starts = [1e9 * (one.seconds.median - one.bytes / rate) for one in curve if one.bytes <= SMALL]
        assert max(starts) < 1.1 * START_NS
