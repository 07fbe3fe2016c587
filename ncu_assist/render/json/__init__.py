"""Results as plain dicts for JSON: numbers are numbers, what is absent is null, each names its schema."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

_HOMES = {
    "list_json": "archive",
    "verify_json": "archive",
    "diff_json": "diff",
    "ceilings_json": "machine",
    "doctor_json": "machine",
    "explain_json": "metrics",
    "metrics_json": "metrics",
    "show_json": "run",
    "outcome_json": "versions",
}


def __getattr__(name: str) -> object:
    """Import what is used: a command needs one of these modules, and each imports what it renders."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
