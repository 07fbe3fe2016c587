"""Combine the tidy metrics of a run into one value per metric, by launch and over all launches of one workload."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from ncu_assist.frame.columns import Columns, Values
from ncu_assist.frame.combined import Combined, Coverage
from ncu_assist.ncu.catalogue.memory_tables import OF_PEAK, TABLE_NAMES
from ncu_assist.ncu.catalogue.metrics import CATALOGUE, SM_LIMIT_NAMES, STALL
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.record import Launch, Run

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Combined",
    "Coverage",
    "by_launch",
    "catalogue_sha256",
    "combine",
    "combine_launches",
    "combine_repeats",
    "combine_tables",
    "is_used",
]


def is_used(name: str) -> bool:
    """Tell whether the catalogue uses a metric or its share of peak, by ncu's name. Other metrics need not be read."""
    return name in _NAMES or name.removesuffix(OF_PEAK) in _NAMES or STALL.fullmatch(name) is not None


# The keys that a way needs are rows too, so the names of all rows and the names in their ways are complete.
_NAMES = (
    frozenset(name for row in CATALOGUE.values() for name in row.names)
    | frozenset(part for row in ROWS.values() for way in row.ways for part in way.parts if isinstance(part, str))
    | TABLE_NAMES
    | frozenset(SM_LIMIT_NAMES)
)


def catalogue_sha256() -> str:
    """Return a hash of the names that ``is_used`` accepts. It changes with the catalogue."""
    return hashlib.sha256("\n".join([STALL.pattern, OF_PEAK, *sorted(_NAMES)]).encode()).hexdigest()


MOST_REPEATS = 50  # more repeats add nothing to the spread of a counter, and cost seconds in a program with thousands


def by_launch(metrics: pd.DataFrame) -> dict[int, Values]:
    """Return the numbers of each launch by ncu's name; text metrics and metrics without a value are left out."""
    names = metrics["metric"].astype("category").cat
    launch, value = metrics["launch"].to_numpy(), metrics["value"].to_numpy()
    return Columns(launch, names.codes.to_numpy(), names.categories.tolist(), value).by_launch()


def combine(run: Run, metrics: pd.DataFrame, workload: str | None) -> Combined:
    """Return the combined metrics of the launches of ``workload``, or of all launches if it is None.

    Each metric is combined as the catalogue declares. Different kernels give sums only. An interrupted launch says
    nothing about the others, so it is left out unless there are no others.
    """
    return combine_tables(run, by_launch(metrics), workload)


def combine_tables(run: Run, tables: Mapping[int, Values], workload: str | None) -> Combined:
    """Return the result of ``combine`` from the tables of ``by_launch``, to serve several workloads of one run."""
    calls: dict[int, list[Launch]] = {}
    chosen = [one for one in run.launches if workload in (None, one.workload)]
    for one in [one for one in chosen if not one.interrupted] or chosen:
        calls.setdefault(one.repeat, []).append(one)
    return combine_repeats(workload, list(calls.values()), tables)


def combine_repeats(workload: str | None, calls: Sequence[Sequence[Launch]], tables: Mapping[int, Values]) -> Combined:
    """Combine calls of the same work. A call that launched other kernels than the first call is no repeat of it.

    If there are more than 50 calls, 50 evenly spread calls are taken.
    """
    some = calls[:: ceil(len(calls) / MOST_REPEATS)] if calls else calls
    made = [combine_launches(workload, call, [tables.get(one.index, {}) for one in call]) for call in some]
    if not made:
        return Combined(workload, (), ())
    first, *others = made
    return replace(first, further=tuple(one for one in others if _shapes(one) == _shapes(first)))


def combine_launches(workload: str | None, launches: Sequence[Launch], tables: Sequence[Values]) -> Combined:
    """Return the combined metrics of these launches; ``tables`` has the numbers of each launch."""
    return Combined(workload, tuple(launches), tuple(tables))


def _shapes(combined: Combined) -> list[object]:
    return [(one.signature, one.grid, one.block) for one in combined.launches]
