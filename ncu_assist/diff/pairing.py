"""Which launch of one run is to be held against which of the other, and how sure that is."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal

from ncu_assist.diff.gaps import gaps
from ncu_assist.diff.kernel_names import KernelName, kernel_name
from ncu_assist.diff.ranges import Path, shared_ranges
from ncu_assist.record import Launch

Confidence = Literal["nvtx", "exact", "base-name", "similar", "order"]
NO_WORD = re.compile(r"kernel|[\W\d_]")  # what kernels have in common that have nothing in common
CLOSE = 0.6  # above it two sequences are close matches (Python's documentation of difflib)
# Names are compared in about half a second in all: a pair takes 10 ns for each letter of one times each of the other
# (those of CUTLASS have thousands), and 40 µs besides. Of programs with more kernels that nothing else pairs, none is.
MOST_LETTERS, LETTERS_A_PAIR = 50_000_000, 4_000


@dataclass(frozen=True)
class LaunchPair:
    """One launch of each side, or several that stand together, as a chain and the kernel it was fused into.

    ``confidence`` says by what they were paired: the NVTX range alone, the same name and shape, the same function, a
    similar name, or only their place, as the one kernel that both sides have left. ``range`` is the range that both
    sides are in, empty where there is none. ``repeats``: several launches of a side are the same one again, and do not
    add up.
    """

    baseline: tuple[Launch, ...]
    candidate: tuple[Launch, ...]
    confidence: Confidence
    range: Path = ()
    repeats: bool = False


@dataclass(frozen=True)
class Paired:
    """All launches of both sides, each in one pair or in what its side alone has."""

    pairs: tuple[LaunchPair, ...]  # in the order of the baseline
    only_baseline: tuple[Launch, ...]
    only_candidate: tuple[Launch, ...]


@dataclass(frozen=True)
class _Placed:
    position: int
    launch: Launch
    name: KernelName


Placed = list[_Placed]


@dataclass(frozen=True)
class _Match:
    left: Placed
    right: Placed
    confidence: Confidence
    path: Path = ()


def _exact(one: _Placed) -> Hashable:
    return one.launch.signature, one.launch.grid, one.launch.block


# Each pairs what those before it left over. Equal keys pair by occurrence, the first with the first.
KEYS: tuple[tuple[Confidence, Callable[[_Placed], Hashable]], ...] = (
    ("exact", _exact),
    ("base-name", lambda one: (one.name.signature, one.launch.grid, one.launch.block)),
    ("base-name", lambda one: one.name.signature),
    ("base-name", lambda one: one.name.words),
    ("base-name", lambda one: one.name.qualified),
    ("base-name", lambda one: one.name.base),
)


def pair_launches(baseline: Sequence[Launch], candidate: Sequence[Launch]) -> Paired:
    """Return which launches belong together: by NVTX range, shape and name, function, similar names, else their place.

    Outside a range that both sides have, a launch pairs with one launch: nothing says that several together do its
    work. Swapping the sides swaps the answer and changes nothing else.
    """
    left, right = _placed(baseline), _placed(candidate)
    shared = shared_ranges(baseline, candidate)
    found: list[_Match] = []
    for one in shared:
        found += _in_range([left[i] for i in one.baseline], [right[i] for i in one.candidate], one.path)
    found += _by_keys(*_rest(left, right, found))
    # names and place say nothing about launches that are in a range of both sides, but in different ones
    ranged = {i for one in shared for i in one.baseline}, {i for one in shared for i in one.candidate}
    free = (
        [one for one in left if one.position not in ranged[0]],
        [one for one in right if one.position not in ranged[1]],
    )
    found += _by_similarity(*_rest(*free, found))
    found += _single_kernels(*_rest(*free, found), found)
    only = [tuple(one.launch for one in side) for side in _rest(left, right, found)]
    return Paired(_pairs(found), only[0], only[1])


def _placed(launches: Sequence[Launch]) -> Placed:
    names = {signature: kernel_name(signature) for signature in {launch.signature for launch in launches}}
    return [_Placed(position, launch, names[launch.signature]) for position, launch in enumerate(launches)]


def _rest(left: Placed, right: Placed, found: Iterable[_Match]) -> tuple[Placed, Placed]:
    """Return what of both sides is in no match."""
    found = list(found)
    taken = {one.position for match in found for one in match.left}
    gone = {one.position for match in found for one in match.right}
    return [one for one in left if one.position not in taken], [one for one in right if one.position not in gone]


def _in_range(left: Placed, right: Placed, path: Path) -> list[_Match]:
    """Return the matches within a range: all of it where one side is a single launch, else name by name.

    What is left over on both sides stands together, as sums: it is all the rest of the same work.
    """
    if _is_one_step(left, right):
        return [_Match(left, right, "nvtx", path)]
    found = _by_keys(left, right)
    rest = _rest(left, right, found)
    if len(rest[0]) == len(rest[1]):
        found += _by_similarity(*rest)
    elif not _is_called(left, right) and _is_one_kernel(*rest):
        found += _in_order(*rest, "order")
    if found or len(left) == len(right):
        found += _by_place(*_rest(left, right, found), found)
    rest = _rest(left, right, found)
    if all(rest):
        found.append(_Match(*rest, "nvtx"))
    return [replace(match, path=path) for match in found]


def _is_one_step(left: Placed, right: Placed) -> bool:
    """Return whether one side is a single launch that does all that the other does.

    A workload is one call, so there it does, unless the other side only repeats it. In a foreign program's range it
    does not if it is one of the other side's launches as it was: then the rest of them is gone, not fused.
    """
    (one, *others), more = sorted((left, right), key=len)
    if others or len(more) == 1:
        return not others
    kept = not _is_called(left, right) and _exact(one) in map(_exact, more)
    return not kept and len({each.launch.signature for each in more}) > 1


def _is_called(left: Placed, right: Placed) -> bool:
    """Return whether both are calls on a workload, which do the same work however many launches they make."""
    return all(one.launch.workload is not None for one in (*left, *right))


def _by_keys(left: Placed, right: Placed) -> list[_Match]:
    found: list[_Match] = []
    for confidence, key in KEYS:
        matches = _by_key(left, right, confidence, key)
        left, right = _rest(left, right, matches)
        found += matches
    return found


def _by_key(left: Placed, right: Placed, confidence: Confidence, key: Callable[[_Placed], Hashable]) -> list[_Match]:
    waiting: dict[Hashable, deque[_Placed]] = {}
    for one in right:
        waiting.setdefault(key(one), deque()).append(one)
    found = []
    for one in left:
        if same := waiting.get(key(one)):
            found.append(_Match([one], [same.popleft()], confidence))
    return found


def _by_similarity(left: Placed, right: Placed) -> list[_Match]:
    """Return the matches of kernels whose names are close, the closest first; of equals those that come first."""
    before, after = _by_kernel(left), _by_kernel(right)
    if sum(map(len, before)) * sum(map(len, after)) + LETTERS_A_PAIR * len(before) * len(after) > MOST_LETTERS:
        return []
    close = [
        (-ratio, i + j, old, new)  # of two that share a kernel the sum says which comes first, from either side
        for i, old in enumerate(before)
        for j, new in enumerate(after)
        if (ratio := _similarity(old, new)) >= CLOSE
    ]
    found: list[_Match] = []
    for _, _, old, new in sorted(close):
        if old in before and new in after:
            found += _in_order(before.pop(old), after.pop(new), "similar")
    return found


def _similarity(one: str, other: str) -> float:
    """Return how alike two names are, 0 to 1, the same from either side."""
    first, second = sorted(NO_WORD.sub("", name.lower()) for name in (one, other))
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    return matcher.ratio() if first and matcher.quick_ratio() >= CLOSE else 0.0


def _by_kernel(side: Placed) -> dict[str, Placed]:
    """Return launches by the least that names their kernel, in the order of the first of each."""
    found: dict[str, Placed] = {}
    for one in side:
        found.setdefault(one.name.base, []).append(one)
    return found


def _is_one_kernel(left: Placed, right: Placed) -> bool:
    return len(_by_kernel(left)) == len(_by_kernel(right)) == 1


def _single_kernels(left: Placed, right: Placed, found: Sequence[_Match]) -> list[_Match]:
    """Return the matches of the one kernel that is left on each side, in all or between the same pairs."""
    if _is_one_kernel(left, right):
        return _in_order(left, right, "order")
    matches = []
    for old, new in _gaps(left, right, found):
        if _is_one_kernel(old, new):
            matches += _in_order(old, new, "order")
    return matches


def _in_order(left: Placed, right: Placed, confidence: Confidence) -> list[_Match]:
    """Return the matches of one kernel with another: shape by shape, in each the first launch with the first.

    Another kernel may have its own shape for the same work: where the sides have other shapes, these pair in the order
    in which they come.
    """
    before, after = _by_shape(left), _by_shape(right)
    if set(before) == set(after):
        after = {shape: after[shape] for shape in before}
    groups = zip(before.values(), after.values(), strict=False)
    return [_Match([one], [other], confidence) for old, new in groups for one, other in zip(old, new, strict=False)]


def _by_shape(side: Placed) -> dict[Hashable, Placed]:
    found: dict[Hashable, Placed] = {}
    for one in side:
        found.setdefault((one.launch.grid, one.launch.block), []).append(one)
    return found


def _by_place(left: Placed, right: Placed, found: Iterable[_Match]) -> list[_Match]:
    """Return the matches of what lies between the same pairs: one by one where there are as many, else together."""
    matches = []
    for old, new in _gaps(left, right, found):
        steps = zip(([o] for o in old), ([n] for n in new), strict=True) if len(old) == len(new) else [(old, new)]
        matches += [_Match(one, other, "order") for one, other in steps]
    return matches


def _gaps(left: Placed, right: Placed, found: Iterable[_Match]) -> list[tuple[Placed, Placed]]:
    """Return what lies between the same pairs on both sides."""
    pairs = [(m.left[0].position, m.right[0].position) for m in found if len(m.left) == len(m.right) == 1]
    before, after = ({one.position: one for one in side} for side in (left, right))
    return [([before[i] for i in old], [after[i] for i in new]) for old, new in gaps(list(before), list(after), pairs)]


def _pairs(found: list[_Match]) -> tuple[LaunchPair, ...]:
    ordered = sorted(found, key=lambda match: match.left[0].position)
    return tuple(LaunchPair(_launches(m.left), _launches(m.right), m.confidence, m.path) for m in ordered)


def _launches(placed: Placed) -> tuple[Launch, ...]:
    return tuple(one.launch for one in placed)
