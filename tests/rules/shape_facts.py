"""Facts for tests of rules on the shape of a launch: several launches, stall shares, and single answers of a rule."""

from __future__ import annotations

from dataclasses import replace

from factories import DEVICE, STALL
from made_counters import side
from made_facts import gallery as of_case
from made_facts import told
from unknown import lacking

from ncu_assist.record import Device
from ncu_assist.rules import Facts, Finding, Rule

__all__ = ["Counters", "found", "made", "missing", "of_case", "saved_share", "without"]

Counters = dict[str, float]


def made(*launches: Counters, duration_ns: float = 100_000.0, device: Device | None = DEVICE, **stalls: float) -> Facts:
    """Return facts with these counters, by key of the catalogue, a mapping a launch; ``stalls`` in percent."""
    by_name = {STALL.format(reason): share for reason, share in stalls.items()}
    if stalls:
        by_name[STALL.format("selected")] = 100.0 - sum(stalls.values())
    return Facts(side(*(launches or ({},)), duration_ns=duration_ns, by_name=by_name), device)


def found(rule: Rule, facts: Facts) -> Finding | None:
    """Return what a rule finds; it must be able to answer."""
    diagnosis = told(rule, facts)
    assert not [one for one in diagnosis.unanswered if set(one.missing) & set(rule.NEEDS)]
    return diagnosis.findings[0].finding if diagnosis.findings else None


def saved_share(rule: Rule, facts: Facts) -> float:
    """Return the part of the time that fixing what a rule finds could save, within the next limit; 0 for nothing."""
    return sum(one.saved_ns for one in told(rule, facts).findings) / facts.duration_ns


def missing(rule: Rule, facts: Facts) -> tuple[str, ...]:
    """Return the metrics that a rule says it lacks."""
    diagnosis = told(rule, facts)
    assert not diagnosis.findings
    return diagnosis.unanswered[0].missing


def without(facts: Facts, key: str) -> Facts:
    """Return facts whose report lacks a metric."""
    tables = tuple(lacking(key, table) for table in facts.combined.tables)
    return replace(facts, combined=replace(facts.combined, tables=tables))
