"""In which order the changes of a diff are worth reading: what explains the time first, what stayed as it was last."""

from __future__ import annotations

from collections.abc import Iterable
from math import log

from ncu_assist.diff.bottleneck import Bottleneck
from ncu_assist.diff.flagging import BINDING, DURATION
from ncu_assist.diff.records import Change, ChangeWord

WORDS: tuple[ChangeWord, ...] = (
    "improved", "regressed", "changed", "undecided", "unchanged", "not-comparable", "missing",
)  # fmt: skip
MOVED: frozenset[ChangeWord] = frozenset(("improved", "regressed", "changed"))
# What is compared with a ratio: 25 points of a percentage stand beside a factor of e, twice as many beside e squared.
POINTS = 25.0
MOST = 3.0  # a factor of 20, or from nothing to something: beyond it, how much more says no more


def by_importance(changes: Iterable[Change], bottlenecks: Iterable[Bottleneck | None] = ()) -> tuple[Change, ...]:
    """Return changes with the time first, then those that moved, then those that may have, then the rest.

    Of those that moved what explains a slowdown comes first, then what is work on a resource that binds either side
    (``bottlenecks``), then the rest, what moved furthest first; a trifle of a whole comes behind them. The others
    stay in their order.
    """
    binding = {key for one in bottlenecks if one for key in BINDING.get(one.group, ())}
    return tuple(sorted(changes, key=lambda one: _order(one, binding)))


def has_moved(change: Change) -> bool:
    """Return whether a metric changed beyond its noise."""
    return change.verdict in MOVED


def _order(change: Change, binding: set[str]) -> tuple[bool, int, bool, bool, bool, float]:
    first = change.metric != DURATION
    if not has_moved(change):
        return first, 1 + WORDS.index(change.verdict), False, False, False, 0.0
    explains = change.role == "explains"
    return first, 0, not explains, not change.is_material, change.metric not in binding, -_size(change)


def _size(change: Change) -> float:
    """Return how far a metric moved, 0 to MOST."""
    before, after = change.baseline or 0.0, change.candidate or 0.0
    if change.in_points:
        return min(abs(after - before) / POINTS, MOST)
    return min(abs(log(after / before)), MOST) if before > 0 and after > 0 else MOST
