"""Two runs to one answer: which is faster, what changed in the counters, and what of that got worse."""

from __future__ import annotations

from ncu_assist.diff.bottleneck import Bottleneck, bottleneck
from ncu_assist.diff.comparing import diff_runs
from ncu_assist.diff.records import Change, ChangeWord, Diff, Difference, Flag, LaunchDiff, Role, Side

__all__ = [
    "Bottleneck",
    "Change",
    "ChangeWord",
    "Diff",
    "Difference",
    "Flag",
    "LaunchDiff",
    "Role",
    "Side",
    "bottleneck",
    "diff_runs",
]
