"""All rules on one launch: findings by the time that they could save, what cannot be answered, what misleads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ncu_assist.rules.base import Finding, Rule, Severity, severity
from ncu_assist.rules.bounds import bounded_ns
from ncu_assist.rules.facts import Facts

DONE, UNEXPLAINED = "at-", "unexplained"  # ids of rules that say that a kernel is done, or that none knows


@dataclass(frozen=True)
class Ranked:
    """A finding with what it could win: ``estimated_speedup`` is the time now over the time without it."""

    finding: Finding
    saved_ns: float
    estimated_speedup: float
    severity: Severity


@dataclass(frozen=True)
class Unanswered:
    """A rule that could not answer: the metrics that the report lacks."""

    rule: str
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong with a launch, the first finding first; ``findings`` is never empty where there are counters."""

    findings: tuple[Ranked, ...]
    unanswered: tuple[Unanswered, ...]


def diagnose(facts: Facts, rules: Mapping[str, Rule]) -> Diagnosis:
    """Return what all rules say: what could win most first; where nothing is worth it, which ceiling is reached.

    A remark (`info`) explains no kernel's time, so it does not stand before a ceiling, nor before `unexplained`.
    """
    found: list[Finding] = []
    silent: list[Unanswered] = []
    for rule in rules.values():
        absent = [key for key in rule.NEEDS if facts.get(key) is None]
        missing = tuple(key for key in absent if key not in facts.combined.not_applicable)
        if missing:
            silent.append(Unanswered(rule.ID, missing))
        elif not absent and (finding := rule.find(facts)):
            found.append(finding)
    ranked = sorted((_ranked(one, facts) for one in found), key=_order)
    if ranked and ranked[0].severity == "info" and not _is_done(ranked[0]):
        ranked.sort(key=lambda one: one.finding.rule != UNEXPLAINED)
    return Diagnosis(tuple(ranked), tuple(silent))


def _order(one: Ranked) -> tuple[bool, bool, bool, float]:
    is_remark = one.severity == "info"
    return is_remark, is_remark and not _is_done(one), one.finding.rule == UNEXPLAINED, -one.saved_ns


def _is_done(one: Ranked) -> bool:
    return one.finding.rule.startswith(DONE)


def _ranked(finding: Finding, facts: Facts) -> Ranked:
    now = facts.duration_ns
    saved = min(finding.saved_ns, bounded_ns(finding, facts))
    share = saved / now if now else 0.0
    return Ranked(finding, saved, now / (now - saved) if saved < now else float("inf"), severity(share))
