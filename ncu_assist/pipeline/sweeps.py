"""The sweeps of a kernel: an integer of a workload as an axis, for the versions that workloads are given for."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ncu_assist.analysis.history import Sweep
from ncu_assist.spec import Kernel, Version, Workload

LEAST = 2  # points of an axis


def sweeps_of(kernel: Kernel, measured: Collection[str | None]) -> tuple[Sweep, ...]:
    """Return the sweeps that kernel.toml sets up, of the workloads that were measured.

    Where a workload is for some versions only, its neighbours are those of its dtype that differ from it in one integer
    alone; one that is for all versions may be a point too, as the value that the ladder is measured with.
    """
    known = [workload for workload in kernel.workloads if workload.name in measured]
    found = (sweep for version in kernel.versions for sweep in _of_version(version, known))
    return tuple(dict.fromkeys(found))


def _of_version(version: Version, known: list[Workload]) -> Iterator[Sweep]:
    served = [workload for workload in known if version.serves(workload)]
    for own in (workload for workload in served if workload.versions):
        for axis in own.integers:
            points = {one.integers[axis]: one.name for one in served if _differs_in(axis, own, one)}
            if len(points) >= LEAST:
                yield Sweep(version.name, axis, tuple(sorted(points.items())))


def _differs_in(axis: str, one: Workload, other: Workload) -> bool:
    """Tell whether two workloads are the same but for one integer; a workload and itself are."""
    same = one.dtype == other.dtype and one.integers.keys() == other.integers.keys()
    return same and all(other.integers[name] == value for name, value in one.integers.items() if name != axis)
