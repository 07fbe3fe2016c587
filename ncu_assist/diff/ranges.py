"""The NVTX ranges that launches of two runs have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ncu_assist.harness.names import RANGE, SEPARATOR, call_of
from ncu_assist.record import Launch

Path = tuple[str, ...]
INNERMOST = 8  # names from the inside out that are compared where the whole paths differ; deeper ones decide nothing


@dataclass(frozen=True)
class SharedRange:
    """A range that both runs have, and the positions of the launches in it, ascending."""

    path: Path
    baseline: tuple[int, ...]
    candidate: tuple[int, ...]


def shared_ranges(baseline: Sequence[Launch], candidate: Sequence[Launch]) -> list[SharedRange]:
    """Return the ranges that both sides have, each launch in one at most.

    Ranges are the same if their paths are; else if they are of one workload in runs of two versions; else if their
    innermost names are, the more of them the better, as in programs that one range with another name is around.
    """
    sides = _by_path(baseline), _by_path(candidate)
    found = []
    for key in (_whole, _call, *(_ending(length) for length in range(INNERMOST, 0, -1))):
        keyed = _by_key(sides[0], key), _by_key(sides[1], key)
        for name in [name for name in keyed[0] if name in keyed[1]]:
            found.append(SharedRange(_call(name), *(_taken(s, k[name]) for s, k in zip(sides, keyed, strict=True))))
    return found


def _by_path(launches: Sequence[Launch]) -> dict[Path, list[int]]:
    paths: dict[Path, list[int]] = {}
    for position, launch in enumerate(launches):
        path = launch.ranges or ((launch.workload,) if launch.workload is not None else ())
        if path:
            paths.setdefault(path, []).append(position)
    return paths


def _by_key(side: dict[Path, list[int]], key: Callable[[Path], Path]) -> dict[Path, list[Path]]:
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
