"""What names of metrics can be had: those of a report, or those that ncu knows on a chip."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from ncu_assist.ncu.catalogue.recorded_names import recorded_names
from ncu_assist.ncu.catalogue.spelling import ROLLUPS, split


@dataclass(frozen=True)
class Available:
    """Base names with the rollups that each has; an empty rollup where the name stands alone. ``where``: of what."""

    where: str
    rollups: Mapping[str, Collection[str]]

    def has(self, name: str) -> bool:
        base, rollup = split(name)
        return rollup in self.rollups.get(base, ())


def in_report(names: Iterable[str], where: str = "this report") -> Available:
    """Return what a report holds, from the names of its metrics."""
    rollups: dict[str, set[str]] = {}
    for base, rollup in map(split, names):
        rollups.setdefault(base, set()).add(rollup)
    return Available(where, rollups)


@functools.cache
def on_chip(chip: str | None) -> Available:
    """Return what ncu can collect on a recorded chip; on any of them when ``chip`` is None."""
    rollups: dict[str, tuple[str, ...]] = {}
    for recorded in recorded_names().values():
        if recorded.is_on(chip):
            base, rollup = split(recorded.name)
            rollups[base] = (*rollups.get(base, ()), *(ROLLUPS[recorded.kind] or (rollup,)))
    return Available(chip or "any recorded chip", rollups)
