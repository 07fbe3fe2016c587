"""Two runs to one answer: which is faster, what changed in the counters, and what of that got worse."""

from __future__ import annotations

from ncu_assist.diff.bottleneck import Bottleneck, bottleneck, bottleneck_of_launch
from ncu_assist.diff.comparing import DiffOptions, FullDiff, diff_in_full, diff_runs
from ncu_assist.diff.flagging import flags_heading
from ncu_assist.diff.pairing import Confidence, LaunchPair, Paired, pair_launches
from ncu_assist.diff.records import Change, ChangeWord, Diff, Difference, Flag, LaunchDiff, Role, Side

__all__ = [
    "Bottleneck",
    "Change",
    "ChangeWord",
    "Confidence",
    "Diff",
    "DiffOptions",
    "Difference",
    "Flag",
    "FullDiff",
    "LaunchDiff",
    "LaunchPair",
    "Paired",
    "Role",
    "Side",
    "bottleneck",
    "bottleneck_of_launch",
    "diff_in_full",
    "diff_runs",
    "flags_heading",
    "pair_launches",
]
