"""A prediction came true where the metric moved as said, beyond its noise and by about the factor."""

from __future__ import annotations

import pytest

from ncu_assist.store.drafts import Direction, MetricPrediction
from ncu_assist.suggest.proof.judging import score


@pytest.mark.parametrize(
    ("direction", "factor", "before", "after", "noise", "came_true"),
    [
        ("down", None, 32.0, 8.0, 0.0, True),
        ("up", None, 32.0, 8.0, 0.0, False),
        ("up", None, 40.0, 40.0, 0.0, False),
        ("up", None, 40.0, 40.9, 0.5, False),  # both sides may stray by half a point
        ("up", None, 40.0, 41.1, 0.5, True),
        ("down", 0.25, 32.0, 8.0, 0.0, True),
        ("down", 0.25, 32.0, 15.9, 0.0, True),  # half of it on a log scale
        ("down", 0.25, 32.0, 16.1, 0.0, False),
        ("down", 0.25, 32.0, 2.1, 0.0, True),  # twice of it
        ("down", 0.25, 32.0, 1.9, 0.0, False),
        ("down", 0.95, 100.0, 97.0, 0.0, True),
        ("down", 0.95, 100.0, 50.0, 0.0, False),
        ("down", 0.05, 1e6, 0.0, 0.0, True),  # gone
        ("down", 0.0, 1e6, 0.0, 0.0, True),
        ("down", 0.5, 1e6, 0.0, 0.0, False),
        ("up", 2.0, 10.0, 19.0, 0.0, True),
        ("up", 2.0, 10.0, 90.0, 0.0, False),
        ("up", 0.5, 10.0, 20.0, 0.0, False),  # which contradicts itself
        ("up", 1.0, 10.0, 20.0, 0.0, False),
        ("up", 3.0, 0.0, 5.0, 0.0, True),  # nothing has a factor over zero
        ("down", None, 0.0, 0.0, 0.0, False),
        ("up", None, None, 5.0, 0.0, None),
        ("up", None, 5.0, None, 0.0, None),
        ("up", None, 5.0, float("nan"), 0.0, None),
    ],
)
def test_what_came_true(
    direction: Direction, factor: float | None, before: float, after: float, noise: float, came_true: bool | None
) -> None:
    assert score(MetricPrediction("m", direction, factor), before, after, noise).came_true is came_true
