"""What becomes of a draft, decided from what its proof gave: kept, rejected with the reason, or unproven."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ncu_assist.drafts.cheats import Cheat
from ncu_assist.drafts.records import Word
from ncu_assist.harness.exam.client import Examined
from ncu_assist.verdict import REASONS, Verdict


@dataclass(frozen=True)
class Fate:
    """A word and why, in words; the reason is empty for a draft that is kept."""

    word: Word
    reason: str = ""


class Ended(Exception):
    """A proof is over before its last stage."""

    def __init__(self, word: Word, reason: str) -> None:
        super().__init__(reason)
        self.fate = Fate(word, reason)


def by_exam(draft: str, examined: Examined) -> Fate | None:
    """Return the fate of a draft that cheats, fails or is wrong; None for one that passed the exam.

    A way of cheating is named before what it led to.
    """
    for seen in examined.suspicions:
        return Fate("rejected", Cheat(seen.id, seen.words).verdict)
    if draft in examined.measured.failures:
        return Fate("rejected", examined.measured.failures[draft])
    checks = examined.measured.checks.get(draft, ())
    for check in checks:
        if not check.passed:
            return Fate("rejected", f"wrong on {check.workload}: {check.reason}")
    return None if checks else Fate("rejected", "no answer came")


def by_time(verdict: Verdict) -> Fate | None:
    """Return the fate of a draft that is not faster than its parent; None for one that is.

    ``unclear`` rejects too: what cannot be told apart from its parent is no improvement that can be proved.
    """
    if verdict.verdict == "faster":
        return None
    times = f" ({verdict.speedup:.3f}x)" if verdict.speedup else ""
    if verdict.verdict == "slower":
        return Fate("rejected", f"slower than its parent{times}")
    if verdict.verdict == "same":
        return Fate("rejected", f"as fast as its parent{times}, no faster")
    why = REASONS[verdict.reason].meaning if verdict.reason in REASONS else verdict.reason
    return Fate("rejected", f"not shown to be faster than its parent{times}: {why}")


def by_target(predictions: Sequence[object], moved: bool) -> Fate:
    """Return the fate of a draft that is right and faster: kept where the counter that it was to move has moved."""
    if not predictions:
        return Fate("unproven", "right and faster, but it predicted no counter that could show why")
    if not moved:
        return Fate("unproven", "right and faster, but the counter that it was to move has not moved as predicted")
    return Fate("kept")
