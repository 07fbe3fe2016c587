"""A changed metric in words: its values, how far it moved, how far that is beside the baseline's repeats."""

from __future__ import annotations

from ncu_assist.analysis.diff import Change, Diff
from ncu_assist.analysis.records import PER_LAUNCH, Coverage
from ncu_assist.quantity import quantity

MOST = 100  # standard deviations; of counters that hardly stray it may be thousands
PART = "*"  # behind a value that is not of all launches


def values_text(change: Change) -> tuple[str, str]:
    """Return the values of both sides; why one is absent, or ``-``."""
    return _value(change, change.baseline, change.baseline_coverage), candidate_text(change)


def candidate_text(change: Change) -> str:
    """Return the value of the candidate."""
    return _value(change, change.candidate, change.candidate_coverage)


def delta_text(change: Change) -> str:
    """Return how far a metric moved, e.g. ``▲ +4.2 %``; with its distance from several baselines: ``…, +3.1@5``."""
    moved = _moved(change)
    return f"{moved}, {score_text(change)}" if moved and change.z is not None else moved


def score_text(change: Change) -> str:
    """Return the standard score over the repeats of the baseline and their number, ``+3.1@5``, as ncu writes it."""
    if change.z is None:
        return ""
    score = f"{change.z:+.1f}" if abs(change.z) < MOST else f">{MOST}" if change.z > 0 else f"<-{MOST}"
    return f"{score}@{change.repeats}"


def change_word(change: Change) -> str:
    """Return what became of a metric; ``per launch`` where a side has one value a launch and none over all."""
    return "per launch" if change.verdict == "missing" and change.note == PER_LAUNCH else change.verdict


def has_scores(diff: Diff) -> bool:
    """Tell whether any change has a standard score."""
    return any(change.z is not None for change in diff.changes)


def _value(change: Change, value: float | None, coverage: Coverage | None) -> str:
    if value is None:
        return change.note or "-"
    return quantity(value, change.unit) + (PART if coverage else "")


def _moved(change: Change) -> str:
    if change.baseline is None or change.candidate is None:
        return ""
    if change.baseline == change.candidate:
        return "="
    sign = "▲" if change.candidate > change.baseline else "▼"
    if change.delta is None:
        return f"{sign} new"
    amount = f"{change.delta:+.1f} pt" if change.in_points else f"{100 * change.delta:+.1f} %"
    if amount.strip("+- %pt") != "0.0":
        return f"{sign} {amount}"
    return "=" if change.verdict == "unchanged" else f"{sign} < 0.1 {amount.split()[1]}"
