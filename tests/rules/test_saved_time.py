"""How busy a unit can be: as a loop of nothing else was on such a GPU, else an assumption."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_ceilings import ceilings, point
from shape_facts import made

from ncu_assist.ceilings import Rate, Spread
from ncu_assist.rules.model.savings import REACHABLE, loads, reachable

XU = Rate("pipe", "xu", "inst", "ncu", Spread(1e-3, 1e-3, 1e-3, 2), 1e12, 0.5, 99.9, "made__up", 1500.0)


def test_a_measured_pipe_replaces_the_assumption() -> None:
    facts = made({"pipe_xu": 90.0, "sm_cycles_active": 100.0, "sm_cycles_elapsed": 100.0, "l2_data_busy": 45.0})
    measured = replace(facts, ceilings=replace(ceilings(), rates=(XU,)))
    assert loads(facts)["XU pipe"] == pytest.approx(1.0)
    assert loads(measured)["XU pipe"] == pytest.approx(90.0 / 99.9)


@pytest.mark.parametrize("name", ["L2 data", "FMA pipe", "LSU pipe"])
def test_what_was_not_measured_stays_assumed(name: str) -> None:
    assert reachable(replace(made({}), ceilings=ceilings()), name) == REACHABLE


@pytest.mark.parametrize(("a_cycle", "share"), [(3.76, 0.94), (1.9, REACHABLE), (None, REACHABLE)])
def test_issue_slots_reach_what_a_loop_filled_where_that_is_more(a_cycle: float | None, share: float) -> None:
    """An FMA pipe of 64 lanes takes an instruction in every other cycle: its loop says nothing of issue slots."""
    fma = replace(XU, name="fma", per_cycle_per_sm=a_cycle, pct_of_peak=94.0)
    measured = replace(made({}), ceilings=replace(ceilings(), rates=(fma,)))
    assert reachable(measured, "instruction issue") == pytest.approx(share)
    assert reachable(made({}), "instruction issue") == REACHABLE


def test_reads_from_l2_are_held_against_the_measured_rate() -> None:
    """4 MB in a microsecond are 4 TB/s, half of what this GPU's L2 delivered."""
    facts = made({"l2_sectors_read": 4e6 / 32, "l2_output_busy": 10.0}, duration_ns=1_000.0)
    half = replace(facts, ceilings=replace(ceilings(), l2=(point("hit", 1, 0, 1 << 30, 8e12),)))
    assert loads(facts)["L2 output"] == pytest.approx(0.1 / REACHABLE)
    assert loads(half)["L2 output"] == pytest.approx(0.5)
