"""Results as plain dicts for JSON: numbers are numbers, what is absent is null, each names its schema."""

from __future__ import annotations

from ncu_assist.render.json.archive import list_json, verify_json
from ncu_assist.render.json.diff import diff_json
from ncu_assist.render.json.machine import ceilings_json, doctor_json
from ncu_assist.render.json.metrics import explain_json, metrics_json
from ncu_assist.render.json.run import show_json
from ncu_assist.render.json.versions import outcome_json

__all__ = [
    "ceilings_json",
    "diff_json",
    "doctor_json",
    "explain_json",
    "list_json",
    "metrics_json",
    "outcome_json",
    "show_json",
    "verify_json",
]
