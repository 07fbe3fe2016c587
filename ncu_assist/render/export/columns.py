"""The columns of an exported table, each with a type that no value changes; the wide table, a column a metric."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["integer", "unsigned", "float", "bool", "text", "list", "time"]

# Of columns whose frame has a type of Python's objects, or another one where all is absent.
KINDS: dict[str, Kind] = {
    **dict.fromkeys(("ranges", "domain_ranges", "start_end_ranges", "focus_metrics"), "list"),
    **dict.fromkeys(("device", "sm_count", "l2_bytes", "memory_bytes", "process", "context", "stream"), "integer"),
    "created": "time",
}
CELLS = 200_000  # in one piece: 20 MB of Python's objects


@dataclass(frozen=True)
class ExportColumn:
    """One column; ``values`` gives Python's own values: int, float, bool, str, a list of str, None where absent."""

    name: str
    kind: Kind
    series: pd.Series[Any]

    def values(self, start: int = 0, end: int | None = None) -> list[Any]:
        """Return the values of these rows; a float that is no number is None, an infinite one stays."""
        part = self.series.iloc[start:end]
        if self.kind == "float":
            numbers = part.to_numpy(dtype="float64", na_value=math.nan).tolist()
            return [None if number != number else number for number in numbers]
        convert = _CONVERT[self.kind]
        return [None if _is_absent(value) else convert(value) for value in part.astype(object).tolist()]


def columns(frame: pd.DataFrame) -> list[ExportColumn]:
    """Return the columns of a frame in order."""
    return [ExportColumn(str(name), _kind(str(name), frame[name]), frame[name]) for name in frame.columns]


def pieces(count: int, width: int, cells: int = CELLS) -> Iterator[tuple[int, int]]:
    """Yield where to cut ``count`` rows of ``width`` columns; one piece for a table without rows."""
    rows = max(cells // max(width, 1), 1)
    for start in range(0, max(count, 1), rows):
        yield start, min(start + rows, count)


def _kind(name: str, series: pd.Series[Any]) -> Kind:
    from pandas.api import types

    if name in KINDS:
        return KINDS[name]
    dtype = series.dtype
    if types.is_bool_dtype(dtype):
        return "bool"
    if types.is_unsigned_integer_dtype(dtype):
        return "unsigned"
    if types.is_integer_dtype(dtype):
        return "integer"
    return "float" if types.is_float_dtype(dtype) else "text"


def _is_absent(value: Any) -> bool:
    import pandas as pd

    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))


def _text(value: Any) -> str:
    """Return a text that can be written as UTF-8; a metric may be a number in one launch and a text in another."""
    return str(value).encode("utf-8", "backslashreplace").decode()


def _time(value: Any) -> str:
    return str(value.strftime("%Y-%m-%dT%H:%M:%SZ"))


_CONVERT: dict[Kind, Any] = {
    "integer": int,
    "unsigned": int,
    "bool": bool,
    "text": _text,
    "list": lambda parts: [_text(part) for part in parts],
    "time": _time,
}


def wide(facts: pd.DataFrame, metrics: pd.DataFrame, order: list[str] | None = None) -> pd.DataFrame:
    """Return ``facts`` (a row a launch, with a column ``launch``) followed by a column for each metric.

    ``order`` names the metrics and their order; None takes all: numbers by name, then texts by name. A metric that is
    a text in any launch is a column of texts; absent is NaN or None.
    """
    import numpy as np
    import pandas as pd

    rows = pd.Index(facts["launch"]).get_indexer(metrics["launch"])
    metrics, rows = metrics[rows >= 0], rows[rows >= 0]
    coded = metrics["metric"].astype("category").cat.remove_unused_categories().cat
    names = list(map(str, coded.categories))
    numbers = np.full((len(facts), len(names)), np.nan)
    numbers[rows, coded.codes.to_numpy()] = metrics["value"].to_numpy(dtype="float64")
    by_code = _text_columns(metrics["text"], rows, coded.codes.to_numpy(), numbers)
    texts = {names[code]: column for code, column in by_code.items()}
    listed = order or [*sorted(set(names) - set(texts)), *sorted(texts)]
    place = {name: i for i, name in enumerate(names)}
    columns = {name: texts[name] if name in texts else _number_column(numbers, place.get(name)) for name in listed}
    return pd.concat([facts.reset_index(drop=True), pd.DataFrame(columns)], axis=1)


def _number_column(numbers: Any, column: int | None) -> Any:
    """Return a column; of a derived metric that no launch has, NaN."""
    import numpy as np

    return np.full(len(numbers), np.nan) if column is None else numbers[:, column]


def _text_columns(texts: pd.Series[Any], rows: Any, codes: Any, numbers: Any) -> dict[int, Any]:
    """Return the columns of metrics that are texts by code, numbers among them as they are written in CSV."""
    import pandas as pd

    given = texts.notna().to_numpy()
    columns: dict[int, list[str | None]] = {}
    for row, code, text in zip(rows[given], codes[given], texts.to_numpy(dtype=object)[given], strict=True):
        if code not in columns:
            columns[code] = [None if value != value else repr(value) for value in numbers[:, code].tolist()]
        columns[code][row] = text
    return {code: pd.Series(column, dtype=object) for code, column in columns.items()}
