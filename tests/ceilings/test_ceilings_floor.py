"""The least time of a workload: of the bytes in their mix, of what crosses the link, of operations on tensor cores."""

from __future__ import annotations

from dataclasses import replace

import pytest
from factories import DEVICE, make_run
from made_ceilings import MIB, ceilings, point

from ncu_assist.ceilings import Rate, Spread, floor_of, split_ns
from ncu_assist.ceilings.floor import HALF_ASSUMED
from ncu_assist.record import Bench, Timing, WorkloadFacts

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
    assert (two_to_one.kind, two_to_one.amount, two_to_one.assumed) == ("dram", MOVED, False)
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


def pipe(name: str, per_second: float) -> Rate:
    return Rate("pipe", name, "inst", "events", SHORT, per_second, None)


def test_a_product_in_float32_is_held_against_its_multiply_adds() -> None:
    known = replace(DRAM, rates=(pipe("fma", 1e12), WGMMA))
    found = floor_of(replace(FACTS, dtype="float32", flops=10**14), known)
    assert found is not None
    assert (found.kind, found.unit, found.assumed) == ("fma", "flop", False)
    assert found.ns == pytest.approx(1e9 * 1e14 / 64e12)  # 32 lanes, a product and a sum each
    assert [one.kind for one in found.terms] == ["fma", "dram"]
    assert found.terms[1].ns == pytest.approx(1e9 * MOVED / 3e12)


def test_a_product_in_float32_may_go_to_the_tensor_cores_in_three_products_of_tf32() -> None:
    known = replace(DRAM, rates=(pipe("fma", 1e12), WGMMA))
    least = floor_of(replace(FACTS, dtype="float32", flops=10**14), known)
    assert least is not None
    assert split_ns(least, "float32", known) == pytest.approx(3 * 1e9 * 1e14 / 4e14)
    slow = replace(known, rates=(pipe("fma", 1e12), replace(WGMMA, per_second=3e14)))
    assert split_ns(least, "float32", slow) is None  # three at half of that rate: nothing won
    assert split_ns(least, "bfloat16", known) is None
    assert split_ns(replace(least, kind="dram"), "float32", known) is None


def test_each_kind_of_work_is_a_term_at_its_own_rate() -> None:
    rates = (WGMMA, pipe("xu", 1e11), pipe("alu", 2e11), pipe("imad", 3e11))
    work = {"tensor": 8 * 10**11, "xu": 32 * 10**8, "int": 16 * 10**9}
    found = floor_of(replace(FACTS, work=work), replace(DRAM, rates=rates))
    assert found is not None
    took = {one.kind: one.ns for one in found.terms}
    assert took["tensor"] == pytest.approx(1e6)
    assert took["xu"] == pytest.approx(1e6)
    assert took["int"] == pytest.approx(1e6)  # on either pipe


def test_operations_on_small_integers_are_no_bound_for_packed_ones() -> None:
    rates = (pipe("alu", 2e11), pipe("imad", 3e11))
    for dtype, assumed in (("uint8", True), ("int32", False), ("int64", False)):
        found = floor_of(replace(FACTS, dtype=dtype, work={"int": 10**14}), replace(DRAM, rates=rates))
        assert found is not None
        assert (found.kind, found.assumed, "packed" in found.why) == ("int", assumed, assumed)


def test_a_type_that_warp_groups_were_not_measured_with_goes_by_halves() -> None:
    mma = replace(MMA, name="mma_tf32", per_second=3e14)
    found = floor_of(replace(FACTS, work={"tf32": 10**12}), replace(DRAM, rates=(mma, WGMMA)))
    assert found is not None
    assert (found.kind, found.per_second, found.assumed) == ("tensor", 4e14, True)


def test_where_nobody_measured_the_table_stands_in() -> None:
    """A product on an A100: 108 multiprocessors with 64 multiply-adds a cycle; a copy of its bytes takes 0.1 ms."""
    device = replace(DEVICE, name="NVIDIA A100", compute_capability="8.0", sm_count=108)
    timed = Timing("w", "b", 10, 0, 9e6, 9e6, 9e6, 9e6, 1410.0, None, 1e5)
    run = replace(make_run(), device=device, bench=Bench("b", "read", 10, None, None, (timed,)))
    facts = replace(FACTS, dtype="float32", flops=10**11)
    found = floor_of(facts, None, run)
    assert found is not None
    assert (found.kind, found.assumed) == ("fma", True)
    assert found.ns == pytest.approx(1e9 * 1e11 / (2 * 64 * 108 * 1.41e9))
    assert floor_of(replace(facts, flops=10**9), None, run) is None  # the copy takes longer: DRAM, which nobody knows


def test_bytes_that_stay_in_l2_are_held_against_l2_where_nothing_empties_it() -> None:
    hits = point("hit_40_pct", 1, 0, MOVED, 8e12, "events")
    run = replace(make_run(), device=replace(DEVICE, l2_bytes=2 * MOVED))
    known = replace(DRAM, l2=(hits,))
    benches = [Bench("b", how, 10, None, None, ()) for how in ("read", "none")]
    cold, warm = (floor_of(FACTS, known, replace(run, bench=one)) for one in benches)
    assert cold is not None
    assert warm is not None
    assert (cold.kind, warm.kind) == ("dram", "l2")
    assert warm.ns == pytest.approx(1e9 * MOVED / 8e12)


def test_no_call_is_shorter_than_an_empty_launch() -> None:
    small = replace(FACTS, algorithmic_bytes=1000, written_bytes=0, flops=0)
    found = floor_of(small, replace(DRAM, conditions=replace(DRAM.conditions, empty_seconds=3e-6)))
    assert found is not None
    assert (found.kind, found.ns) == ("launch", pytest.approx(3000.0))


def test_whatever_takes_longer_is_the_floor() -> None:
    assert (found := floor_of(FACTS, replace(DRAM, rates=(WGMMA,)))) is not None
    assert found.bound == "DRAM"
    single = floor_of(replace(FACTS, dtype="float32", flops=10**14), replace(DRAM, rates=(WGMMA,)))
    assert single is not None
    assert (single.kind, single.assumed) == ("fma", True)  # tensor cores do not multiply float32


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
