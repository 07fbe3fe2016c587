"""Flags: the metrics that got worse, and what that means beside what the time did."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ncu_assist.diff.records import Change, Flag, Role
from ncu_assist.quantity import quantity
from ncu_assist.verdict import Verdict, Word

DURATION = "duration"


@dataclass(frozen=True)
class Telling:
    """What is said of metrics that got worse: their role, the heading of their list, how the sentence of each ends."""

    role: Role
    heading: str
    ending: str


# Time decides, and only what it decides can be explained: what is likely faster or slower is not known to be.
TELLINGS: dict[Word, Telling] = {
    "slower": Telling("explains", "What got worse and explains the slowdown", "explains the slowdown"),
    "faster": Telling("side-effect", "What got worse as a side effect", "side effect, it is faster"),
    "same": Telling("undecided", "What got worse (the time stayed the same)", "undecided, it is as fast"),
    "unclear": Telling(
        "undecided",
        "What got worse (which way the time went is not settled)",
        "undecided, which way the time went is not settled",
    ),
}


def with_roles(changes: tuple[Change, ...], verdict: Verdict) -> tuple[Change, ...]:
    """Return the changes with a role for each regressed one; none where the runs cannot be compared."""
    telling = TELLINGS.get(verdict.verdict)
    if telling is None:
        return changes
    return tuple(replace(c, role=telling.role) if c.verdict == "regressed" else c for c in changes)


def flags(changes: tuple[Change, ...], verdict: Verdict) -> tuple[Flag, ...]:
    """Return a flag for each change that has a role; that the duration rose explains no slowdown."""
    told = (change for change in changes if change.role != "none" and change.metric != DURATION)
    return tuple(Flag(change.metric, change.role, _sentence(change, verdict)) for change in told)


def flags_heading(verdict: Verdict) -> str:
    """Return what the list of flags is called; empty where there are none, between runs that cannot be compared."""
    telling = TELLINGS.get(verdict.verdict)
    return telling.heading if telling else ""


def _sentence(change: Change, verdict: Verdict) -> str:
    baseline, candidate = change.baseline or 0.0, change.candidate or 0.0
    moved = "rose" if candidate > baseline else "fell"
    numbers = f"from {quantity(baseline, change.unit)} to {quantity(candidate, change.unit)}"
    return f"{change.label} {moved} {numbers}: {TELLINGS[verdict.verdict].ending}"
