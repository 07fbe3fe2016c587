"""From the tidy metrics of a run to one value a metric: by launch, and over all launches of one workload."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, TypeVar

from ncu_assist.columns import Columns, Values, names_in
from ncu_assist.ncu.catalogue.derived import DERIVED, Derived, why_not_applicable
from ncu_assist.ncu.catalogue.metric import Combine, Metric
from ncu_assist.ncu.catalogue.metrics import CATALOGUE, STALL
from ncu_assist.record import Launch, Run

if TYPE_CHECKING:
    import pandas as pd

ISSUED = "selected"  # the state of a warp that issues: part of all warp states, but no stall
ABSENT = "absent"  # from the report
T = TypeVar("T")


@dataclass(frozen=True)
class Coverage:
    """Of how many launches a combined value is; ``reasons`` say, each once, why others have none: n/a (TMA), absent."""

    known: int
    launches: int
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Combined:
    """What the counters say of one workload of one version, all its launches together.

    Nothing is computed before it is asked for: of a program of thousands of launches few metrics are ever shown.
    """

    workload: str | None
    launches: tuple[Launch, ...]
    tables: tuple[Values, ...] = field(repr=False)

    @cached_property
    def values(self) -> Mapping[str, float | None]:
        """Return every key of CATALOGUE and DERIVED.

        None where the report lacks it or the launches cannot be added up, never 0.
        """
        return _Lazy([*CATALOGUE, *DERIVED], self._value)

    @cached_property
    def not_applicable(self) -> Mapping[str, str]:
        """Return why a ratio cannot be told: of traffic that there was none of, or that went another way."""
        return _Lazy(list(DERIVED), self._why_not)

    @cached_property
    def stalls(self) -> dict[str, float]:
        """Return the share of each stall reason in the states of all warps, in percent, largest first."""
        return _stalls(self.tables, self._times)

    @property
    def duration_ns(self) -> float | None:
        """Return the time of all launches together; None where that of one is not known."""
        return self.values["duration"]

    def only(self, launches: Iterable[Launch]) -> Combined:
        """Return what the counters say of some of these launches together."""
        kept = {one.index for one in launches}
        both = [(one, table) for one, table in zip(self.launches, self.tables, strict=True) if one.index in kept]
        return Combined(self.workload, tuple(one for one, _ in both), tuple(table for _, table in both))

    def coverage(self, key: str) -> Coverage | None:
        """Return of how many launches a value is; None where it is of all, or where there is none."""
        lacking = [table for table, own in zip(self.tables, self._own[key], strict=True) if own is None]
        if not lacking or self.values[key] is None:
            return None
        reasons = dict.fromkeys(_why_without(key, table) for table in lacking)
        return Coverage(len(self.tables) - len(lacking), len(self.tables), tuple(reasons))

    def is_weighted(self, key: str) -> bool:
        """Tell whether a value hangs on the times of the launches: their weighted mean, and not all have the same."""
        metric = CATALOGUE[key] if key in CATALOGUE else DERIVED[key]
        if metric.combine != "time-mean" or (isinstance(metric, Derived) and _is_of_sums(metric)):
            return False
        return len({own for own in self._own[key] if own is not None}) > 1

    @cached_property
    def _own(self) -> Mapping[str, list[float | None]]:
        """Every key of CATALOGUE and DERIVED to the value of each launch."""
        return _Lazy([*CATALOGUE, *DERIVED], self._of_each)

    def _of_each(self, key: str) -> list[float | None]:
        if key == "duration":
            return self._times
        if key in DERIVED:
            return [_number(DERIVED[key].value(table)) for table in self.tables]
        return [CATALOGUE[key].value(table) for table in self.tables]

    @cached_property
    def _times(self) -> list[float | None]:
        return [_duration_ns(one, table) for one, table in zip(self.launches, self.tables, strict=True)]

    def _value(self, key: str) -> float | None:
        if key == "duration":
            return _total(self._times)
        if key in DERIVED and _is_of_sums(DERIVED[key]):
            return _of_sums(DERIVED[key], self.values)
        metric = DERIVED[key] if key in DERIVED else CATALOGUE[key]
        return _combined(metric.combine, self._own[key], self._times)

    def _why_not(self, key: str) -> str:
        if not _without_traffic(DERIVED[key], self.tables):
            raise KeyError(key)
        return _why(self.tables)


class _Lazy(Mapping[str, T]):
    """A mapping whose values are computed once, when they are asked for; a key whose value cannot be is not in it."""

    def __init__(self, keys: Sequence[str], compute: Callable[[str], T]) -> None:
        self._keys, self._compute = dict.fromkeys(keys), compute
        self._known: dict[str, T] = {}

    def __getitem__(self, key: str) -> T:
        if key not in self._known:
            if key not in self._keys:
                raise KeyError(key)
            self._known[key] = self._compute(key)
        return self._known[key]

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._keys if key in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def is_used(name: str) -> bool:
    """Tell whether the catalogue knows a metric by its name at ncu: the others need not be read from an archive."""
    return name in _NAMES or STALL.fullmatch(name) is not None


_NAMES = frozenset(name for metric in CATALOGUE.values() for name in metric.names)


def catalogue_sha256() -> str:
    """Return a hash of what ``is_used`` goes by: it changes with the catalogue."""
    return hashlib.sha256("\n".join([STALL.pattern, *sorted(_NAMES)]).encode()).hexdigest()


def by_launch(metrics: pd.DataFrame) -> dict[int, Values]:
    """Return the numbers of each launch by ncu's name; text metrics and metrics without a value are left out."""
    names = metrics["metric"].astype("category").cat
    launch, value = metrics["launch"].to_numpy(), metrics["value"].to_numpy()
    return Columns(launch, names.codes.to_numpy(), names.categories.tolist(), value).by_launch()


def combine(run: Run, metrics: pd.DataFrame, workload: str | None) -> Combined:
    """Return the metrics of the launches of ``workload``, of all launches when it is None, as one.

    Counts add up, percentages and rates are weighted by duration, launch facts take the largest or the first.
    """
    return combine_tables(run, by_launch(metrics), workload)


def combine_tables(run: Run, tables: Mapping[int, Values], workload: str | None) -> Combined:
    """Return what ``combine`` does, from the answer of ``by_launch``: for several workloads of one run."""
    launches = tuple(one for one in run.launches if workload in (None, one.workload))
    return combine_launches(workload, launches, [tables.get(one.index, {}) for one in launches])


def combine_launches(workload: str | None, launches: Sequence[Launch], tables: Sequence[Values]) -> Combined:
    """Return the metrics of these launches as one; ``tables`` holds the numbers of each."""
    return Combined(workload, tuple(launches), tuple(tables))


def _duration_ns(launch: Launch, table: Values) -> float | None:
    return launch.duration_ns if launch.duration_ns is not None else CATALOGUE["duration"].value(table)


def _combined(how: Combine, values: Sequence[float | None], times: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    if how == "sum":
        return _total(values)
    if how == "time-mean":
        return _time_mean(values, times)
    return max(known) if how == "max" else known[0]


def _total(values: Sequence[float | None]) -> float | None:
    """Return the sum; None when one part is missing, for the rest of a sum is no sum."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _time_mean(values: Sequence[float | None], times: Sequence[float | None]) -> float | None:
    """Return the mean weighted by duration over the launches that have a value; equal values need no duration."""
    pairs = [(value, time) for value, time in zip(values, times, strict=True) if value is not None]
    if not pairs:
        return None
    if len({value for value, _ in pairs}) == 1:
        return pairs[0][0]
    weighted = [(value, time) for value, time in pairs if time is not None]
    total = sum(time for _, time in weighted)
    if len(weighted) < len(pairs) or total <= 0:
        return None
    return sum(value * time for value, time in weighted) / total


def _is_of_sums(derived: Derived) -> bool:
    """Tell whether the parts of a derived metric add up; else it is taken of each launch and then combined."""
    return all(CATALOGUE[key].combine == "sum" for key in derived.needs)


def _of_sums(derived: Derived, values: Mapping[str, float | None]) -> float | None:
    named = {_name(CATALOGUE[key]): value for key in derived.needs if (value := values[key]) is not None}
    return _number(derived.value(named))


def _name(metric: Metric) -> str:
    return metric.names[0]


def _number(value: float | None) -> float | None:
    return None if value is None or isnan(value) else value


def _without_traffic(derived: Derived, tables: Sequence[Values]) -> bool:
    """Return whether all launches answer NaN: the parts are there, but there was nothing to take a ratio of."""
    answers = [derived.value(table) for table in tables]
    return bool(answers) and all(answer is not None and isnan(answer) for answer in answers)


def _why_without(key: str, table: Values) -> str:
    """Return why one launch has no value."""
    return ABSENT if key not in DERIVED or DERIVED[key].value(table) is None else why_not_applicable(table)


def _why(tables: Sequence[Values]) -> str:
    reasons = {why_not_applicable(table) for table in tables}
    return max(reasons, key=len)  # 'n/a (TMA)' says more than 'n/a'


def _stalls(tables: Sequence[Values], times: Sequence[float | None]) -> dict[str, float]:
    names = {match.group(1): name for name in sorted(names_in(tables)) if (match := STALL.fullmatch(name))}
    combined = {reason: _time_mean([table.get(name) for table in tables], times) for reason, name in names.items()}
    known = {reason: value for reason, value in combined.items() if value is not None}
    total = sum(known.values())
    if total <= 0:
        return {}
    shares = {reason: 100.0 * value / total for reason, value in known.items() if reason != ISSUED}
    return dict(sorted(shares.items(), key=lambda item: (-item[1], item[0])))
