"""Results as text for a terminal: readable at 80 columns, coloured only where the terminal shows colours."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ncu_assist.render.terminal.archive import list_text, verify_text
    from ncu_assist.render.terminal.diff import diff_text
    from ncu_assist.render.terminal.machine import ceilings_text, doctor_text
    from ncu_assist.render.terminal.metrics import explain_text, metrics_text
    from ncu_assist.render.terminal.run import brief_text, show_text
    from ncu_assist.render.terminal.style import Style
    from ncu_assist.render.terminal.versions import outcome_text

__all__ = [
    "Style",
    "brief_text",
    "ceilings_text",
    "diff_text",
    "doctor_text",
    "explain_text",
    "list_text",
    "metrics_text",
    "outcome_text",
    "show_text",
    "verify_text",
]

_HOMES = {
    "list_text": "archive",
    "verify_text": "archive",
    "diff_text": "diff",
    "ceilings_text": "machine",
    "doctor_text": "machine",
    "explain_text": "metrics",
    "metrics_text": "metrics",
    "brief_text": "run",
    "show_text": "run",
    "Style": "style",
    "outcome_text": "versions",
}


def __getattr__(name: str) -> object:
    """Import what is used: a command needs one of these modules, and each imports what it renders."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
