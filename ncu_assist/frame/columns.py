"""The two tables of a run as columns, for code that need not wait for pandas to be imported.

The numbers of many launches are stored by metric. A launch is a view, and a metric that is never used costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

Values = Mapping[str, float]  # by ncu's name; a metric without a number has no entry


def distinct(numbers: Array) -> list[int]:
    """Return the distinct numbers, sorted. Sorting takes a fifth of the time of numpy's own ``unique``."""
    import numpy as np

    ordered = np.sort(numbers)
    kept: list[int] = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]].tolist()
    return kept


class Columns:
    """Rows of (launch, metric, value); ``codes`` are the positions of their metrics in ``names``."""

    def __init__(self, launch: Array, codes: Array, names: list[str], value: Array) -> None:
        import numpy as np

        order = np.argsort(codes, kind="stable")
        self._launch, self._value = launch[order], value[order]
        ends = np.cumsum(np.bincount(codes, minlength=len(names)))
        self._parts = {name: (int(end), int(start)) for name, start, end in zip(names, [0, *ends], ends, strict=False)}
        self._columns: dict[str, dict[int, float]] = {}
        self.launches = distinct(launch)

    @cached_property
    def names(self) -> list[str]:
        """Return the metrics that any launch has."""
        return [name for name, (end, start) in self._parts.items() if end > start]

    def column(self, name: str) -> dict[int, float]:
        """Return one metric by launch. Launches without a number are left out; an unknown metric gives {}."""
        if name not in self._columns:
            end, start = self._parts.get(name, (0, 0))
            rows = zip(self._launch[start:end].tolist(), self._value[start:end].tolist(), strict=True)
            self._columns[name] = {launch: value for launch, value in rows if value == value}
        return self._columns[name]

    def by_launch(self) -> dict[int, Values]:
        """Return the numbers of each launch by ncu's name."""
        return {launch: LaunchValues(self, launch) for launch in self.launches}


class LaunchValues(Mapping[str, float]):
    """One launch of Columns."""

    def __init__(self, columns: Columns, launch: int) -> None:
        self.columns, self._launch = columns, launch

    def __getitem__(self, name: str) -> float:
        return self.columns.column(name)[self._launch]

    def get(self, name: str, default: Any = None) -> Any:
        """Return a number, or the default if this launch has none."""
        return self.columns.column(name).get(self._launch, default)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._launch in self.columns.column(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.columns.names if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return any(True for _ in self)  # the first number decides; ``len`` would read every metric


def names_in(tables: Sequence[Values]) -> set[str]:
    """Return the metrics that any of these launches may have."""
    found: set[str] = set()
    seen: set[int] = set()
    for table in tables:
        source = table.columns if isinstance(table, LaunchValues) else table
        if id(source) not in seen:
            seen.add(id(source))
            found.update(source.names if isinstance(source, Columns) else source)
    return found


@dataclass(frozen=True)
class Samples:
    """The samples of a bench in the order in which they were taken: one array per column, named as in the table."""

    columns: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.columns["time_ns"])

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def where(self, wanted: Array) -> Samples:
        """Return the rows for which ``wanted`` is true."""
        return Samples({name: column[wanted] for name, column in self.columns.items()})

    def of(self, version: str, workload: str) -> Samples:
        """Return the samples of one version on one workload."""
        return self.where((self["version"] == version) & (self["workload"] == workload))
