"""Flags: the metrics that got worse, each as the explanation of a slowdown or as a side effect."""

from __future__ import annotations

from dataclasses import replace

from ncu_assist.diff.records import Change, Flag, Role
from ncu_assist.quantity import quantity
from ncu_assist.verdict import Verdict

DURATION = "duration"


def with_roles(changes: tuple[Change, ...], verdict: Verdict) -> tuple[Change, ...]:
    """Return the changes with a role for each regressed one; none where the runs cannot be compared.

    Time decides: where the candidate is slower, or likely so, a regressed metric explains it, else it is a side effect.
    """
    if verdict.verdict == "not-comparable":
        return changes
    slower = "slower" in (verdict.verdict, verdict.likely)
    role: Role = "explains" if slower else "side-effect"
    return tuple(replace(c, role=role) if c.verdict == "regressed" else c for c in changes)


def flags(changes: tuple[Change, ...], verdict: Verdict) -> tuple[Flag, ...]:
    """Return a flag for each change that has a role; that the duration rose explains no slowdown."""
    told = (change for change in changes if change.role != "none" and change.metric != DURATION)
    return tuple(Flag(change.metric, change.role, _sentence(change, verdict)) for change in told)


def _sentence(change: Change, verdict: Verdict) -> str:
    baseline, candidate = change.baseline or 0.0, change.candidate or 0.0
    moved = "rose" if candidate > baseline else "fell"
    numbers = f"from {quantity(baseline, change.unit)} to {quantity(candidate, change.unit)}"
    if change.role == "explains":
        return f"{change.label} {moved} {numbers}: explains the slowdown"
    known = {"faster": "it is faster", "same": "it is as fast"}.get(verdict.verdict, "it is not known to be slower")
    return f"{change.label} {moved} {numbers}: side effect, {known}"
