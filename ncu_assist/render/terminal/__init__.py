"""Results as text for a terminal: readable at 80 columns, coloured only where the terminal shows colours."""

from __future__ import annotations

from ncu_assist.render.terminal.archive import list_text, verify_text
from ncu_assist.render.terminal.diff import diff_text
from ncu_assist.render.terminal.machine import ceilings_text, doctor_text
from ncu_assist.render.terminal.metrics import explain_text, metrics_text
from ncu_assist.render.terminal.run import show_text
from ncu_assist.render.terminal.style import Style
from ncu_assist.render.terminal.versions import outcome_text

__all__ = [
    "Style",
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
