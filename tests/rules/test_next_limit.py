"""What to try is said with numbers of the kernel: what it has now and would have, and which unit is the limit then."""

from __future__ import annotations

import pytest
from made_facts import gallery, made, told

from ncu_assist.rules import RULES, Ranked, diagnose, l1_bound, low_occupancy, tail_effect
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.savings import loads, next_limit


def first(name: str) -> Ranked:
    found = diagnose(gallery(name), RULES).first
    assert found is not None
    return found


def test_the_next_limit_is_the_busiest_unit_that_keeps_its_work() -> None:
    facts, found = gallery("local_stack"), first("local_stack")
    kept = {name: load for name, load in loads(facts).items() if name not in found.finding.relieves}
    assert found.next_limit is not None
    assert found.next_limit.load == pytest.approx(min(1.0, max(kept.values()) * found.estimated_speedup))
    assert kept[found.next_limit.name] == max(kept.values())
    assert f"then the {found.next_limit.name} is at" in found.finding.full_advice


def test_where_all_others_rest_there_is_no_next_limit() -> None:
    (found,) = told(low_occupancy, gallery("occupancy_registers", grid_size=132 * 4)).findings
    assert found.next_limit is None or found.next_limit.takes_the_time


@pytest.mark.parametrize(("speedup", "name"), [(1.43, None), (1.9, "instruction issue"), (3.1, "DRAM")])
def test_a_unit_that_is_not_at_its_limit_ends_no_gain(speedup: float, name: str | None) -> None:
    """Issue slots at 46 % of what can be filled are at 65 % when the time is 1.43 times shorter: they stop nothing."""
    facts = made(pipe_adu=68.0, issue_slots_busy=41.0, dram_throughput=39.0)
    finding = Finding(rule="pipe-bound", message="", saved_ns=0.0, evidence=(), relieves=("ADU pipe",))
    then = next_limit(finding, facts, speedup)
    assert (then.name if then else None) == name


def test_a_product_says_its_wavefronts_a_multiply_add() -> None:
    (found,) = told(l1_bound, gallery("l1_column_filter")).findings
    assert "wavefronts a multiply-add now, 0.25 with 8 x 8 results a thread" in found.finding.full_advice


def test_few_registers_say_with_how_many_more_warps_fit() -> None:
    (found,) = told(low_occupancy, gallery("occupancy_registers")).findings
    facts = gallery("occupancy_registers")
    assert f"{facts.value('theoretical_warps'):.0f} with {facts.value('registers'):.0f}" in found.finding.full_advice


def test_a_tail_names_no_block_size_with_which_fewer_warps_fit() -> None:
    """Blocks of 1024 threads with 120 KiB each: blocks of 128 that take as much would leave an SM 4 warps for 32."""
    (found,) = told(tail_effect, gallery("tail_one_wave_and_eight")).findings
    assert found.finding.advice.startswith("use smaller blocks or tiles")
    assert "with blocks of" not in found.finding.full_advice
