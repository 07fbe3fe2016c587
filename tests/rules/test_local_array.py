"""Rule `local-array`: where it fires, where not, and what it needs."""

from __future__ import annotations

import pytest
from made_facts import gallery, told

from ncu_assist.rules import local_array


def test_fires() -> None:
    (ranked,) = told(local_array, gallery("local_stack")).findings
    assert ranked.finding.rule == "local-array"
    assert ranked.severity == "high"


@pytest.mark.parametrize("case", ["spill_outside_the_loop", "spill_asked_occupancy"])
def test_does_not_fire(case: str) -> None:
    assert local_array.find(gallery(case)) is None


def test_without_its_metrics_it_cannot_answer() -> None:
    (silent,) = told(local_array, gallery("local_stack", without=("local_load_sectors",))).unanswered
    assert silent.missing == ("local_load_sectors",)


def test_local_memory_relieves_dram_only_where_it_is_most_of_the_traffic() -> None:
    found = local_array.find(gallery("local_stack"))
    assert found is not None
    assert "DRAM" in found.relieves
    part = local_array.find(gallery("local_stack", global_load_sectors=2e8, l2_sectors_sm=2e8))
    assert part is not None
    assert "DRAM" not in part.relieves
    assert part.saved_ns < found.saved_ns


def test_loops_and_addresses_go_with_an_index_that_is_constant() -> None:
    """Half an operation on floats an access: what is neither is there for loops and addresses."""
    idle = {f"fp{bits}_{op}_per_cycle": 0.0 for bits in (16, 32, 64) for op in ("add", "mul", "fma")}
    cycles, accesses = (gallery("local_stack").value(key) for key in ("sm_cycles_elapsed", "local_load_requests"))
    used = idle | {"fp32_fma_per_cycle": 2 * 32 * accesses / cycles}
    unknown, known = (local_array.find(gallery("local_stack", **floats)) for floats in (idle, used))
    assert unknown is not None
    assert known is not None
    assert known.saved_ns > unknown.saved_ns
    assert "ALU pipe" in known.relieves
    assert "ALU pipe" not in unknown.relieves  # it may be what does the work


def test_of_local_memory_that_may_be_no_array_its_loops_are_not_promised() -> None:
    """A build with -G has each variable in local memory: all its moves and calls are not there for an index."""
    idle = {f"fp{bits}_{op}_per_cycle": 0.0 for bits in (16, 32, 64) for op in ("add", "mul", "fma")}
    cycles, accesses = (gallery("local_stack").value(key) for key in ("sm_cycles_elapsed", "local_load_requests"))
    used = idle | {"fp32_fma_per_cycle": 2 * 32 * accesses / cycles}
    known = local_array.find(gallery("local_stack", **used))
    untold = local_array.find(gallery("local_stack", ("local_spilling_requests",), **used))
    assert known is not None
    assert untold is not None
    assert untold.assumed
    assert untold.saved_ns < known.saved_ns
