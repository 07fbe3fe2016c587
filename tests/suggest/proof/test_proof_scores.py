"""A prediction came true where the metric moved as said, beyond its noise and by about the factor."""

from __future__ import annotations

import pytest

from ncu_assist.analysis.diff.records import Change
from ncu_assist.store.drafts import Claim, Direction, MetricPrediction
from ncu_assist.suggest.evidence.records import EvidenceItem
from ncu_assist.suggest.proof.judging import by_target, score, target_moved


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


ITEMS = (EvidenceItem("E1", "a ratio", "ratio", 12.5, "%"), EvidenceItem("E2", "bytes", "bytes", 8.0, "byte"))


@pytest.mark.parametrize(
    ("ratio", "count", "named", "fate"),
    [
        (25.0, 9.0, ("E1", "E2"), "kept"),  # the first one decides, as long as it can be told
        (12.5, 4.0, ("E1", "E2"), "unproven"),
        (None, 4.0, ("E1", "E2"), "kept"),  # two kernels have no one ratio; the bytes fell
        (None, 9.0, ("E1", "E2"), "unproven"),
        (None, 4.0, ("E1",), "unproven"),
        (25.0, 4.0, ("no counter", "E2"), "unproven"),
    ],
)
def test_the_first_counter_that_can_be_told_decides(
    ratio: float | None, count: float, named: tuple[str, ...], fate: str
) -> None:
    changes = [
        Change("ratio", "a ratio", "%", 12.5, ratio, None, "improved"),
        Change("bytes", "bytes", "byte", 8.0, count, None, "improved"),
    ]
    directions: dict[str, Direction] = {"E1": "up", "E2": "down", "no counter": "up"}
    predictions = tuple(MetricPrediction(name, directions[name], 2.0) for name in named)
    claim = Claim("", "", "slug", predictions=predictions)
    moved = target_moved(claim, ITEMS, changes)
    assert by_target(predictions, moved).word == fate
    assert (moved is None) == (ratio is None and named == ("E1",))
