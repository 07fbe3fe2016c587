"""What ranking must hold to, a test a principle, over the recorded kernels of the gallery and over made counters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from factories import samples_frame, times
from shape_facts import made

from ncu_assist.ceilings.floor import Floor
from ncu_assist.frame import combine_launches
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.quantity import times_as_fast
from ncu_assist.rules import RULES, Diagnosis, Facts, diagnose, severity
from ncu_assist.rules.model.savings import busiest_unit, loads
from ncu_assist.verdict import compare

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SPREAD = {"tail-effect", "workload-imbalance", "barrier-stall", "redundant-traffic"}  # remarks on the whole
ROOM = {"low-occupancy", "low-bytes-in-flight", "grid-underfill"}  # one family: too little under way
DONE = ("at-dram-roofline", "at-compute-roofline", "near-ceiling")
SECTIONS = {  # of ncu's basic set: throughputs, occupancy and the shape of a launch
    "sm_throughput": 30.0, "memory_throughput": 35.0, "dram_throughput": 35.0, "duration": 100_000.0,
    "theoretical_warps": 64.0, "theoretical_occupancy": 100.0, "achieved_warps": 60.0, "block_size": 256.0,
    "grid_size": 5_280.0, "sm_count": 132.0, "waves_per_sm": 5.0, "registers": 32.0,
}  # fmt: skip


@cache
def recorded() -> tuple[Any, ...]:
    """Every profiled case of the gallery with what the rules say of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import gallery_scores as scores

        parts = ((scores.REPORTS, ("main", "blind")), (scores.CHIP_REPORTS, ("chip",)))
        return tuple(one for folder, some in parts for one in scores.judged(folder=folder, parts=some))


def single() -> Iterator[Any]:
    """Those of one kernel, of which alone a unit takes the time."""
    return (one for one in recorded() if len(one.facts.by_kernel) == 1)


def said(facts: Facts) -> Diagnosis:
    return diagnose(facts, RULES)


def one(name: str) -> Any:
    return next(judged for judged in recorded() if judged.case.name == name)


def test_1_every_busy_resource_has_an_owner() -> None:
    owned, wrong = 0, []
    for judged in single():
        busiest, first = busiest_unit(judged.facts), judged.diagnosis.first
        if busiest is None or not busiest.takes_the_time:
            continue
        owned += 1
        relieves = busiest.name in first.finding.relieves or first.finding.is_done or first.finding.rule in DONE
        if not relieves and (first.severity == "low" or first.finding.rule == "unexplained"):
            wrong.append((judged.case.name, busiest.name, first.finding.rule))
    assert wrong == []
    assert owned >= 60


def test_2_no_dead_zone_between_busy_and_done() -> None:
    busy = [judged for judged in single() if (unit := busiest_unit(judged.facts)) is not None and unit.takes_the_time]
    assert [judged.case.name for judged in busy if judged.ids[0] == "unexplained"] == []
    named = {judged.diagnosis.first.finding.detail["unit"] for judged in busy if judged.ids[0] == "near-ceiling"}
    assert len(named) >= 2  # and it says of which unit, and how far from its ceiling
    for judged in busy:
        if judged.ids[0] == "near-ceiling":
            assert "it can reach" in judged.diagnosis.first.finding.message


def test_3_a_fault_is_worth_no_more_than_the_other_one_leaves() -> None:
    """Of two faults that hide each other each gain ends where the other's unit is at its limit."""
    checked = 0
    for judged in single():
        kept, time = loads(judged.facts), judged.facts.duration_ns
        for ranked in judged.diagnosis.further:
            beside = max((load for name, load in kept.items() if name not in ranked.finding.relieves), default=0.0)
            assert ranked.saved_ns <= max(0.0, 1.0 - beside) * time + 1.0, (judged.case.name, ranked.finding.rule)
            checked += 1
    assert checked >= 45


def test_4_savings_behind_a_busier_unit_are_none() -> None:
    conflicts = {"shared_wavefronts": 1e6, "shared_wavefronts_excessive": 9e5, "bank_conflicts_load": 9e5,
                 "bank_conflicts_store": 0.0, "bank_conflicts_atomic": 0.0, "l1_data_pipe": 38.0,
                 "sm_cycles_elapsed": 200_000.0, "sm_count": 132.0}  # fmt: skip
    alone, behind = (said(made(conflicts | {"pipe_xu": busy, "sm_cycles_active": 200_000.0})) for busy in (0.0, 78.0))
    assert [r.finding.rule for r in alone.findings if r.severity != "info"] == ["shared-bank-conflict"]
    assert "shared-bank-conflict" not in [r.finding.rule for r in behind.findings]


@pytest.mark.parametrize("name", ["flight_sum_one_float", "flight_halves_one_by_one", "dequantise_bytes"])
def test_5_bytes_in_flight_are_asked_for_by_bytes_and_waits(name: str) -> None:
    """Not by which unit happens to be the busiest while none is busy."""
    combined = one(name).facts.combined
    busier = {CATALOGUE["l1_data_pipe"].names[0]: 1.0 + combined.values["dram_throughput"]}
    tables = [{**table, **busier} for table in combined.tables]
    facts = replace(one(name).facts, combined=combine_launches(None, combined.launches, tables))
    unit = busiest_unit(facts)
    assert unit is not None
    assert not unit.takes_the_time
    assert said(facts).first.finding.rule == "low-bytes-in-flight"


def test_6_a_circle_is_no_answer() -> None:
    """132 blocks of two warps that stream at 4 % of DRAM: too few warps, blocks or bytes, and one of them is named."""
    facts = made(
        {"grid_size": 132.0, "block_size": 64.0, "sm_count": 132.0, "waves_per_sm": 0.03, "theoretical_warps": 64.0,
         "achieved_warps": 2.0, "dram_throughput": 4.0, "issue_slots_busy": 3.0, "block_limit_registers": 32.0,
         "block_limit_shared_memory": 32.0, "block_limit_blocks": 32.0, "block_limit_warps": 32.0, "max_warps": 16.0,
         "sm_cycles_active": 195.0, "sm_cycles_elapsed": 200.0, "sm_throughput": 4.0, "memory_throughput": 4.0},
        long_scoreboard=95.0,
    )  # fmt: skip
    first = said(facts).first
    assert first is not None
    assert first.finding.rule in ROOM
    assert first.severity == "high"


def test_7_a_rule_degrades_and_says_what_it_lacked() -> None:
    answer = said(made(SECTIONS))
    assert answer.first is not None
    assert answer.answer != "none"
    assert len(answer.unanswered) >= 10
    assert all(silent.missing for silent in answer.unanswered)  # never silently nothing


def test_8_done_needs_knowledge() -> None:
    """At DRAM's ceiling: known where rate and bytes are, assumed without a measured rate."""
    facts = one("healthy_add").facts
    known, assumed = said(facts).first, said(replace(facts, ceilings=None)).first
    assert (known.finding.rule, known.finding.assumed) == ("at-dram-roofline", False)
    assert assumed.finding.assumed
    wasted = said(replace(facts, algorithmic_bytes=int((facts.algorithmic_bytes or 0) / 3))).first
    assert not wasted.finding.is_done  # two thirds of its traffic nobody needs


@pytest.mark.parametrize("name", ["load_struct_member", "product_naive", "spill_register_tile"])
def test_9_no_promise_beats_the_floor(name: str) -> None:
    judged = one(name)
    facts = replace(judged.facts, median_ns=judged.facts.duration_ns)
    promised = said(facts).first.estimated_speedup
    floor = Floor("fma", 1_000_000, "flop", 1e15 / (facts.duration_ns / 1.1), "made", False)
    held = said(replace(facts, floor=floor)).first
    assert promised > 1.5
    assert held.estimated_speedup == pytest.approx(1.1)
    assert held.to_floor


def test_1_remarks_of_the_spread_stand_behind_a_unit_that_is_busy() -> None:
    """What is worth 2 to 10 % never stands before what takes the time."""
    for judged in single():
        busiest, first = busiest_unit(judged.facts), judged.diagnosis.first
        if busiest is not None and busiest.takes_the_time and first.severity == "low":
            assert first.finding.rule not in SPREAD, judged.case.name


NAMED = re.compile(r": (\d+(?:\.\d+)?)x")  # what a change that an advice names with its numbers wins


def test_11_a_finding_promises_the_most_of_what_its_advice_names() -> None:
    """Not what its fault costs altogether, which may stand beside it, said as such."""
    named, steps = 0, 0
    for judged in single():
        for found in judged.diagnosis.findings:
            told = [float(one) for one in NAMED.findall(found.finding.full_advice)]
            if told and not found.finding.launches:
                named += 1
                assert max(told) == float(times_as_fast(found.estimated_speedup)[:-1]), judged.case.name
            if beside := re.search(r"(\d+(?:\.\d+)?)x if the fault were gone", found.finding.full_advice):
                steps += 1
                assert float(beside[1]) > found.estimated_speedup
                assert found.severity == severity(found.saved_ns / judged.facts.duration_ns)
    assert named >= 8
    assert steps >= 3


def test_10_what_the_clock_explains_is_not_called_faster() -> None:
    before, after = ((1.03e5, 1700.0), (1e5, 1751.0))
    sides = [samples_frame(times(ns, seed, 100, noise=0.002), sm_clock_mhz=mhz)
             for seed, (ns, mhz) in enumerate((before, after))]  # fmt: skip
    verdict = compare(*sides)
    assert verdict.by_clock
    assert verdict.words == "faster at a higher clock"
