"""What the rules say as JSON: findings, warnings, and what could not be answered."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.rules.model.diagnosis import Ranked
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.of_run import Told


def diagnosis_json(told: Told | None) -> dict[str, Any]:
    """Return ``findings`` with the diagnosis first, ``warnings`` and ``unanswered``; empty lists without counters.

    ``lines`` of findings are empty where the code was not read, and where no line is to blame.
    """
    if told is None:
        return {"findings": [], "warnings": [], "unanswered": []}
    return {
        "findings": [_finding(one, told) for one in told.diagnosis.findings],
        "warnings": [{"id": one.id, "message": one.sentence} for one in told.warnings],
        "unanswered": [{"rule": one.rule, "missing": list(one.missing)} for one in told.diagnosis.unanswered],
    }


def diagnosis_of_json(told: Told | None) -> dict[str, Any]:
    """Return the diagnosis of a run, and what it is of: all launches, or the kernel that most of the time goes to."""
    part = told.part if told else None
    return {
        "kernel": part.name if part else None,
        "time_share": part.share if part else None,
        "launches": [one.index for one in told.facts.combined.launches] if told else [],
        "lacks_counters": told.diagnosis.lacks_counters if told else True,
        **diagnosis_json(told),
    }


def _finding(ranked: Ranked, told: Told) -> dict[str, Any]:
    finding, facts = ranked.finding, told.about(ranked.finding)
    speedup = ranked.estimated_speedup
    return {
        "rule": finding.rule,
        "severity": ranked.severity,
        "message": finding.message,
        "advice": finding.advice,
        "estimated_speedup": speedup if math.isfinite(speedup) else None,
        "evidence": [_evidence(key, facts) for key in finding.evidence],
        "lines": [asdict(place) for place in ranked.places],
        "detail": finding.detail,
        "assumed": finding.assumed,
        "to_floor": ranked.to_floor,
        "launches": [one.index for one in facts.combined.launches],
    }


def _evidence(key: str, facts: Facts) -> dict[str, Any]:
    """Return one value; ``approximate`` where it was derived from other metrics and is only near."""
    value = {"metric": key, "value": facts.get(key), "unit": ROWS[key].unit}
    return {**value, "approximate": True} if facts.is_approximate(key) else value
