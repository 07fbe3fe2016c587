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
