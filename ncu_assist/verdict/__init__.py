"""Samples of two versions to faster, slower, same or unclear, with the reason and how sure it is."""

from __future__ import annotations

from ncu_assist.verdict.deciding import MARGIN, MINIMUM_PAIRS, compare, is_one_ratio, paired_speedup, select
from ncu_assist.verdict.records import REASONS, Cycles, Likely, Verdict, VerdictReason, Word, not_comparable
from ncu_assist.verdict.samples import LIKELY_LONG, LIKELY_SHORT, clock_note
from ncu_assist.verdict.unpaired import MINIMUM_SAMPLES, compare_durations, compare_unpaired

__all__ = [
    "LIKELY_LONG",
    "LIKELY_SHORT",
    "MARGIN",
    "MINIMUM_PAIRS",
    "MINIMUM_SAMPLES",
    "REASONS",
    "Cycles",
    "Likely",
    "Verdict",
    "VerdictReason",
    "Word",
    "clock_note",
    "compare",
    "compare_durations",
    "compare_unpaired",
    "is_one_ratio",
    "not_comparable",
    "paired_speedup",
    "select",
]
