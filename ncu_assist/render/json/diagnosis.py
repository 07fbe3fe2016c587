"""What the rules say as JSON: findings, warnings, and what could not be answered."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.ncu.code import Code
from ncu_assist.rules.diagnosis import Ranked
from ncu_assist.rules.of_run import Told
from ncu_assist.rules.places import places


def diagnosis_json(told: Told | None, code: Code | None = None) -> dict[str, Any]:
    """Return ``findings`` with the diagnosis first, ``warnings`` and ``unanswered``; empty lists without counters.

    ``lines`` of findings are empty without ``code``, that of all launches shown.
    """
    if told is None:
        return {"findings": [], "warnings": [], "unanswered": []}
    own = code.of([one.index for one in told.facts.combined.launches]) if code else None
    return {
        "findings": [_finding(one, told, own) for one in told.diagnosis.findings],
        "warnings": [{"id": one.id, "message": one.sentence} for one in told.warnings],
        "unanswered": [{"rule": one.rule, "missing": list(one.missing)} for one in told.diagnosis.unanswered],
    }


def _finding(ranked: Ranked, told: Told, code: Code | None) -> dict[str, Any]:
    finding = ranked.finding
    speedup = ranked.estimated_speedup
    return {
        "rule": finding.rule,
        "severity": ranked.severity,
        "message": finding.message,
        "estimated_speedup": speedup if math.isfinite(speedup) else None,
        "evidence": [{"metric": key, "value": told.facts.get(key), "unit": ROWS[key].unit} for key in finding.evidence],
        "lines": [asdict(place) for place in places(finding, code)] if code else [],
        "detail": finding.detail,
        "assumed": finding.assumed,
    }
