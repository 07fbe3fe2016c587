"""What two fixes win together: each takes work off the unit that bounds the other."""

from __future__ import annotations

from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import pytest
from made_facts import gallery, made

from ncu_assist.ceilings import ceilings_of
from ncu_assist.ceilings.floor import Floor
from ncu_assist.frame import combine_tables
from ncu_assist.rules import RULES, Facts, Finding, diagnose
from ncu_assist.rules.model.diagnosis import joint_gains
from ncu_assist.rules.model.of_run import RuleResults, results_of
from ncu_assist.rules.model.savings import START_NS, joint_ns, loads
from ncu_assist.store import Store

ROOT = Path(__file__).parents[2]

US = 1_000_000.0  # ns: long, so that the start of a kernel is next to nothing


def busy(**shares: float) -> Facts:
    return made(US, **shares)


def waste(rule: str, left: dict[str, float], facts: Facts, **more: Any) -> Finding:
    """Return what wasted sectors of one kind cost alone: what the units that it shares with others leave."""
    limits = loads(facts)
    alone = max(limits[unit] * (1.0 - part) for unit, part in left.items()) * facts.duration_ns
    kept = {"waste": "sectors_excessive", "relieves": tuple(left), "left": left, **more}
    return Finding(rule=rule, message="", saved_ns=alone, evidence=(), **kept)


def test_waste_of_loads_and_of_stores_adds_up() -> None:
    """Each is 40 % of the work of L2: alone 1.67x, together five times, as one wave of sectors in five is left."""
    facts = busy(l2_data_busy=90.0)
    one, other = (waste(rule, {"L2 data": 0.6}, facts) for rule in ("of-loads", "of-stores"))
    assert joint_ns((one, other), facts) == pytest.approx(US * 0.8, abs=START_NS)


def test_another_unit_bounds_both() -> None:
    facts = busy(l2_data_busy=90.0, l1_data_pipe=45.0)
    one, other = (waste(rule, {"L2 data": 0.6}, facts) for rule in ("of-loads", "of-stores"))
    assert joint_ns((one, other), facts) == pytest.approx(US * 0.5, abs=2 * START_NS)


def test_fixes_of_another_kind_win_of_what_is_left() -> None:
    facts = busy(l2_data_busy=90.0)
    one = waste("waste", {"L2 data": 0.6}, facts)
    other = waste("reuse", {"L2 data": 0.5}, facts, waste="samples")
    assert joint_ns((one, other), facts) == pytest.approx(US * (1 - 0.6 * 0.5), abs=START_NS)


@pytest.mark.parametrize("shared", [{"relieves": ("ADU pipe",)}, {"stalls": ("barrier",)}])
def test_of_what_may_be_the_same_time_nothing_is_said(shared: dict[str, tuple[str, ...]]) -> None:
    facts = busy(pipe_adu=50.0)
    one, other = (Finding(rule=rule, message="", saved_ns=0.3 * US, evidence=(), **shared) for rule in "ab")
    assert joint_ns((one, other), facts) is None
    apart = replace(other, relieves=(), stalls=("long_scoreboard",))
    assert joint_ns((one, apart), facts) == pytest.approx(US * (1 - 0.7 * 0.7), abs=START_NS)


def test_tensor_cores_keep_their_products_whatever_is_fixed() -> None:
    """A public report: tensor cores at 54 %, and two fixes that were to win 1.98x, which would keep them 107 % busy."""
    facts = busy(pipe_tensor_cycles=54.0, sm_cycles_active=1e6, sm_cycles_elapsed=1e6)
    fed = Finding(rule="a", message="", saved_ns=0.3 * US, evidence=(), relieves=("tensor cores",))
    other = Finding(rule="b", message="", saved_ns=0.4 * US, evidence=(), relieves=("ALU pipe",))
    assert joint_ns((fed, other), facts) == pytest.approx(US * (1 - 0.54 / 0.9), abs=START_NS + 1)


# Conflicts on a data pipe at 38 % behind an ADU pipe at 78 %: they win nothing as long as that is busy.
HIDDEN = {
    "sm_cycles_active": 200_000.0, "sm_cycles_elapsed": 200_000.0, "sm_count": 100.0, "issue_slots_busy": 20.0,
    "pipe_adu": 78.0, "l1_data_pipe": 38.0, "shared_wavefronts_all": 7.6e6, "shared_wavefronts": 7.6e6,
    "shared_wavefronts_excessive": 6e6, "dram_throughput": 2.0, "instructions": 1e7,
}  # fmt: skip


def test_what_is_hidden_behind_a_busier_unit_is_paired_with_its_cause() -> None:
    facts = busy(**HIDDEN)
    said = diagnose(facts, RULES)
    assert [one.finding.rule for one in said.findings if one.severity != "info"] == ["pipe-bound"]
    (pair,) = joint_gains(said, facts, RULES)
    assert pair.rules == ("pipe-bound", "shared-bank-conflict")
    assert pair.alone[1] == 1.0
    assert pair.carries_further
    adu = 0.78 / 0.9 * (1 - 0.75 * 0.78)  # what it still needs: as much of its work goes as of the time
    assert pair.together == pytest.approx(1 / adu, rel=0.01)
    assert pair.words.startswith("`pipe-bound` and `shared-bank-conflict` both fixed: up to ")


def test_a_remark_or_a_finding_alone_has_no_pair() -> None:
    for case in ("healthy_sum", "load_struct_member"):
        facts = gallery(case)
        assert joint_gains(diagnose(facts, RULES), facts, RULES) == ()


def test_both_never_win_less_than_one_nor_more_than_the_floor_allows() -> None:
    facts = busy(**HIDDEN)
    (pair,) = joint_gains(diagnose(facts, RULES), facts, RULES)
    assert pair.together >= max(pair.alone)
    floor = Floor("dram", 400_000, "byte", 1e9, "", False)  # 400 µs
    bound = replace(facts, floor=floor, median_ns=US)
    assert [one.together for one in joint_gains(diagnose(bound, RULES), bound, RULES)] == [pytest.approx(2.5)]


# lightning_decode, recorded: v5 takes the conflicts of v4 away, v6 the stores as well, v7 the loads of single columns.
STEPS = [
    ("v4_shared_memory", "b256_d96", "shared-bank-conflict", "v5_shared_padded", "v6_coalesced_store"),
    ("v5_shared_padded", "b64_d96", "uncoalesced-global-load", None, "v7_registers_128bit"),
    ("v5_shared_padded", "b4_d128", "uncoalesced-global-load", None, "v7_registers_128bit"),
]


@pytest.mark.parametrize(("version", "workload", "other", "one_fixed", "both_fixed"), STEPS)
def test_recorded_steps_won_together_what_was_estimated(
    version: str, workload: str, other: str, one_fixed: str | None, both_fixed: str
) -> None:
    """Stores are the first finding; what hides behind them won nothing alone, and with them what was estimated."""
    times, results = recorded(workload)
    pair = next(one for one in results[version].joint_gains if other in one.rules)
    assert pair.rules[0] == "uncoalesced-global-store"
    assert pair.carries_further
    assert abs(log(pair.together / (times[version] / times[both_fixed]))) < 0.3
    if one_fixed:
        assert pair.alone[1] == pytest.approx(times[version] / times[one_fixed], rel=0.02)


def recorded(workload: str) -> tuple[dict[str, float], dict[str, RuleResults]]:
    """Return medians and findings of the recorded versions of lightning_decode on a workload."""
    times, found = {}, {}
    for stored in Store(ROOT / "reports").runs("lightning_decode"):
        run, timing = stored.run, stored.run.timing(workload)
        if run.source == "recorded" and timing and run.device:
            combined = combine_tables(run, stored.by_launch(), workload)
            results = results_of(run, combined, ceilings_of(run.device, ROOT / "reports"))
            times[run.version] = timing.median_ns
            if results:
                found[run.version] = results
    return times, found
