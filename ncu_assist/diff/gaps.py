"""What of two sequences lies between the same pairs of them."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from itertools import accumulate

Gap = tuple[list[int], list[int]]


def gaps(left: Sequence[int], right: Sequence[int], pairs: Iterable[tuple[int, int]]) -> list[Gap]:
    """Return the positions of both sides that lie between the same pairs, for each gap that has some on both sides.

    Between pairs that cross one another there is no telling where, so only pairs that cross no other bound a gap.
    """
    fixed = _uncrossed(sorted(pairs))
    before = _by_gap(left, [one for one, _ in fixed])
    after = _by_gap(right, [other for _, other in fixed])
    return [(before[gap], after[gap]) for gap in before if gap in after]


def _by_gap(positions: Sequence[int], bounds: list[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for position in positions:
        found.setdefault(bisect(bounds, position), []).append(position)
    return found


def _uncrossed(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pairs, ascending on the left, whose right side lies above all before it and below all after it."""
    others = [other for _, other in pairs]
    highest = list(accumulate(others, max))
    lowest = list(accumulate(reversed(others), min))[::-1]
    return [pair for pair, high, low in zip(pairs, highest, lowest, strict=True) if high == pair[1] == low]
