"""Ceilings between the points that were measured, and beyond them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_ceilings import MADE_UP, MIB, ceilings, point

from ncu_assist.ceilings import bytes_in_flight, chip_facts, dram_ceiling


def test_a_measured_point_is_the_ceiling() -> None:
    found = dram_ceiling(ceilings(), 16 * MIB, 16 * MIB)
    assert found is not None
    assert found.bytes_per_second == pytest.approx(1e12)
    assert not found.assumed
    assert found.why == "measured on this GPU under ncu"


def test_between_sizes_the_logarithm_decides() -> None:
    found = dram_ceiling(ceilings(), 32 * MIB, 32 * MIB)  # 64 MiB, halfway from 32 to 128
    assert found is not None
    assert found.bytes_per_second == pytest.approx(1.5e12)
    assert not found.assumed


def test_between_mixes_the_share_of_reads_decides() -> None:
    found = dram_ceiling(ceilings(), 24 * MIB, 8 * MIB)  # three quarters are read: halfway from copy to read
    assert found is not None
    assert found.bytes_per_second == pytest.approx(1.5e12)
    both = dram_ceiling(ceilings(), 48 * MIB, 16 * MIB)
    assert both is not None
    assert both.bytes_per_second == pytest.approx((1.5e12 + 3e12) / 2)


@pytest.mark.parametrize(
    ("read", "written", "rate", "words"),
    [
        (MIB, MIB, 1e12 / 11, "fewer than 33.6 MB were not measured: the start of the first two sizes"),
        (1024 * MIB, 1024 * MIB, 2e12, "more than 134 MB were not measured"),
        (0, 128 * MIB, 2e12, "no mix with 0 % reads was measured"),
    ],
)
def test_nothing_is_extrapolated_without_a_word(read: int, written: int, rate: float, words: str) -> None:
    found = dram_ceiling(ceilings(), read, written)
    assert found is not None
    assert found.bytes_per_second == pytest.approx(rate)
    assert found.assumed
    assert words in found.why


def test_streams_cut_to_whole_blocks_still_end_where_they_were_asked_to() -> None:
    made = ceilings(point("add", 2, 1, 32 * MIB, 1e12))
    found = dram_ceiling(made, 2 * 32 * MIB / 3, 32 * MIB / 3)
    assert found is not None
    assert not found.assumed


def test_another_gpu_of_the_model_is_named() -> None:
    found = dram_ceiling(replace(ceilings(), origin="recorded"), 16 * MIB, 16 * MIB)
    assert found is not None
    assert not found.assumed
    assert found.why == "measured on another NVIDIA Made Up 9000 under ncu"


def test_what_was_measured_otherwise_is_no_answer() -> None:
    assert dram_ceiling(ceilings(), 16 * MIB, 16 * MIB, under="events") is None
    assert dram_ceiling(ceilings(), 0, 0) is None
    timed = ceilings(point("copy", 1, 1, 32 * MIB, 1e12, "events"))
    found = dram_ceiling(timed, 16 * MIB, 16 * MIB, under="events")
    assert found is not None
    assert found.why == "measured on this GPU under events"


def test_one_curve_answers_for_all_mixes_and_says_so() -> None:
    found = dram_ceiling(ceilings(point("copy", 1, 1, 32 * MIB, 1e12)), 32 * MIB, 0)
    assert found is not None
    assert found.assumed
    assert "100 % reads" in found.why


def test_bytes_that_reached_dram_are_compared_with_such() -> None:
    small = replace(point("copy", 1, 1, 32 * MIB, 4e12), counted_read_bytes=16.0 * MIB, counted_write_bytes=0.0)
    large = replace(point("copy", 1, 1, 128 * MIB, 4e12), counted_read_bytes=64.0 * MIB, counted_write_bytes=48.0 * MIB)
    made = ceilings(small, large)
    found = dram_ceiling(made, 16 * MIB, 0, counted=True)
    assert found is not None
    assert found.bytes_per_second == pytest.approx(2e12), "half of the bytes reached DRAM, in the same time"
    assert not found.assumed
    whole = dram_ceiling(made, 64 * MIB, 48 * MIB, counted=True)
    assert whole is not None
    assert whole.bytes_per_second == pytest.approx(3.5e12)
    assert dram_ceiling(ceilings(), 16 * MIB, 0, counted=True) is None, "nobody counted there"


def test_the_table_of_chips() -> None:
    hopper = chip_facts("9.0")
    assert hopper is not None
    assert (hopper.fma, hopper.fp64, hopper.xu, hopper.schedulers) == (128, 64, 16, 4)
    assert chip_facts("3.5") is None
    assert bytes_in_flight("NVIDIA H200", "9.0") == 48 << 10
    assert bytes_in_flight("NVIDIA H100 80GB HBM3", "9.0") == 32 << 10
    assert bytes_in_flight(MADE_UP.name, "8.0") == 16 << 10
    assert bytes_in_flight(MADE_UP.name, "3.5") is None
