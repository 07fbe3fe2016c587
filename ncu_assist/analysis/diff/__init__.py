"""Two runs to one answer: which is faster, what changed in the counters, and what of that got worse."""

from __future__ import annotations

from ncu_assist.analysis.diff.comparing import DiffOptions, FullDiff, diff_in_full, diff_runs, outlier
from ncu_assist.analysis.diff.flagging import flags_heading, follows_sms
from ncu_assist.analysis.diff.pairing import Confidence, LaunchPair, PairedLaunches, pair_launches
from ncu_assist.analysis.diff.records import Change, ChangeWord, Diff, DiffSide, Flag, LaunchDiff, Role, RunDifference
from ncu_assist.frame.combined import PER_LAUNCH, Coverage

__all__ = [
    "PER_LAUNCH",
    "Change",
    "ChangeWord",
    "Confidence",
    "Coverage",
    "Diff",
    "DiffOptions",
    "DiffSide",
    "Flag",
    "FullDiff",
    "LaunchDiff",
    "LaunchPair",
    "PairedLaunches",
    "Role",
    "RunDifference",
    "diff_in_full",
    "diff_runs",
    "flags_heading",
    "follows_sms",
    "outlier",
    "pair_launches",
]
