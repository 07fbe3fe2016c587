"""Combine the counters of one workload of one version: all launches together, and the median of its repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from math import isfinite, isnan, prod
from statistics import median
from typing import TypeVar

from ncu_assist.frame.columns import Values, names_in
from ncu_assist.ncu.catalogue.metric import BY_ISSUED, Combining, combining_of
from ncu_assist.ncu.catalogue.metrics import CATALOGUE, STALL
from ncu_assist.ncu.catalogue.rows import DERIVED, OVER_LAUNCHES, ROWS, Derived, is_impossible, why_not_applicable
from ncu_assist.ncu.catalogue.stalls import STALL_REASONS
from ncu_assist.quantity import quantity
from ncu_assist.record import Launch

Numbers = Sequence[float | None]  # one per launch, None if it has none
ISSUED = "selected"  # the state of a warp that issues: one of the warp states, but no stall
BY_NAME = {name: metric for metric in CATALOGUE.values() for name in metric.names}


def combining(name: str) -> Combining:
    """Return how a metric, given by ncu's name, is combined over launches."""
    return BY_NAME[name].combine if name in BY_NAME else combining_of(name)


def number(value: float | None) -> float | None:
    """Return a value, or None if it is NaN or infinite, such as a ratio over zero."""
    return None if value is None or not isfinite(value) else value


def made_one(how: Combining, values: Numbers, of: Callable[[str], Numbers]) -> float | None:
    """Return the value of all launches together; ``of`` gives the values of a key of the catalogue.

    None if part of a sum is missing, if the denominator of a ratio is unknown, or if launches that cannot be combined
    differ.
    """
    known = [value for value in values if value is not None]
    if how.how == "sum":
        return total(values)
    if len(set(known)) < 2:
        return known[0] if known else None
    if how.how == "max":
        return max(known)
    return next(_means(values, how.weights, of), None)


def total(values: Numbers) -> float | None:
    """Return the sum, or None if a part is missing: a partial sum would mislead."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def shares(states: Mapping[str, float | None]) -> dict[str, float]:
    """Return the share of each stall reason in the warp states of all reasons, in percent, largest first."""
    known = {reason: value for reason, value in states.items() if value is not None}
    whole = sum(known.values())
    return ranked({one: 100.0 * value / whole for one, value in known.items() if one != ISSUED and whole > 0})


def ranked(some: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(some.items(), key=lambda item: (-item[1], item[0])))


def keys_of(weight: str) -> list[str]:
    """Return the keys of the catalogue that a weight is made of."""
    return [key for term in weight.split(" + ") for key in term.split(" * ")]


def _means(values: Numbers, weights: tuple[str, ...], of: Callable[[str], Numbers]) -> Iterator[float]:
    """Yield one mean for each weight that all launches with a value have."""
    for weight in weights:
        parts = {key: of(key) for key in keys_of(weight)}
        pairs = [(value, _weight(weight, parts, i)) for i, value in enumerate(values) if value is not None]
        known = [(value, by) for value, by in pairs if by is not None]
        whole = sum(by for _, by in known)
        if len(known) == len(pairs) and whole > 0:
            yield sum(value * by for value, by in known) / whole


def _weight(weight: str, parts: dict[str, Numbers], launch: int) -> float | None:
    terms = [[parts[key][launch] for key in term.split(" * ")] for term in weight.split(" + ")]
    known = [[one for one in term if one is not None and one >= 0] for term in terms]
    is_known = all(len(own) == len(term) for own, term in zip(known, terms, strict=True))
    return sum(prod(term) for term in known) if is_known else None


T = TypeVar("T")


class Lazy(Mapping[str, T]):
    """A mapping that computes each value once, on first use. A key whose value cannot be computed is not in it."""

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


ABSENT = "absent"  # the report lacks it
IMPOSSIBLE = "impossible value"  # NVIDIA's own value, from counters of different passes
PER_LAUNCH = "n/a (per launch)"  # of different kernels, or of launches that cannot be combined
STALL_SHARE = "stall_"  # this prefix and a reason make the key of that reason's share


@dataclass(frozen=True)
class Coverage:
    """How many launches a combined value covers; ``reasons`` says once each why others have none: n/a (TMA), absent."""

    known: int
    launches: int
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Combined:
    """The counters of one workload of one version, all its launches together.

    Launches of different kernels have only sums and values of the GPU in common: a ratio, a stall or an occupancy
    belongs to one kernel. ``by_kernel`` and ``representative`` tell the kernels apart. A value that no hardware can
    have is None here, so that nobody takes it for evidence; ``impossible`` has it.

    If the same work was profiled several times, ``launches`` are those of the first time and ``further`` are the
    others. A value is then the median over all. Values are computed on first use, because few metrics of a program with
    thousands of launches are ever shown.
    """

    workload: str | None
    launches: tuple[Launch, ...]
    tables: tuple[Values, ...] = field(repr=False)
    further: tuple[Combined, ...] = field(default=(), repr=False)

    @cached_property
    def values(self) -> Mapping[str, float | None]:
        """Return the value of every key of OVER_LAUNCHES.

        None, never 0, if the report lacks it or the launches cannot be combined.
        """
        return Lazy(list(OVER_LAUNCHES), self._value)

    @cached_property
    def not_applicable(self) -> Mapping[str, str]:
        """Return why a metric that is in the report has no value.

        A ratio has none if there was no traffic, or if the traffic went another way. Other reasons: the kernels or
        launches cannot be combined, or no hardware can have the value, which is then quoted.
        """
        return Lazy(list(OVER_LAUNCHES), self._why_not)

    @cached_property
    def impossible(self) -> Mapping[str, float]:
        """Return reported values that no hardware can have, for keys that no launch has a better value of."""
        return Lazy(list(OVER_LAUNCHES), self._impossible)

    @cached_property
    def is_of_kernels(self) -> bool:
        """Whether there are several kernels. A kernel is a function with its template arguments."""
        return len(self.by_kernel) > 1

    @cached_property
    def representative(self) -> Combined:
        """Return the launch that stands for different kernels: the longest launch of the kernel that takes most time.

        Returns itself if there is only one launch.
        """
        if self.is_of_kernels:
            return self.by_kernel[0].representative
        known = [0.0 if time is None else time for time in self._times]
        return self.of_places([known.index(max(known))]) if len(known) > 1 else self

    @cached_property
    def by_kernel(self) -> tuple[Combined, ...]:
        """Return the launches of each kernel together, the longest kernel first; itself if there is one kernel."""
        places: dict[str, list[int]] = {}
        for place, one in enumerate(self.launches):
            places.setdefault(one.signature or one.kernel, []).append(place)
        if len(places) < 2:
            return (self,)
        return tuple(sorted(map(self.of_places, places.values()), key=lambda one: -(one.duration_ns or 0.0)))

    def of_places(self, places: Sequence[int]) -> Combined:
        """Return the launches at these positions, with their repeats."""
        launches = tuple(self.launches[place] for place in places)
        tables = tuple(self.tables[place] for place in places)
        repeats = tuple(one.of_places(places) for one in self.further if len(one.launches) == len(self.launches))
        return Combined(self.workload, launches, tables, repeats)

    @cached_property
    def stalls(self) -> dict[str, float]:
        """Return the share of each stall reason in the states of all warps, in percent, largest first.

        Empty if warp states were not counted, and for different kernels.
        """
        if not self.further:
            return self._own_stalls
        every = [self._own_stalls, *(one.stalls for one in self.further)]
        return ranked({one: median(own.get(one, 0.0) for own in every) for one in dict.fromkeys(chain(*every))})

    @property
    def duration_ns(self) -> float | None:
        """Return the time of all launches together, or None if the time of one is unknown."""
        return self.values["duration"]

    @property
    def repeats(self) -> int:
        """Return how often the same work was profiled."""
        return 1 + len(self.further)

    @property
    def typical_ns(self) -> float | None:
        """Return the mean duration of a launch, weighted by its time, or None if unknown.

        A chain of short kernels counts as short, however long the chain: its counters come from short passes.
        """
        known = [time for time in self._times if time is not None]
        return sum(time * time for time in known) / sum(known) if known and sum(known) > 0 else None

    def of_each(self, key: str) -> Sequence[float | None]:
        """Return the value of each launch of the first repeat, without values that no hardware can have."""
        return self._own[key]

    def samples(self, key: str) -> list[float]:
        """Return the values of a metric (a key, a stall share or a name of ncu) in all repeats that have it."""
        values = [one.of_first(key) for one in (self, *self.further)]
        return [value for value in values if value is not None]

    def of_first(self, key: str) -> float | None:
        """Return the value of a metric (a key, a stall share or a name of ncu) in the first repeat alone."""
        if key in OVER_LAUNCHES:
            return self._first[key]
        if key.startswith(STALL_SHARE):
            return self._own_stalls.get(key.removeprefix(STALL_SHARE))
        how = combining(key)
        if self.is_of_kernels and not how.over_kernels:
            return None
        return self._made_one(how, [number(table.get(key)) for table in self.tables])

    def named(self, name: str) -> float | None:
        """Return a metric by ncu's name, over all launches, as the median of the repeats."""
        known = self.samples(name)
        return median(known) if known else None

    def only(self, launches: Iterable[Launch]) -> Combined:
        """Return the combined counters of some of these launches."""
        kept = {one.index for one in launches}
        return self.of_places([place for place, one in enumerate(self.launches) if one.index in kept])

    def coverage(self, key: str) -> Coverage | None:
        """Return how many launches a value covers, or None if it covers all or there is no value."""
        lacking = [table for table, own in zip(self.tables, self._own[key], strict=True) if own is None]
        if not lacking or self.values[key] is None:
            return None
        reasons = dict.fromkeys(_why_without(key, table) for table in lacking)
        return Coverage(len(self.tables) - len(lacking), len(self.tables), tuple(reasons))

    def is_approximate(self, key: str) -> bool:
        """Tell whether a value is only approximate: derived from other metrics in any of the launches."""
        row = ROWS[key]
        return any(row.is_approximate(table) for table in self.tables)

    def is_weighted(self, key: str) -> bool:
        """Tell whether a value depends on weights that vary: it is a weighted mean, and the launches differ."""
        row = ROWS[key]
        if isinstance(row, Derived):
            return row.combine.how == "formula" and any(self.is_weighted(need) for need in row.needs)
        if row.combine.how != "mean" or all(ROWS[one].exact for one in keys_of(row.combine.weights[0])):
            return False
        return len({own for own in self._own[key] if own is not None}) > 1

    @cached_property
    def _own_stalls(self) -> dict[str, float]:
        names = {match.group(1): name for name in sorted(names_in(self.tables)) if (match := STALL.fullmatch(name))}
        if self.is_of_kernels:
            return {}
        every: dict[str, Numbers] = {
            key: [number(table.get(name)) for table in self.tables] for key, name in names.items()
        }
        every = every or {reason: self._own[f"warps_{reason}"] for reason in STALL_REASONS}
        return shares({reason: self._made_one(BY_ISSUED, values) for reason, values in every.items()})

    @cached_property
    def _raw(self) -> Mapping[str, Numbers]:
        """Map every key of OVER_LAUNCHES to the value of each launch, as reported."""
        return Lazy(list(OVER_LAUNCHES), self._raw_of_each)

    @cached_property
    def _own(self) -> Mapping[str, Numbers]:
        """Map every key of OVER_LAUNCHES to the value of each launch, without values that no hardware can have."""
        return Lazy(list(OVER_LAUNCHES), self._own_of_each)

    def _raw_of_each(self, key: str) -> Numbers:
        if key == "duration":
            return self._times
        row = ROWS[key]
        if not isinstance(row, Derived):
            return [row.value(table) for table in self.tables]
        parts = {need: self._own[need] for need in row.needs}
        found = [number(row.of_parts({need: own[i] for need, own in parts.items()})) for i in range(len(self.tables))]
        return [row.by_ways(table) if one is None else one for one, table in zip(found, self.tables, strict=True)]

    def _own_of_each(self, key: str) -> Numbers:
        row = ROWS[key]
        return [None if value is None or is_impossible(row, value) else value for value in self._raw[key]]

    @cached_property
    def _times(self) -> list[float | None]:
        return [_duration_ns(one, table) for one, table in zip(self.launches, self.tables, strict=True)]

    def _value(self, key: str) -> float | None:
        if not self.further:
            return self._first[key]
        known = self.samples(key)
        return median(known) if len(known) == self.repeats else None

    @cached_property
    def _first(self) -> Mapping[str, float | None]:
        """Map every key of OVER_LAUNCHES to its value in the first repeat."""
        return Lazy(list(OVER_LAUNCHES), self._value_of_first)

    def _value_of_first(self, key: str) -> float | None:
        if key == "duration":
            return total(self._times)
        row, own = ROWS[key], self._own[key]
        if self.is_of_kernels and not row.combine.over_kernels:
            return None
        if not isinstance(row, Derived) or (row.combine.how == "sum" and not _is_of_sums(row)):
            return self._made_one(row.combine, own)
        some = [place for place, value in enumerate(own) if value is not None]
        if some and len(some) < len(own) and not _is_of_sums(row):
            return self.of_places(some)._first[key]  # launches without a value stay out of every part
        found = number(row.of_parts({need: self._first[need] for need in row.needs}))
        if found is None and row.ways:
            return self._made_one(row.combine, own)  # the value is known, its parts are not
        return None if found is None or is_impossible(row, found) else found

    def _made_one(self, how: Combining, values: Numbers) -> float | None:
        return made_one(how, values, self._own.__getitem__)

    def _impossible(self, key: str) -> float:
        raw = self._raw[key]
        if self.is_of_kernels or self.values[key] is not None or any(value is None for value in raw):
            raise KeyError(key)
        found = made_one(ROWS[key].combine, raw, self._own.__getitem__)
        if found is None or not is_impossible(ROWS[key], found):
            raise KeyError(key)
        return found

    def _why_not(self, key: str) -> str:
        if self.values[key] is not None:
            raise KeyError(key)
        if key in self.impossible:
            return f"{IMPOSSIBLE}: {quantity(self.impossible[key], ROWS[key].unit)}"
        if any(own is not None for own in self._own[key]) and ROWS[key].combine.how != "sum":
            return PER_LAUNCH
        if key not in DERIVED or not _without_traffic(DERIVED[key], self.tables):
            raise KeyError(key)
        return _why(self.tables)


def _duration_ns(launch: Launch, table: Values) -> float | None:
    known = number(launch.duration_ns)
    return known if known is not None else CATALOGUE["duration"].value(table)


def _is_of_sums(derived: Derived) -> bool:
    """Tell whether all parts of a derived metric are sums."""
    return all(CATALOGUE[key].combine.how == "sum" for key in derived.needs)


def _without_traffic(derived: Derived, tables: Sequence[Values]) -> bool:
    """Return whether all launches give NaN: the parts exist, but there was no traffic to take a ratio of."""
    answers = [derived.value(table) for table in tables]
    return bool(answers) and all(answer is not None and isnan(answer) for answer in answers)


def _why_without(key: str, table: Values) -> str:
    """Return why one launch has no value."""
    metric = ROWS[key]
    value = metric.value(table)
    if number(value) is not None:
        return IMPOSSIBLE
    return ABSENT if value is None else why_not_applicable(table)


def _why(tables: Sequence[Values]) -> str:
    reasons = {why_not_applicable(table) for table in tables}
    return max(reasons, key=len)  # 'n/a (TMA)' says more than 'n/a'
