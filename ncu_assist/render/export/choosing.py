"""The metrics that an export is asked for: names, patterns and keys of the catalogue, checked before anything else."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ncu_assist.errors import UsageProblem
from ncu_assist.frame import by_launch
from ncu_assist.ncu.catalogue.metric import Metric
from ncu_assist.ncu.catalogue.metric_doctor import check_names, spelled
from ncu_assist.ncu.catalogue.recorded_names import Available, in_report, on_chip
from ncu_assist.ncu.catalogue.rows import ROWS

if TYPE_CHECKING:
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

    A pattern matches ncu's names; where none does, keys of the catalogue. What ``where`` lacks and another report may
    have is absent. Raises UsageProblem, with the nearest right spelling, for a name that none has, and where all that
    was asked for is absent.
    """
    available = in_report(names, where)
    matches = {one: _matching(one, names, available) for one in asked if _is_pattern(one, names)}
    columns = list(dict.fromkeys(column for one in asked for column in matches.get(one, (one,))))
    checked = {one: check_names([one], available) for one in columns}
    wrong = [one for one in columns if not checked[one].fine]
    unknown = [one for one in wrong if one not in ROWS and not on_chip(None).has(one)]
    problems = [line for one in (wrong if len(wrong) == len(columns) else unknown) for line in checked[one].lines]
    problems += [f"no metric of {where} matches '{one}'" for one, some in matches.items() if not some]
    if problems:
        near = {one: problem.suggestion for one in wrong for problem in checked[one].problems}
        raise UsageProblem("; ".join(problems), _hint([near.get(one, one) for one in asked], near, len(problems)))
    return tuple(
        Chosen(one, spelled(one, available), *(problem.suggestion for problem in checked[one].problems))
        for one in columns
    )


def rows_of(metrics: pd.DataFrame, chosen: Sequence[Chosen]) -> pd.DataFrame:
    """Return the tidy rows of what was chosen, by launch and then in the order of ``chosen``.

    A metric that a launch lacks has no row; a ratio over traffic that there was none of has one without a value.
    """
    import pandas as pd

    places = metrics.groupby("metric", observed=True).indices
    values = by_launch(metrics) if any(one.is_derived for one in chosen) else {}
    parts = [metrics.iloc[:0].assign(place=0)]
    for place, one in enumerate(chosen):
        if not one.names:
            continue
        if one.is_derived:
            parts.append(_rows_of_key(values, one.column).assign(place=place))
        else:
            parts.append(metrics.iloc[places[one.names[0]]].assign(metric=one.column, place=place))
    joined = pd.concat([part.astype({"metric": object, "unit": object}) for part in parts], ignore_index=True)
    ordered = joined.sort_values(["launch", "place"], kind="stable", ignore_index=True).drop(columns="place")
    return ordered.astype({"launch": "int32", "metric": "category", "unit": "category"})


def _rows_of_key(values: Mapping[int, Mapping[str, float]], key: str) -> pd.DataFrame:
    import pandas as pd

    row = ROWS[key]
    found = {launch: row.value(numbers) for launch, numbers in values.items()}
    rows = [(launch, key, value, None, row.unit) for launch, value in found.items() if value is not None]
    return pd.DataFrame(rows, columns=["launch", "metric", "value", "text", "unit"]).astype({"value": "float64"})


def _is_pattern(asked: str, names: Collection[str]) -> bool:
    return any(sign in asked for sign in WILD) and asked not in names


def _matching(pattern: str, names: Iterable[str], available: Available) -> list[str]:
    found = sorted(name for name in names if fnmatch.fnmatchcase(name, pattern))
    keys = [key for key in ROWS if fnmatch.fnmatchcase(key, pattern)]
    return found or [key for key in keys if spelled(key, available)] or keys


def _hint(corrected: Sequence[str], near: dict[str, str], problems: int) -> str:
    if near and len(near) == problems:
        return f"--metrics {','.join(dict.fromkeys(corrected))}"
    return "ncu-assist metrics"
