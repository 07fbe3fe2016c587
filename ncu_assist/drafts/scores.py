"""Whether what a model predicted of a metric came true, by what was measured before and after its change."""

from __future__ import annotations

from math import isfinite, log

from ncu_assist.drafts.records import Prediction, Score

# Both sides stray, each as far as any repeat that was recorded (diff/noise.py, WITHIN): up to twice that is no change.
BEYOND_NOISE = 2.0
# Of a change on a log scale, on which changes multiply: who says 4x and gets 2x was half right, who gets 16x has not
# understood it either. On that scale the demand is as hard for 5 % as for 20x, which a fixed percentage is not. The
# tool's own estimates on the recorded ladder of lightning_decode come to 0.9 of it (history: 3.04x said, 2.76x came).
LEAST, MOST = 0.5, 2.0
# Near zero a log says nothing: conflicts that were to fall to a twentieth and vanished came true. What falls below a
# tenth of what it was is gone, for who predicts that and for what happens.
GONE = 0.1


def score(prediction: Prediction, before: float | None, after: float | None, noise: float = 0.0) -> Score:
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
