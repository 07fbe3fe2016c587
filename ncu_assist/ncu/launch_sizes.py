"""The sizes of a launch, which a report says twice: in fields of the launch and as metrics. The two have to agree."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import prod

from ncu_assist.errors import DamagedData
from ncu_assist.ncu.contents import LaunchFacts

BLOCKS, THREADS = "launch__grid_size", "launch__block_size"  # of a grid and of a block, in reports of every release
# What a kernel's launch says twice: the metric, the field and, of a size, which of the three.
SAID_TWICE: dict[str, tuple[str, int | None]] = {
    f"launch__{what}_dim_{axis}": (what, i) for what in ("grid", "block") for i, axis in enumerate("xyz")
}
SAID_TWICE |= {"launch__context_id": ("context", None), "launch__stream_id": ("stream", None)}
NAN = float("nan")
Number = Callable[[str], float | None]  # a metric of one launch by name; None where it has none


def checked_sizes(
    launches: Sequence[LaunchFacts], name_lists: Sequence[Sequence[str]], values: array[float]
) -> tuple[LaunchFacts, ...]:
    """Return the launches with their grids in blocks; ``values`` as in Contents.

    Raises DamagedData where the fields of a kernel's launch and its metrics differ.
    """
    start, found = 0, []
    for index, one in enumerate(launches):
        names = name_lists[one.names]
        found.append(_checked(index, one, partial(_number, names, values, start)) if one.is_kernel else one)
        start += len(names)
    return tuple(found)


def _number(names: Sequence[str], values: array[float], start: int, name: str) -> float | None:
    place = bisect_left(names, name)
    value = values[start + place] if place < len(names) and names[place] == name else NAN
    return value if value == value else None


def _checked(index: int, one: LaunchFacts, number: Number) -> LaunchFacts:
    if one.interrupted:
        if number(BLOCKS) is not None or number(THREADS) is not None:
            raise DamagedData(f"the report is damaged: no kernel is launched with 0 x 0 x 0, as launch {index}")
        return one
    one = _in_blocks(one, number)
    said: list[tuple[str, str, object, float]] = []
    for name, (field, axis) in SAID_TWICE.items():
        value = getattr(one, field)
        said.append((name, field, value, value if axis is None else value[axis]))
    said += [(BLOCKS, "grid", one.grid, prod(one.grid)), (THREADS, "block", one.block, prod(one.block))]
    for name, field, shown, value in said:
        metric = number(name)
        if metric is not None and metric != value:
            raise DamagedData(f"the report is damaged: {field} of launch {index} is {shown}, its {name} is {metric:g}")
    return one


def _in_blocks(one: LaunchFacts, number: Number) -> LaunchFacts:
    """Return a launch with its grid in blocks: ncu 2019 and 2020 write it in threads, and the number of blocks too."""
    x, y, z = (threads // size for threads, size in zip(one.grid, one.block, strict=True))
    in_threads = one.grid == (x * one.block[0], y * one.block[1], z * one.block[2])
    return replace(one, grid=(x, y, z)) if in_threads and number(BLOCKS) == x * y * z else one
