"""What a claim predicted, held against what the counters of parent and draft say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ncu_assist.analysis.diff import Change
from ncu_assist.drafts import score
from ncu_assist.drafts.records import Claim, Score
from ncu_assist.suggest.evidence import name_of
from ncu_assist.suggest.evidence.records import Item
from ncu_assist.suggest.reply import item_of


def scores(claim: Claim, items: Sequence[Item], changes: Sequence[Change]) -> tuple[Score, ...]:
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


def target_moved(claim: Claim, items: Sequence[Item], changes: Sequence[Change]) -> bool:
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
