"""Warnings about a measurement: each with a measurement that deserves it and one that does not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from shape_facts import Counters, made, of_case

from ncu_assist.rules import Facts
from ncu_assist.rules.model.warnings import warnings

MB = 1_000_000
COPY: Counters = {"dram_bytes_read": 200 * MB, "dram_bytes_write": 150 * MB, "l2_sectors_write": 200 * MB / 32}


def ids(facts: Facts, needed: int | None = None) -> list[str]:
    return list(warnings(replace(facts, algorithmic_bytes=needed)))


def test_a_good_measurement_needs_none() -> None:
    assert ids(made(COPY), 400 * MB) == []


@pytest.mark.parametrize(
    "case", ["healthy_add", "flight_halves_one_by_one", "host_read", "traffic_chain", "underfill_block_a_row"]
)
def test_recorded_long_kernels_need_none(case: str) -> None:
    assert warnings(of_case(case)) == {}


def test_short_kernels() -> None:
    assert list(warnings(of_case("launch_small_norm"))) == ["short-kernel"]
    assert ids(made({}, duration_ns=20_000.0)) == []


def test_input_that_was_in_l2() -> None:
    resident = {"dram_bytes_read": 5 * MB, "dram_bytes_write": 0, "l2_sectors_write": 20 * MB / 32}
    assert ids(made(resident), 40 * MB) == ["l2-resident-input"]  # 20 MB must pass, the 20 MB written may stay
    assert ids(made(resident | {"dram_bytes_read": 11 * MB}), 40 * MB) == []
    assert ids(made(resident | {"host_sectors_read": 15 * MB / 32, "host_sectors_write": 0}), 40 * MB) == []
    assert ids(made(resident), None) == []


def test_writes_that_nobody_made() -> None:
    dirty = COPY | {"dram_bytes_write": 250 * MB}
    assert ids(made(dirty)) == ["dirty-flush"]
    assert ids(made(dirty | {"l2_sectors_reduction": 50 * MB / 32})) == []
    assert ids(made(COPY | {"dram_bytes_write": 205 * MB})) == []


def test_a_chain_whose_intermediates_fit_in_l2() -> None:
    small = COPY | {"dram_bytes_write": 80 * MB, "l2_sectors_write": 100 * MB / 32}
    assert ids(made(small, small)) == ["chain-upper-bound"]
    assert ids(made(small)) == []
    assert ids(made(COPY, small)) == []  # 200 MB are more than three times 63


def test_a_chain_whose_surplus_could_not_have_stayed() -> None:
    small = COPY | {"dram_bytes_write": 80 * MB, "l2_sectors_write": 100 * MB / 32}
    assert ids(made(small, small), 560 * MB) == []  # moved 560 MB: there is no surplus
    assert ids(made(small, small), 500 * MB) == ["chain-upper-bound"]
    little = COPY | {"l2_sectors_write": 5 * MB / 32, "dram_bytes_write": 4 * MB}
    assert ids(made(little, little)) == []  # 10 of 408 MB


def test_a_chain_profiled_without_flushes_and_launches_of_nothing_in_common() -> None:
    small = COPY | {"dram_bytes_write": 80 * MB, "l2_sectors_write": 100 * MB / 32}
    facts = made(small, small)
    assert list(warnings(facts, "none")) == []
    assert list(warnings(facts, "all")) == ["chain-upper-bound"]
    assert ids(replace(facts, combined=replace(facts.combined, workload=None))) == []


def test_a_chain_on_an_unknown_chip_may_fit() -> None:
    assert ids(made(COPY, COPY, device=None)) == ["chain-upper-bound"]


def test_repeats_with_other_launches() -> None:
    facts, other = made(COPY), made(COPY, COPY)
    both = replace(facts, combined=replace(facts.combined, further=(other.combined,)))
    assert "launch-count-differs" in ids(both)
    same = replace(facts, combined=replace(facts.combined, further=(facts.combined,)))
    assert ids(same) == []


def test_what_was_not_counted_is_not_warned_of() -> None:
    assert ids(made({}), 400 * MB) == []
