"""Results as text for a terminal: readable at 80 columns, coloured only where the terminal shows colours."""

from __future__ import annotations

from ncu_assist.render.terminal.ceilings import ceilings_text
from ncu_assist.render.terminal.comparison import diff_text
from ncu_assist.render.terminal.doctor import doctor_text
from ncu_assist.render.terminal.ladders import outcome_text
from ncu_assist.render.terminal.listing import list_text, verify_text
from ncu_assist.render.terminal.metrics import explain_text, metrics_text
from ncu_assist.render.terminal.run import show_text
from ncu_assist.render.terminal.style import Style

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
