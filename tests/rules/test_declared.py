"""A rule that lacks a metric says so: whatever a finding rests on, alone or through code that rules share, is declared.

Of each rule a few cases of the fault gallery in which it finds something are taken, and of those the metrics that were
looked at, one after the other. Without one, the rule may still find something, or is told to be unanswered; silence, as
if the kernel were free of the fault, is what no report with too few sections may come to.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pytest
from made_facts import BENCHMARKS, gallery, made, told

from ncu_assist.frame import combine_launches
from ncu_assist.ncu.catalogue.metrics import CATALOGUE, STALL
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.pipeline.tuning import LARGER, MORE_STAGES, SMALLER
from ncu_assist.render.html.run_diagnosis import LOOKS_AT
from ncu_assist.rules import ON_ONE_RESOURCE, RULES, Facts, Rule, at_compute_roofline, atomic_contention
from ncu_assist.rules.model.diagnosis import NEAR_CEILING, OF_A_CALL, OF_THE_SPREAD, UNEXPLAINED
from ncu_assist.rules.model.libraries import ADVICE
from ncu_assist.rules.model.places import ABOUT

sys.path.insert(0, str(BENCHMARKS))
import gallery_scores as scores
import nvidia_rules

RULES_FOLDER = Path(__file__).parents[2] / "ncu_assist" / "rules"
CASES_EACH = 3
KEY_OF = {name: key for key, metric in CATALOGUE.items() for name in metric.names}
Table = Mapping[str, Any]


class Noting(dict[str, Any]):
    """The values of a launch by ncu's name, and which of them were looked at."""

    def __init__(self, values: Table, seen: set[str]) -> None:
        super().__init__(values)
        self.seen = seen

    def __contains__(self, name: object) -> bool:
        self.seen.add(str(name))
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.seen.add(name)
        return super().get(name, default)


def with_tables(facts: Facts, change: Callable[[Table], Table]) -> Facts:
    combined = facts.combined
    tables = [change(table) for table in combined.tables]
    return replace(facts, combined=combine_launches(combined.workload, combined.launches, tables))


def looked_at(rule: Rule, facts: Facts) -> set[str] | None:
    """Return the names of the metrics that a rule looks at where it finds something; None where it does not."""
    seen: set[str] = set()
    combined = facts.combined
    tables = [Noting(table, seen) for table in combined.tables]
    watched = replace(facts, combined=combine_launches(combined.workload, combined.launches, tables))
    return seen if rule.find(watched) else None


@cache
def cases() -> list[tuple[scores.Case, Facts]]:
    """Return the recorded cases with their facts, those of the tuned half first."""
    found = []
    for case in sorted((*scores.cases(), *scores.cases("blind")), key=lambda one: one.half != "tuned"):
        recorded = scores.combined_of(case) if case.profile else None
        if recorded:
            combined, report = recorded
            found.append((case, Facts(combined, report.device, ceilings(report.device), case.bytes, case.flops)))
    return found


ceilings = cache(scores.ceilings_of)


def fired(rule: Rule) -> Iterator[tuple[str, Facts, set[str]]]:
    """Yield cases in which a rule finds something, those that are of it first, with what it looked at."""
    for case, facts in sorted(cases(), key=lambda one: rule.ID not in (one[0].expect, *one[0].accept)):
        if all(facts.get(key) is not None for key in rule.NEEDS) and (seen := looked_at(rule, facts)) is not None:
            yield case.name, facts, seen


@pytest.mark.parametrize("rule", [rule for rule in RULES.values() if rule.NEEDS], ids=lambda rule: rule.ID)
def test_no_rule_is_silent_for_lack_of_a_metric_that_it_looks_at(rule: Rule) -> None:
    found = list(islice(fired(rule), CASES_EACH))
    assert found
    undeclared = []
    for name, facts, seen in found:
        states = {one for table in facts.combined.tables for one in table if STALL.fullmatch(one)}
        few = with_tables(facts, lambda table, kept=seen | states: {k: v for k, v in table.items() if k in kept})
        groups = {KEY_OF[one]: set(CATALOGUE[KEY_OF[one]].names) for one in seen - states if one in KEY_OF}
        for key, gone in {**groups, "warp states": states}.items():
            said = told(
                rule, with_tables(few, lambda table, gone=gone: {k: v for k, v in table.items() if k not in gone})
            )
            if not said.findings and not said.unanswered:
                undeclared.append(f"{name}: {key}")
    assert undeclared == []


def test_atomics_on_a_chip_whose_clock_of_l2_was_not_collected() -> None:
    (silent,) = told(atomic_contention, gallery("atomic_global_tickets", without=("l2_clock",))).unanswered
    assert silent.missing == ("l2_clock",)


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.ID)
def test_what_a_rule_declares_is_in_the_catalogue_and_declared_once(rule: Rule) -> None:
    declared = [*rule.NEEDS, *rule.USES]
    assert set(declared) <= set(ROWS)
    assert len(set(declared)) == len(declared)


def test_a_rule_that_finds_something_without_a_metric_is_not_unanswered() -> None:
    facts = gallery("atomic_shared_bins", without=("l2_clock",))
    assert [one.finding.rule for one in told(atomic_contention, facts).findings] == [atomic_contention.ID]
    assert told(atomic_contention, made()).unanswered[0].missing == atomic_contention.NEEDS


def test_every_metric_that_rules_ask_for_by_name_is_in_the_catalogue() -> None:
    """`Facts.value` and `Facts.get` take keys: a name that no row has would be absent from every report."""
    asked = set()
    for path in RULES_FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="facts"), attr="value" | "get"),
                    args=[ast.Constant(value=str(key))],
                ):
                    asked.add(key)
    assert len(asked) > 50
    assert asked <= set(ROWS)


def test_rules_stand_by_name_and_those_that_know_no_cause_at_the_end() -> None:
    *causes, nearly, none = RULES
    assert (nearly, none) == (NEAR_CEILING, UNEXPLAINED)
    assert causes == sorted(causes)


def test_every_table_of_ids_names_rules_that_there_are() -> None:
    rows = (rule for rows in ADVICE.values() for rule in rows if rule)
    named = {*chain.from_iterable(ON_ONE_RESOURCE), *OF_THE_SPREAD, *OF_A_CALL, *ABOUT, *rows}
    assert named | {*MORE_STAGES, *SMALLER, *LARGER} | {*chain.from_iterable(LOOKS_AT.values())} <= set(RULES)


def test_pages_and_the_scores_read_the_rules_of_nvidia_in_one_way() -> None:
    read: dict[str, list[str]] = {}
    for rule, _, _, ids in nvidia_rules.TRANSLATION:
        read.setdefault(rule, []).extend(ids)
    assert {rule: set(ids) for rule, ids in LOOKS_AT.items()} == {rule: set(read[rule]) for rule in LOOKS_AT}


def test_a_counter_of_instructions_that_a_chip_does_not_have_is_not_missing_there() -> None:
    gone = gallery("atomic_global_tickets", without=("pipe_tensor_gmma", "tensor_ops_bf16"))
    assert gone.device is not None
    (silent,) = told(at_compute_roofline, gone).unanswered
    assert silent.missing == ("tensor_ops_bf16", "pipe_tensor_gmma")
    turing = replace(gone, device=replace(gone.device, compute_capability="7.5"))
    assert told(at_compute_roofline, turing).unanswered == ()
