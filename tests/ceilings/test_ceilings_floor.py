"""The least time of a workload: of the bytes in their mix, of what crosses the link, of operations on tensor cores."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_ceilings import MIB, ceilings, point

from ncu_assist.ceilings import Rate, Spread, floor_of
from ncu_assist.ceilings.floor import HALF_ASSUMED
from ncu_assist.record import WorkloadFacts

MOVED = 300 * MIB
FACTS = WorkloadFacts("w", "bfloat16", {}, MOVED, 10**9, None, MOVED // 3)
SHORT = Spread(1e-3, 1e-3, 1e-3, 1)
WGMMA = Rate("tensor", "wgmma_bf16", "op", "events", SHORT, 8e14, None)
MMA = replace(WGMMA, name="mma_bf16", per_second=4e14)
DRAM = ceilings(point("copy", 1, 1, MOVED, 2e12, "events"), point("read", 2, 1, MOVED, 3e12, "events"))


def test_bytes_are_held_against_their_own_mix() -> None:
    two_to_one, one_to_one = floor_of(FACTS, DRAM), floor_of(replace(FACTS, written_bytes=MOVED // 2), DRAM)
    assert two_to_one is not None
    assert one_to_one is not None
    assert (two_to_one.bound, two_to_one.amount, two_to_one.assumed) == ("DRAM", MOVED, False)
    assert two_to_one.ns == pytest.approx(1e9 * MOVED / 3e12)
    assert one_to_one.ns == pytest.approx(1e9 * MOVED / 2e12)


def test_a_run_that_does_not_say_what_is_written_is_told_so() -> None:
    older = floor_of(replace(FACTS, written_bytes=None), DRAM)
    assert older is not None
    assert older.assumed
    assert older.why.endswith(HALF_ASSUMED)
    assert older.ns == pytest.approx(1e9 * MOVED / 2e12)


def test_operations_of_a_half_type_are_held_against_the_faster_tensor_rate() -> None:
    busy = replace(FACTS, flops=10**12)
    floor = floor_of(busy, replace(DRAM, rates=(MMA, WGMMA)))
    assert floor is not None
    assert (floor.bound, floor.unit, floor.ns) == ("the tensor cores", "flop", pytest.approx(1e21 / 8e14))
    slower = floor_of(busy, replace(DRAM, rates=(MMA,)))
    assert slower is not None
    assert slower.ns == pytest.approx(1e21 / 4e14)


def test_whatever_takes_longer_is_the_floor() -> None:
    assert (found := floor_of(FACTS, replace(DRAM, rates=(WGMMA,)))) is not None
    assert found.bound == "DRAM"
    single = floor_of(replace(FACTS, dtype="float32", flops=10**14), replace(DRAM, rates=(WGMMA,)))
    assert single is not None
    assert single.bound == "DRAM"  # tensor cores do not multiply float32


def test_what_comes_from_the_host_is_held_against_the_link() -> None:
    far = replace(FACTS, host_bytes=MOVED // 2)
    assert floor_of(far, DRAM) is None
    found = floor_of(far, replace(DRAM, link=(point("host_to_device", 1, 0, MIB, 5e10),)))
    assert found is not None
    assert (found.bound, found.ns) == ("the link from the host", pytest.approx(1e9 * MOVED / 2 / 5e10))


def test_without_rates_there_is_none() -> None:
    assert floor_of(FACTS, None) is None
    assert floor_of(FACTS, ceilings(point("copy", 1, 1, MOVED, 2e12, "ncu"))) is None
    assert floor_of(replace(FACTS, algorithmic_bytes=None, flops=None), DRAM) is None
