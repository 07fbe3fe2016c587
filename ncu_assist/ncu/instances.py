"""Values that a metric has one by one: of each address, opcode, memory type or moment of sampling."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ncu_assist.ncu.report_schema import KIND

if TYPE_CHECKING:
    import pandas as pd

# Columns as the child writes them: the type code of their array. Texts stand as numbers in a list.
CODES = {"launch": "i", "metric": "i", "instance": "i", "id": "Q", "id_text": "i", "value": "d", "text": "i"}
NUMPY = {"i": "int32", "Q": "uint64", "d": "float64"}
NAN = float("nan")
NO_TEXT = -1
NO_ID = 2**64 - 1


class InstanceTable:
    """The instances of all launches as columns; texts are numbers in ``texts``."""

    def __init__(self) -> None:
        self.columns: dict[str, array[Any]] = {name: array(code) for name, code in CODES.items()}
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


def instances_frame(folder: Path, texts: tuple[str, ...]) -> pd.DataFrame:
    """Return what a child wrote into ``folder``; see ``Report.instances``."""
    import numpy as np
    import pandas as pd

    columns = {name: np.fromfile(folder / name, dtype=NUMPY[code]) for name, code in CODES.items()}
    words = np.array([*texts, None], dtype=object)  # the last is what NO_TEXT, -1, points at
    used = sorted(set(columns["metric"].tolist()), key=lambda number: texts[number])
    place = np.zeros(len(words), dtype=np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    names: pd.Index[str] = pd.Index([texts[number] for number in used], dtype=str)
    ids = pd.Series(columns["id"], dtype="UInt64").mask(columns["id"] == NO_ID)
    return pd.DataFrame(
        {
            "launch": columns["launch"],
            "metric": pd.Categorical.from_codes(place[columns["metric"]], categories=names),
            "instance": columns["instance"],
            "id": ids,
            "id_text": pd.Series(words[columns["id_text"]], dtype=object),
            "value": columns["value"],
            "text": pd.Series(words[columns["text"]], dtype=object),
        }
    )
