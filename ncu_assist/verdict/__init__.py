"""Samples of two versions to faster, slower, same or unclear, with the reason and how sure it is."""

from __future__ import annotations

from ncu_assist.verdict.deciding import (
    LIKELY_CHANGE,
    MARGIN,
    MINIMUM_PAIRS,
    Likely,
    Verdict,
    Word,
    compare,
    compare_durations,
    not_comparable,
    select,
)
from ncu_assist.verdict.reasons import REASONS, Reason

__all__ = [
    "LIKELY_CHANGE",
    "MARGIN",
    "MINIMUM_PAIRS",
    "REASONS",
    "Likely",
    "Reason",
    "Verdict",
    "Word",
    "compare",
    "compare_durations",
    "not_comparable",
    "select",
]
