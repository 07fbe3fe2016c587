"""What of two sequences lies between the same pairs of them."""

from __future__ import annotations

from bisect import bisect
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from typing import Literal

from ncu_assist.analysis.diff.kernel_names import KernelName, kernel_name, renamed
from ncu_assist.harness.events import RANGE, SEPARATOR, call_of
from ncu_assist.record import Launch
from ncu_assist.rules.model.libraries import library_kernel

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


Path = tuple[str, ...]
INNERMOST = 8  # names from the inside out that are compared where the whole paths differ; deeper ones decide nothing


def shared_ranges(
    baseline: Sequence[Launch], candidate: Sequence[Launch]
) -> list[tuple[Path, tuple[int, ...], tuple[int, ...]]]:
    """Return the ranges that both sides have, each with the positions of its launches on either side, ascending.

    A launch is in one at most.

    Ranges are the same if their paths are; else if they are of one workload in runs of two versions; else if their
    innermost names are, the more of them the better, as in programs that one range with another name is around.
    """
    sides = _by_path(baseline), _by_path(candidate)
    found = []
    for key in (_whole, _call, *(_ending(length) for length in range(INNERMOST, 0, -1))):
        keyed = _paths_by_key(sides[0], key), _paths_by_key(sides[1], key)
        for name in [name for name in keyed[0] if name in keyed[1]]:
            found.append((_call(name), _taken(sides[0], keyed[0][name]), _taken(sides[1], keyed[1][name])))
    return found


def _by_path(launches: Sequence[Launch]) -> dict[Path, list[int]]:
    paths: dict[Path, list[int]] = {}
    for position, launch in enumerate(launches):
        path = launch.ranges or ((launch.workload,) if launch.workload is not None else ())
        if path:
            paths.setdefault(path, []).append(position)
    return paths


def _paths_by_key(side: dict[Path, list[int]], key: Callable[[Path], Path]) -> dict[Path, list[Path]]:
    keyed: dict[Path, list[Path]] = {}
    for path in side:
        keyed.setdefault(key(path), []).append(path)
    keyed.pop((), None)
    return keyed


def _taken(side: dict[Path, list[int]], paths: list[Path]) -> tuple[int, ...]:
    return tuple(sorted(position for path in paths for position in side.pop(path)))


def _whole(path: Path) -> Path:
    return path


def _call(path: Path) -> Path:
    """Return the path without the version where ncu-assist's own ranges are outermost: the workload, then the rest."""
    ours = len(path) > 1 and path[0] == RANGE and SEPARATOR in path[1]
    return (call_of(path[1])[1], *path[2:]) if ours else path


def _ending(length: int) -> Callable[[Path], Path]:
    return lambda path: call[-length:] if len(call := _call(path)) >= length else ()


Confidence = Literal["nvtx", "exact", "base-name", "similar", "order"]


@dataclass(frozen=True)
class LaunchPair:
    """One launch of each side, or several that stand together, as a chain and the kernel it was fused into.

    ``confidence`` says by what they were paired: the NVTX range alone, the same name and shape, the same function, a
    name that says the same work, or only their place, in a range of both sides or as the only function of each.
    ``range`` is the range that both sides are in, empty where there is none. ``repeats``: several launches of a side
    are the same one again, and do not add up.
    """

    baseline: tuple[Launch, ...]
    candidate: tuple[Launch, ...]
    confidence: Confidence
    range: Path = ()
    repeats: bool = False


@dataclass(frozen=True)
class PairedLaunches:
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


def _same_shape(one: _Placed) -> Hashable:
    return one.name.signature, one.launch.grid, one.launch.block


# Each pairs what those before it left over: by a shape the first with the first, by a name alone what corresponds.
SHAPE_KEYS: tuple[tuple[Confidence, Callable[[_Placed], Hashable]], ...] = (
    ("exact", _exact),
    ("base-name", _same_shape),
)
NAME_KEYS: tuple[Callable[[_Placed], Hashable], ...] = (
    lambda one: one.name.signature,
    lambda one: one.name.words,
    lambda one: one.name.qualified,
    lambda one: one.name.base,
)


def pair_launches(baseline: Sequence[Launch], candidate: Sequence[Launch]) -> PairedLaunches:
    """Return which launches belong together: by NVTX range, shape and name, function, or similar names.

    Outside a range that both sides have, a launch pairs with one launch: nothing says that several together do its
    work. If nothing pairs and each side launched one function, that function was renamed, and its launches pair by
    place. Beside launches that pair, another function is other work. Launches of one function in other shapes pair
    where as many of them, or as many shapes, are on both sides: of a sort in eight passes and in three nothing says
    which pass is which. Swapping the sides swaps the answer and changes nothing else.
    """
    left, right = _placed(baseline), _placed(candidate)
    shared = shared_ranges(baseline, candidate)
    found: list[_Match] = []
    for path, of_baseline, of_candidate in shared:
        found += _in_range([left[i] for i in of_baseline], [right[i] for i in of_candidate], path)
    found += _by_keys(*_rest(left, right, found))
    # names and place say nothing about launches that are in a range of both sides, but in different ones
    ranged = {i for _, one, _ in shared for i in one}, {i for _, _, one in shared for i in one}
    free = (
        [one for one in left if one.position not in ranged[0]],
        [one for one in right if one.position not in ranged[1]],
    )
    found += _by_similarity(*_rest(*free, found), (left, right))
    if not found and _is_one_kernel(left, right) and left[0].name.base != right[0].name.base:
        found = _in_order(left, right, "order")
    only = [tuple(one.launch for one in side) for side in _rest(left, right, found)]
    return PairedLaunches(_pairs(found), only[0], only[1])


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
        found += _by_similarity(*rest, (left, right))
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
    rest = left, right
    for confidence, key in SHAPE_KEYS:
        found += _by_shape_key(*rest, confidence, key)
        rest = _rest(left, right, found)
    for name in NAME_KEYS:
        found += _by_name(*rest, found, name)
        rest = _rest(left, right, found)
    return found


def _by_shape_key(
    left: Placed, right: Placed, confidence: Confidence, key: Callable[[_Placed], Hashable]
) -> list[_Match]:
    waiting: dict[Hashable, deque[_Placed]] = {}
    for one in right:
        waiting.setdefault(key(one), deque()).append(one)
    found = []
    for one in left:
        if same := waiting.get(key(one)):
            found.append(_Match([one], [same.popleft()], confidence))
    return found


def _by_name(
    left: Placed, right: Placed, paired: Iterable[_Match], name: Callable[[_Placed], Hashable]
) -> list[_Match]:
    """Return the matches of launches of one function in other shapes: those that correspond.

    They lie between the same pairs of that function, for a level of a sort that comes later on one side is not one that
    comes earlier on the other.
    """
    before, after, bounds = _grouped(left, name), _grouped(right, name), _pairs_by(paired, name)
    found = []
    for one in before:
        same = bounds.get(one, [])
        shapes = {_same_shape(match.left[0]) for match in same}, {_same_shape(match.right[0]) for match in same}
        for old, new in _gaps(before[one], after.get(one, []), same):
            found += [_Match([o], [n], "base-name") for o, n in _corresponding(old, new, shapes)]
    return found


def _grouped(side: Placed, key: Callable[[_Placed], Hashable]) -> dict[Hashable, Placed]:
    found: dict[Hashable, Placed] = {}
    for one in side:
        found.setdefault(key(one), []).append(one)
    return found


def _pairs_by(paired: Iterable[_Match], key: Callable[[_Placed], Hashable]) -> dict[Hashable, list[_Match]]:
    found: dict[Hashable, list[_Match]] = {}
    for match in paired:
        found.setdefault(key(match.left[0]), []).append(match)
    return found


def _corresponding(
    left: Placed, right: Placed, paired: tuple[set[Hashable], set[Hashable]]
) -> list[tuple[_Placed, _Placed]]:
    """Return which launches of one function, in other shapes on either side, do the same work, as far as can be said.

    As many launches correspond one by one. Else as many shapes do, in the order in which they come, with the first
    launch of each for the first: one of a shape that is ``paired`` repeats what is, and is none of them. Of eight
    levels and three nothing says which of one is which of the other.
    """
    if len(left) == len(right):
        return list(zip(left, right, strict=True))
    before, after = (
        _grouped([one for one in side if _same_shape(one) not in shapes], _same_shape)
        for side, shapes in zip((left, right), paired, strict=True)
    )
    if len(before) != len(after):
        return []
    groups = zip(before.values(), after.values(), strict=True)
    return [pair for old, new in groups for pair in zip(old, new, strict=False)]


def _by_similarity(left: Placed, right: Placed, everything: tuple[Placed, Placed]) -> list[_Match]:
    """Return the matches of kernels that are one under two names; ``everything`` is what the names are unique in.

    Kernels of a library are named by its makers, so their names say nothing about those of one's own.
    """
    before, after = _by_kernel(left), _by_kernel(right)
    if not before or not after:
        return []
    old_names, new_names = (_by_library(side) for side in everything)
    pairs = [
        pair
        for library in old_names
        for pair in renamed(old_names[library], new_names.get(library, ()), of_library=bool(library))
    ]
    found = [_in_order(before[old], after[new], "similar") for old, new in pairs if old in before and new in after]
    return list(chain.from_iterable(found))


def _by_library(side: Placed) -> dict[str, list[KernelName]]:
    found: dict[str, list[KernelName]] = {}
    for one in {each.name: each for each in side}.values():
        kernel = library_kernel(one.launch)
        found.setdefault(kernel.library if kernel else "", []).append(one.name)
    return found


def _by_kernel(side: Placed) -> dict[Hashable, Placed]:
    """Return launches by the least that names their kernel, in the order of the first of each."""
    return _grouped(side, lambda one: one.name.base)


def _is_one_kernel(left: Placed, right: Placed) -> bool:
    return len(_by_kernel(left)) == len(_by_kernel(right)) == 1


def _in_order(left: Placed, right: Placed, confidence: Confidence) -> list[_Match]:
    """Return the matches of one kernel with another: shape by shape, in each the first launch with the first.

    Another kernel may have its own shapes for the same work: as many of these pair in the order in which they come,
    else as many launches. Nothing says more.
    """
    before, after = _by_shape(left), _by_shape(right)
    if set(before) == set(after):
        after = {shape: after[shape] for shape in before}
    groups: Iterable[tuple[Placed, Placed]] = zip(before.values(), after.values(), strict=False)
    if len(before) != len(after):
        groups = [(left, right)] if len(left) == len(right) else []
    return [_Match([one], [other], confidence) for old, new in groups for one, other in zip(old, new, strict=False)]


def _by_shape(side: Placed) -> dict[Hashable, Placed]:
    return _grouped(side, lambda one: (one.launch.grid, one.launch.block))


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
