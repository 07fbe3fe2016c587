"""The metrics of all launches of a report: names that are shared, values in their order, doubles; and instances."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf.unknown_fields import UnknownFieldSet

from ncu_assist.errors import DamagedData
from ncu_assist.ncu.contents import INSTANCE_COLUMNS, NO_ID, NO_TEXT
from ncu_assist.ncu.report_schema import KIND

NAN = float("nan")
MAX_SHORT = 0x7F  # the longest field whose length takes one byte
# ncu 2025.3.1 writes some of these twice, with one value: the last three, of the machine, for a replayed range.
OFTEN_DOUBLE = ("profiler__", "sass__", "c2clink__", "numa__", "nvlink__")


class MetricTable:
    """The metrics of all launches: lists of names and texts that launches share, and notes on what is odd."""

    def __init__(self) -> None:
        self.strings: list[str] = []  # the names of metrics, as the blocks of the file add them
        self.name_lists: list[tuple[str, ...]] = []
        self.texts: dict[str, int] = {}  # each text and its number, in the order of the numbers
        self.doubles: set[str] = set()  # names that stand twice and are not known to
        self.differing: set[str] = set()  # names that stand twice, with different values
        self.unknown: set[str] = set()  # names of metrics whose value has a type that is not known here
        self._plans: dict[tuple[int, ...], _Plan] = {}

    def add_names(self, strings: Iterable[str]) -> None:
        """Append the names that a block brings; raises DamagedData for what cannot be one."""
        new = list(strings)
        for name in new:
            if not isinstance(name, str) or not name.isprintable() or not name:
                raise DamagedData("the report is damaged: the name of a metric is no name")
        self.strings += new

    def add(self, metrics: Sequence[Any], values: array[float]) -> tuple[int, dict[int, int]]:
        """Append the values of one launch, sorted by name; return its list of names and its texts by position.

        A name may stand twice: ncu writes some so, with one value, and where passes measured one anew, with two. The
        last counts, as with NVIDIA's reader.
        """
        plan = self._plan(tuple([metric.name for metric in metrics]))
        own, texts, unknown = _values(metrics)
        self.unknown |= {self.strings[metrics[place].name] for place in unknown}
        values.extend([own[i] for i in plan.order])
        for i, j in plan.doubles:
            if (own[i] != own[j] and (own[i] == own[i] or own[j] == own[j])) or texts.get(i) != texts.get(j):
                self.differing.add(self.strings[metrics[i].name])
        known = self.texts
        numbers = {plan.position[i]: known.setdefault(t, len(known)) for i, t in texts.items() if i in plan.position}
        return plan.names, numbers

    def _plan(self, ids: tuple[int, ...]) -> _Plan:
        if ids not in self._plans:
            if ids and max(ids) >= len(self.strings):
                raise DamagedData("the report is damaged: a metric has a name that the report does not hold")
            found = [self.strings[number] for number in ids]
            place = {name: i for i, name in enumerate(found)}
            doubles = [(i, place[name]) for i, name in enumerate(found) if place[name] != i]
            self.doubles |= {found[i] for i, _ in doubles if not found[i].startswith(OFTEN_DOUBLE)}
            names = tuple(sorted(place))
            if names not in self.name_lists:
                self.name_lists.append(names)
            order = [place[name] for name in names]
            position = {i: p for p, i in enumerate(order)}
            self._plans[ids] = _Plan(self.name_lists.index(names), order, position, doubles)
        return self._plans[ids]


@dataclass(frozen=True)
class _Plan:
    """How the metrics of a launch go into its list of names: for launches that hold them in the same order."""

    names: int
    order: list[int]  # which metric comes where
    position: dict[int, int]  # the reverse
    doubles: list[tuple[int, int]]  # a metric that stands again later, and where


def _values(metrics: Iterable[Any]) -> tuple[list[float], dict[int, str], list[int]]:
    """Return the number of each metric, NaN for texts and for what has no value; the texts by position.

    And the positions of values whose type is not known here.
    """
    numbers: list[float] = []
    texts: dict[int, str] = {}
    unknown: list[int] = []
    for metric in metrics:
        value = metric.value
        number = value.double or value.uint64 or value.uint32 or value.float  # at most one is set, the others are 0
        if not number:
            kind = value.WhichOneof(KIND)
            if kind is None:
                if _is_unknown(metric):
                    unknown.append(len(numbers))
                number = NAN
            elif kind == "text":
                texts[len(numbers)], number = value.text, NAN
        numbers.append(number)
    return numbers, texts, unknown


def _is_unknown(metric: Any) -> bool:
    """Tell whether the value of a metric without one has a type not known here; raises DamagedData where it is lost."""
    if metric.value.ByteSize() or len(UnknownFieldSet(metric)):
        return True
    if metric.instances and not _is_instance(metric.instances[0]):
        raise DamagedData("the report is damaged: the value of a metric stands where another thing should")
    return False


def _is_instance(raw: bytes) -> bool:
    """Tell whether this may be an instance: an identifier or none, then a value, in the fields 1 and 2."""
    behind_id = 2 + raw[1] if raw[:1] == b"\n" and len(raw) > 1 else 0
    return behind_id > MAX_SHORT or raw[behind_id : behind_id + 1] == b"\x12"


class InstanceTable:
    """The instances of all launches as columns; texts are numbers in ``texts``."""

    def __init__(self) -> None:
        self.columns: dict[str, array[Any]] = {name: array(code) for name, code in INSTANCE_COLUMNS.items()}
        self.texts: dict[str, int] = {}

    def add(self, launch: int, metrics: Any, strings: list[str]) -> None:
        """Append the instances of one launch, in the order of the file; a metric that stands twice counts once."""
        done = set()
        for metric in metrics:
            if metric.name not in done:
                self._add_metric(launch, self._number(strings[metric.name]), metric.instances)
            done.add(metric.name)

    def _add_metric(self, launch: int, metric: int, instances: Any) -> None:
        ids = [self._scalar(one.id) for one in instances]
        values = [self._scalar(one.value) for one in instances]
        new = {
            "launch": [launch] * len(ids),
            "metric": [metric] * len(ids),
            "instance": range(len(ids)),
            "id": [NO_ID if number != number else int(number) for number, _ in ids],
            "id_text": [text for _, text in ids],
            "value": [number for number, _ in values],
            "text": [text for _, text in values],
        }
        for name, column in self.columns.items():
            column.extend(new[name])

    def _scalar(self, value: Any) -> tuple[float, int]:
        """Return the number of a value, NaN where it has none, and the number of its text."""
        number = value.uint64 or value.uint32 or value.double or value.float
        if number:
            return number, NO_TEXT
        kind = value.WhichOneof(KIND)
        if kind == "text":
            return NAN, self._number(value.text)
        return (NAN if kind is None else 0), NO_TEXT

    def _number(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))

    def write(self, folder: Path) -> None:
        """Write each column into a file of its name."""
        for name, column in self.columns.items():
            with (folder / name).open("wb") as out:
                column.tofile(out)
