"""What the counters say of one workload of one version: all launches together, the median of its repeats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from math import isnan
from statistics import median

from ncu_assist.columns import Values
from ncu_assist.frame.adding_up import added_up, how_to_combine, number, stall_shares, total
from ncu_assist.frame.lazy import Lazy
from ncu_assist.ncu.catalogue.derived import DERIVED, Derived, why_not_applicable
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import OVER_LAUNCHES, ROWS
from ncu_assist.record import Launch

ABSENT = "absent"  # from the report
STALL_SHARE = "stall_"  # a key of it and a reason is the share of that reason


@dataclass(frozen=True)
class Coverage:
    """Of how many launches a combined value is; ``reasons`` say, each once, why others have none: n/a (TMA), absent."""

    known: int
    launches: int
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Combined:
    """What the counters say of one workload of one version, all its launches together.

    Where the same work was profiled several times, ``launches`` are those of the first and ``further`` are the others:
    a value is then the median over all. Nothing is computed before it is asked for: of a program of thousands of
    launches few metrics are ever shown.
    """

    workload: str | None
    launches: tuple[Launch, ...]
    tables: tuple[Values, ...] = field(repr=False)
    further: tuple[Combined, ...] = field(default=(), repr=False)

    @cached_property
    def values(self) -> Mapping[str, float | None]:
        """Return every key of OVER_LAUNCHES.

        None where the report lacks it or the launches cannot be added up, never 0.
        """
        return Lazy(list(OVER_LAUNCHES), self._value)

    @cached_property
    def not_applicable(self) -> Mapping[str, str]:
        """Return why a ratio cannot be told: of traffic that there was none of, or that went another way."""
        return Lazy(list(DERIVED), self._why_not)

    @cached_property
    def stalls(self) -> dict[str, float]:
        """Return the share of each stall reason in the states of all warps, in percent, largest first."""
        if not self.further:
            return self._own_stalls
        every = [self._own_stalls, *(one.stalls for one in self.further)]
        middle = {reason: median(one.get(reason, 0.0) for one in every) for reason in dict.fromkeys(chain(*every))}
        return dict(sorted(middle.items(), key=lambda item: (-item[1], item[0])))

    @property
    def duration_ns(self) -> float | None:
        """Return the time of all launches together; None where that of one is not known."""
        return self.values["duration"]

    @property
    def repeats(self) -> int:
        """Return how often the same work was profiled."""
        return 1 + len(self.further)

    @property
    def typical_ns(self) -> float | None:
        """Return the duration of the launches that most of the time goes to, its mean over the time; None if unknown.

        A chain of short kernels is short, however long it is: its counters are put together from short passes.
        """
        known = [time for time in self._times if time is not None]
        return sum(time * time for time in known) / sum(known) if known and sum(known) > 0 else None

    def samples(self, key: str) -> list[float]:
        """Return a metric (a key, a stall share or a name of ncu) as each of the repeats has it, where it has it."""
        values = [one.of_first(key) for one in (self, *self.further)]
        return [value for value in values if value is not None]

    def of_first(self, key: str) -> float | None:
        """Return a metric (a key, a stall share or a name of ncu) of the first of the repeats alone."""
        if key in OVER_LAUNCHES:
            return self._value_of_first(key)
        if key.startswith(STALL_SHARE):
            return self._own_stalls.get(key.removeprefix(STALL_SHARE))
        return added_up(how_to_combine(key), [number(table.get(key)) for table in self.tables], self._times)

    def named(self, name: str) -> float | None:
        """Return a metric by ncu's name, over all launches: the median of the repeats."""
        known = self.samples(name)
        return median(known) if known else None

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
        metric = ROWS[key]
        if metric.combine != "time-mean" or (isinstance(metric, Derived) and _is_of_sums(metric)):
            return False
        return len({own for own in self._own[key] if own is not None}) > 1

    @cached_property
    def _own_stalls(self) -> dict[str, float]:
        return stall_shares(self.tables, self._times)

    @cached_property
    def _own(self) -> Mapping[str, list[float | None]]:
        """Every key of OVER_LAUNCHES to the value of each launch."""
        return Lazy(list(OVER_LAUNCHES), self._of_each)

    def _of_each(self, key: str) -> list[float | None]:
        if key == "duration":
            return self._times
        metric = ROWS[key]
        if isinstance(metric, Derived):
            return [number(metric.value(table)) for table in self.tables]
        return [metric.value(table) for table in self.tables]

    @cached_property
    def _times(self) -> list[float | None]:
        return [_duration_ns(one, table) for one, table in zip(self.launches, self.tables, strict=True)]

    def _value(self, key: str) -> float | None:
        if not self.further:
            return self._value_of_first(key)
        known = self.samples(key)
        return median(known) if len(known) == self.repeats else None

    def _value_of_first(self, key: str) -> float | None:
        if key == "duration":
            return total(self._times)
        metric = ROWS[key]
        if isinstance(metric, Derived) and _is_of_sums(metric):
            return _of_sums(metric, self.values)
        return added_up(metric.combine, self._own[key], self._times)

    def _why_not(self, key: str) -> str:
        if not _without_traffic(DERIVED[key], self.tables):
            raise KeyError(key)
        return _why(self.tables)


def _duration_ns(launch: Launch, table: Values) -> float | None:
    known = number(launch.duration_ns)
    return known if known is not None else CATALOGUE["duration"].value(table)


def _is_of_sums(derived: Derived) -> bool:
    """Tell whether the parts of a derived metric add up; else it is taken of each launch and then combined."""
    return all(CATALOGUE[key].combine == "sum" for key in derived.needs)


def _of_sums(derived: Derived, values: Mapping[str, float | None]) -> float | None:
    named = {CATALOGUE[key].names[0]: value for key in derived.needs if (value := values[key]) is not None}
    return number(derived.value(named))


def _without_traffic(derived: Derived, tables: Sequence[Values]) -> bool:
    """Return whether all launches answer NaN: the parts are there, but there was nothing to take a ratio of."""
    answers = [derived.value(table) for table in tables]
    return bool(answers) and all(answer is not None and isnan(answer) for answer in answers)


def _why_without(key: str, table: Values) -> str:
    """Return why one launch has no value."""
    metric = ROWS[key]
    is_absent = not isinstance(metric, Derived) or metric.value(table) is None
    return ABSENT if is_absent else why_not_applicable(table)


def _why(tables: Sequence[Values]) -> str:
    reasons = {why_not_applicable(table) for table in tables}
    return max(reasons, key=len)  # 'n/a (TMA)' says more than 'n/a'
