"""From the tidy metrics of a run to one value a metric: by launch, and over all launches of one workload."""

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
    """Tell whether the catalogue knows a metric, or its share of peak, by ncu's name: others need not be read."""
    return name in _NAMES or name.removesuffix(OF_PEAK) in _NAMES or STALL.fullmatch(name) is not None


# The keys that a way needs are rows too, so that the names of all rows and those that ways need by name are all.
_NAMES = (
    frozenset(name for row in CATALOGUE.values() for name in row.names)
    | frozenset(part for row in ROWS.values() for way in row.ways for part in way.parts if isinstance(part, str))
    | TABLE_NAMES
    | frozenset(SM_LIMIT_NAMES)
)


def catalogue_sha256() -> str:
    """Return a hash of what ``is_used`` goes by: it changes with the catalogue."""
    return hashlib.sha256("\n".join([STALL.pattern, OF_PEAK, *sorted(_NAMES)]).encode()).hexdigest()


MOST_REPEATS = 50  # more say no more of how far a counter strays, and take seconds where a program has thousands


def by_launch(metrics: pd.DataFrame) -> dict[int, Values]:
    """Return the numbers of each launch by ncu's name; text metrics and metrics without a value are left out."""
    names = metrics["metric"].astype("category").cat
    launch, value = metrics["launch"].to_numpy(), metrics["value"].to_numpy()
    return Columns(launch, names.codes.to_numpy(), names.categories.tolist(), value).by_launch()


def combine(run: Run, metrics: pd.DataFrame, workload: str | None) -> Combined:
    """Return the metrics of the launches of ``workload``, of all launches when it is None, as one.

    Each metric in the way that the catalogue declares; of different kernels only sums are told. A launch that was
    interrupted says nothing of the others, and is left out unless there are no others.
    """
    return combine_tables(run, by_launch(metrics), workload)


def combine_tables(run: Run, tables: Mapping[int, Values], workload: str | None) -> Combined:
    """Return what ``combine`` does, from the answer of ``by_launch``: for several workloads of one run."""
    calls: dict[int, list[Launch]] = {}
    chosen = [one for one in run.launches if workload in (None, one.workload)]
    for one in [one for one in chosen if not one.interrupted] or chosen:
        calls.setdefault(one.repeat, []).append(one)
    return combine_repeats(workload, list(calls.values()), tables)


def combine_repeats(workload: str | None, calls: Sequence[Sequence[Launch]], tables: Mapping[int, Values]) -> Combined:
    """Return calls of the same work as one; what launched other kernels than the first call is no repeat of it.

    Of more than 50 calls 50 are taken, evenly spread.
    """
    some = calls[:: ceil(len(calls) / MOST_REPEATS)] if calls else calls
    made = [combine_launches(workload, call, [tables.get(one.index, {}) for one in call]) for call in some]
    if not made:
        return Combined(workload, (), ())
    first, *others = made
    return replace(first, further=tuple(one for one in others if _shapes(one) == _shapes(first)))


def combine_launches(workload: str | None, launches: Sequence[Launch], tables: Sequence[Values]) -> Combined:
    """Return the metrics of these launches as one; ``tables`` holds the numbers of each."""
    return Combined(workload, tuple(launches), tuple(tables))


def _shapes(combined: Combined) -> list[object]:
    return [(one.signature, one.grid, one.block) for one in combined.launches]
