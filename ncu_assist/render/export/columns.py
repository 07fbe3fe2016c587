"""The columns of an exported table, each with a type that no value changes; the wide table, a column a metric."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from ncu_assist.errors import UsageProblem
from ncu_assist.frame import by_launch
from ncu_assist.ncu.catalogue.chips import Available, in_report, on_chip
from ncu_assist.ncu.catalogue.metric import Metric
from ncu_assist.ncu.catalogue.metric_doctor import NameProblem, check_names, spelled
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import ROWS

if TYPE_CHECKING:
    import pandas as pd

    from ncu_assist.analysis.diff import Diff

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


_CONVERT: dict[Kind, Any] = {
    "integer": int,
    "unsigned": int,
    "bool": bool,
    "text": _text,
    "list": lambda parts: [_text(part) for part in parts],
    "time": lambda moment: str(moment.strftime("%Y-%m-%dT%H:%M:%SZ")),
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

    import pandas as pd


WILD = "*?["


@dataclass(frozen=True)
class Chosen:
    """One metric to export: under which name, and ncu's names behind it, several for a derived one, none if absent."""

    column: str
    names: tuple[str, ...]

    instead: str = ""  # of an absent one what may have been meant, if anything

    @property
    def is_derived(self) -> bool:
        """Whether a formula is behind it: it is a derived metric, or this report has it under none of its names."""
        row = ROWS.get(self.column)
        return row is not None and not (isinstance(row, Metric) and self.names[:1] and self.names[0] in row.names)


def choose(asked: Sequence[str], names: Collection[str], where: str) -> tuple[Chosen, ...]:
    """Return what was asked for of ``names``, in that order: of a pattern all that match, sorted.

    A pattern matches keys of the catalogue and ncu's names, keys first. What ``where`` lacks and another report may
    have is absent. Raises UsageProblem, with the nearest right spelling, for a name that none has, and where all that
    was asked for is absent.
    """
    available = in_report(names, where)
    patterns = [one for one in asked if any(sign in one for sign in WILD) and one not in names]
    matches = {one: _matching(one, names, available) for one in patterns}
    columns = list(dict.fromkeys(column for one in asked for column in matches.get(one, (one,))))
    wrong = {problem.asked: problem for problem in check_names(columns, available)}
    unknown = [one for one in wrong if one not in ROWS and not on_chip(None).has(one)]
    told = [_by_key(wrong[one]) for one in columns if one in wrong and (one in unknown or len(wrong) == len(columns))]
    problems = [problem.line for problem in told]
    problems += [f"no metric of {where} matches '{one}'" for one, some in matches.items() if not some]
    if problems:
        near = {one: _by_key(problem).suggestion for one, problem in wrong.items() if problem.suggestion}
        raise UsageProblem("; ".join(problems), _hint([near.get(one, one) for one in asked], near, len(problems)))
    return tuple(Chosen(one, spelled(one, available), wrong[one].suggestion if one in wrong else "") for one in columns)


def rows_of(metrics: pd.DataFrame, chosen: Sequence[Chosen]) -> pd.DataFrame:
    """Return the tidy rows of what was chosen, by launch and then in the order of ``chosen``.

    A metric that a launch lacks has no row; a ratio over traffic that there was none of has one without a value.
    """
    import numpy as np
    import pandas as pd

    places = metrics.groupby("metric", observed=True).indices
    known = [(place, one) for place, one in enumerate(chosen) if one.names]
    counted = [(place, one.column, places[one.names[0]]) for place, one in known if not one.is_derived]
    sizes = [len(taken) for *_, taken in counted]
    rows = metrics.take(np.concatenate([np.array([], dtype=np.intp), *(taken for *_, taken in counted)]))
    rows = rows.assign(
        metric=np.repeat(np.array([name for _, name, _ in counted], dtype=object), sizes),
        place=np.repeat(np.array([place for place, *_ in counted], dtype=np.int64), sizes),
    )
    derived = [(place, one.column) for place, one in known if one.is_derived]
    values = by_launch(metrics) if derived else {}
    parts = [rows, pd.DataFrame(_rows_of_keys(values, derived), columns=KEY_ROW).astype({"value": "float64"})]
    joined = pd.concat([part.astype({"metric": object, "unit": object}) for part in parts], ignore_index=True)
    ordered = joined.sort_values(["launch", "place"], kind="stable", ignore_index=True).drop(columns="place")
    return ordered.astype({"launch": "int32", "metric": "category", "unit": "category"})


KEY_ROW = ["launch", "metric", "value", "text", "unit", "place"]


def _rows_of_keys(
    values: Mapping[int, Mapping[str, float]], derived: Iterable[tuple[int, str]]
) -> list[tuple[object, ...]]:
    return [
        (launch, key, value, None, ROWS[key].unit, place)
        for place, key in derived
        for launch, numbers in values.items()
        if (value := ROWS[key].value(numbers)) is not None
    ]


def _by_key(problem: NameProblem) -> NameProblem:
    """Return the key behind a suggestion where no name of ncu's form was asked for: a key is easier to type."""
    key = next((key for key, row in CATALOGUE.items() if problem.suggestion in row.names), problem.suggestion)
    return problem if "__" in problem.asked else replace(problem, suggestion=key)


def _matching(pattern: str, names: Iterable[str], available: Available) -> list[str]:
    found = sorted(name for name in names if fnmatch.fnmatchcase(name, pattern))
    keys = [key for key in ROWS if fnmatch.fnmatchcase(key, pattern)]
    return [key for key in keys if spelled(key, available)] + found or keys


def _hint(corrected: Sequence[str], near: dict[str, str], problems: int) -> str:
    if near and len(near) == problems:
        return f"--metrics {','.join(dict.fromkeys(corrected))}"
    return "ncu-assist metrics"


SIDES = ("file", "line", "ns", "samples", "stall", "sectors_excessive", "wavefronts_excessive", "instructions")
CHANGED_LINES = (
    "kind",
    "became",
    "text",
    "delta_ns",
    "beyond_noise",
    *(f"{side}_{name}" for side in ("baseline", "candidate") for name in SIDES),
)


def changed_lines(diff: Diff) -> pd.DataFrame:
    """Return the lines of a diff as a table, what explains most first; without lines it has no rows.

    kind, became, text, delta_ns, beyond_noise as in `diff --json`, then of each side, ``baseline_`` and ``candidate_``:
    file, line, ns (its share of the warp samples times the duration under ncu), samples, stall, excess and
    instructions. Absent where a side does not have the line.
    """
    import pandas as pd

    rows = []
    for one in diff.lines.changes if diff.lines else ():
        sides = [getattr(side, name) if side else None for side in (one.baseline, one.candidate) for name in SIDES]
        rows.append((one.kind, one.became, one.text, one.delta_ns, one.is_beyond, *sides))
    frame = pd.DataFrame(rows, columns=list(CHANGED_LINES))
    whole = [name for name in CHANGED_LINES if name.endswith(("_line", "_samples"))]
    return frame.astype(dict.fromkeys(whole, "Int64"))
