"""The columns of an exported table: a type each, which does not depend on the values that happen to be there."""

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
class Column:
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


def columns(frame: pd.DataFrame) -> list[Column]:
    """Return the columns of a frame in order."""
    return [Column(str(name), _kind(str(name), frame[name]), frame[name]) for name in frame.columns]


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
