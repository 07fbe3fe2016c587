"""Launches of one kernel in one shape are repeats of each other: what several of them say of either side."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

from ncu_assist.diff.pairing import LaunchPair, Paired
from ncu_assist.record import Launch


def with_repeats(paired: Paired) -> Paired:
    """Return the pairs of single launches that are the same on both sides as one, with what else repeats them.

    Launches of the same function, grid and block repeat the same work, in a foreign program as far as anyone can tell.
    """
    groups: dict[Hashable, list[LaunchPair]] = {}
    for place, pair in enumerate(paired.pairs):
        groups.setdefault(_work(pair) or place, []).append(pair)
    alone = _Alone(paired.only_baseline), _Alone(paired.only_candidate)
    pairs = tuple(_merged(pairs, alone) for pairs in groups.values())
    return Paired(pairs, alone[0].left, alone[1].left)


class _Alone:
    """The launches that only one side has, from which repeats are taken."""

    def __init__(self, launches: Sequence[Launch]) -> None:
        self.left = tuple(launches)

    def take(self, like: Launch) -> tuple[Launch, ...]:
        taken = tuple(one for one in self.left if _shape(one) == _shape(like))
        self.left = tuple(one for one in self.left if _shape(one) != _shape(like))
        return taken


def _shape(launch: Launch) -> Hashable:
    return launch.signature, launch.grid, launch.block


def _work(pair: LaunchPair) -> Hashable:
    """Return what the launches of a pair do; None for a chain, which is no single launch."""
    if not len(pair.baseline) == len(pair.candidate) == 1:
        return None
    return _shape(pair.baseline[0]), _shape(pair.candidate[0]), pair.confidence


def _merged(pairs: list[LaunchPair], alone: tuple[_Alone, _Alone]) -> LaunchPair:
    first = pairs[0]
    if _work(first) is None:
        return first
    before = _ordered([one for pair in pairs for one in pair.baseline], alone[0])
    after = _ordered([one for pair in pairs for one in pair.candidate], alone[1])
    if len(before) == len(after) == 1:
        return first
    common = first.range if all(pair.range == first.range for pair in pairs) else ()
    return replace(first, baseline=before, candidate=after, range=common, repeats=True)


def _ordered(launches: list[Launch], alone: _Alone) -> tuple[Launch, ...]:
    every: Iterable[Launch] = (*launches, *alone.take(launches[0]))
    return tuple(sorted(every, key=lambda one: one.index))
