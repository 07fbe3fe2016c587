"""What becomes of a draft, decided from what its proof gave: kept, rejected with the reason, or unproven."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite, log

from ncu_assist.analysis.diff import Change
from ncu_assist.harness.exam.client import Examined
from ncu_assist.store.draft_records import Claim, FateWord, MetricPrediction, Score
from ncu_assist.suggest.evidence.counters import name_of
from ncu_assist.suggest.evidence.records import EvidenceItem
from ncu_assist.suggest.proof.cheats import Cheat
from ncu_assist.suggest.reply.form import item_of
from ncu_assist.verdict import REASONS, Verdict

# Both sides stray, each as far as any repeat that was recorded (diff/noise.py, WITHIN): up to twice that is no change.
BEYOND_NOISE = 2.0
# Of a change on a log scale, on which changes multiply: who says 4x and gets 2x was half right, who gets 16x has not
# understood it either. On that scale the demand is as hard for 5 % as for 20x, which a fixed percentage is not. The
# tool's own estimates on the recorded ladder of lightning_decode come to 0.9 of it (history: 3.04x said, 2.76x came).
LEAST, MOST = 0.5, 2.0
# Near zero a log says nothing: conflicts that were to fall to a twentieth and vanished came true. What falls below a
# tenth of what it was is gone, for who predicts that and for what happens.
GONE = 0.1


@dataclass(frozen=True)
class Fate:
    """A word and why, in words; the reason is empty for a draft that is kept."""

    word: FateWord
    reason: str = ""


class ProofEnded(Exception):
    """A proof is over before its last stage."""

    def __init__(self, word: FateWord, reason: str) -> None:
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
        return Fate("unproven", "right and faster, but the counter that it was to move has not moved the way predicted")
    return Fate("kept")


def scores(claim: Claim, items: Sequence[EvidenceItem], changes: Sequence[Change]) -> tuple[Score, ...]:
    """Return each prediction of a claim, scored by the change of its metric; without one it stays open."""
    by_name = {name_of(change.metric): change for change in changes}
    by_id = {item.id: item for item in items}
    found = []
    for prediction in claim.predictions:
        item = item_of(prediction.metric, by_id)
        change = by_name.get(item.name) if item else None
        before, after = (change.baseline, change.candidate) if change else (None, None)
        found.append(score(prediction, before, after, _noise(change)))
    return tuple(found)


def target_moved(claim: Claim, items: Sequence[EvidenceItem], changes: Sequence[Change]) -> bool:
    """Tell whether the metric that the claim predicts first moved the way it says, however far."""
    if not claim.predictions:
        return False
    first = replace(claim, predictions=(replace(claim.predictions[0], factor=None),))
    return scores(first, items, changes)[0].came_true is True


def _noise(change: Change | None) -> float:
    """Return how far one side may stray, in the unit of the metric."""
    if change is None or change.noise is None:
        return 0.0
    if change.in_points:
        return change.noise
    return change.noise * max(abs(change.baseline or 0.0), abs(change.candidate or 0.0))


def score(prediction: MetricPrediction, before: float | None, after: float | None, noise: float = 0.0) -> Score:
    """Hold a prediction against a metric's value in the parent and in the draft.

    ``noise`` is how far one side may stray, in the unit of the metric: of a diff's change that is its ``noise``
    where ``in_points``, else its ``noise`` times the larger of the two values. It came true where the metric moved in
    the direction said by more than both sides stray and, with a factor, by that factor within the margins above. None
    where a value is missing or not a number.
    """
    if before is None or after is None or not (isfinite(before) and isfinite(after)):
        return Score(prediction, before, after, None)
    moved = after - before if prediction.direction == "up" else before - after
    right = moved > BEYOND_NOISE * abs(noise)
    return Score(prediction, before, after, right and _by_factor(prediction.factor, before, after))


def _by_factor(factor: float | None, before: float, after: float) -> bool:
    """Tell whether a change is of the size said; what starts at zero has no factor, and none was said of many."""
    if factor is None or before == 0 or not isfinite(factor):
        return True
    ratio = after / before
    if 0 <= factor <= GONE and 0 <= ratio <= GONE:
        return True
    if factor <= 0 or factor == 1 or ratio <= 0:
        return False
    return LEAST <= log(ratio) / log(factor) <= MOST
