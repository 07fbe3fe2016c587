"""The metrics of launches as a frame: the kernel, then keys of the catalogue. ncu's names can be looked up too."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

import pandas as pd

from ncu_assist.errors import NoSuchName, UsageProblem
from ncu_assist.ncu.catalogue.rows import ROWS

NEAR = 0.8
LAUNCH = "launch"  # the name of the index
UNITS = "units"
OF_LAUNCHES = {"launch", "stream", "context", "process", "device", "workload"} | {
    f"{of}_{axis}" for of in ("grid", "block") for axis in "xyz"
}


class _Located(type(pd.DataFrame().loc)):  # type: ignore[misc]
    """``loc`` of a frame that also finds names that are not columns."""

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple) and len(key) > 1 and (beside := self.obj._beside(key[1])):
            names = [key[1]] if isinstance(key[1], str) else key[1]
            return pd.DataFrame(self.obj[names]).loc[key[0], beside[0] if isinstance(key[1], str) else names]
        return super().__getitem__(key)


class LaunchMetrics(pd.DataFrame):
    """One row per launch: its kernel, then one column per key of `ncu-assist metrics`. ``[…]`` also takes other names.

    It takes ncu's own names, lists of names, and patterns with ``*``. They also work on some of the rows, as one name
    in a group or in ``.loc[rows, name]``, and to sort rows by. Everything else in pandas knows columns only. The names
    are looked up by the number of the launch, so only rows that agree with the report have them. Rows that pandas
    computed, such as ``.diff()`` or ``* 2``, and rows under the numbers of other launches do not.
    """

    _metadata = ["_whole", "_others"]  # noqa: RUF012  # what pandas hands on to whatever it makes of a frame
    _whole: pd.DataFrame | None = None  # the whole report, which a frame is compared with
    _others: Callable[[list[str]], pd.DataFrame] | None = None

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return LaunchMetrics

    def __contains__(self, key: Any) -> bool:  # type: ignore[misc]  # a group asks whether it has a column
        if super().__contains__(key):
            return True
        try:
            return isinstance(key, str) and bool(self._is_of_launches and len(self._found([key]).columns))
        except UsageProblem:
            return False

    def __getitem__(self, key: Any) -> Any:
        """Return one or more columns; raises NoSuchName, with a suggestion, for an unknown name."""
        names = [key] if isinstance(key, str) else key
        are_names = isinstance(names, list) and names and all(isinstance(one, str) for one in names)
        if are_names and any(one not in self.columns for one in names) and self._is_of_launches:
            found = self._found(names)
            return _with_unit(found[key]) if isinstance(key, str) and list(found) == [key] else found
        if isinstance(key, str) and key not in self.columns:
            raise NoSuchName(
                f"'{key}' is no column of this frame, which is no selection of a report's launches",
                f"choose it first: metrics[[…, '{key}']], or metrics['{key}']",
            )
        made = super().__getitem__(key)
        return _with_unit(made) if isinstance(key, str) and isinstance(made, pd.Series) else made

    @property
    def loc(self) -> Any:
        """Rows and names as in pandas; the name may be one of ncu's."""
        return _Located("loc", self)

    @property
    def at(self) -> Any:
        """One value, by the number of a launch and a name that ``loc`` takes."""
        return self.loc

    def sort_values(self, by: Any, **options: Any) -> Any:
        """Return the rows sorted by columns or by ncu's names; the columns stay the same."""
        if options.get("inplace") or not self._beside(by):
            return super().sort_values(by, **options)
        is_numbered_anew = options.pop("ignore_index", False)
        found = self.loc[self._with(by).sort_values(by, **options).index]
        return found.reset_index(drop=True) if is_numbered_anew else found

    def nlargest(self, n: int, columns: Any, keep: Any = "first") -> Any:
        """Return the rows with the largest values of columns or of ncu's names, the largest first."""
        if not self._beside(columns):
            return super().nlargest(n, columns, keep)
        return self.loc[self._with(columns).nlargest(n, columns, keep).index]

    def nsmallest(self, n: int, columns: Any, keep: Any = "first") -> Any:
        """Return the rows with the smallest values of columns or of ncu's names, the smallest first."""
        if not self._beside(columns):
            return super().nsmallest(n, columns, keep)
        return self.loc[self._with(columns).nsmallest(n, columns, keep).index]

    def _beside(self, names: Any) -> list[str]:
        """Return the names that are not columns of a selection of launches, and so may be ncu's."""
        named = [names] if isinstance(names, str) else names
        is_asked = isinstance(named, list) and self._is_of_launches
        return [one for one in named if one not in self.columns and one != LAUNCH] if is_asked else []

    def _with(self, names: Any) -> pd.DataFrame:
        return pd.DataFrame(self).join(pd.DataFrame(self[self._beside(names)]))

    @property
    def _is_of_launches(self) -> bool:
        """Whether each row agrees with the report about its launch, so that further metrics can be looked up."""
        whole = self._whole
        if whole is None or self.index.name != LAUNCH or not self.index.is_unique or not self.columns.is_unique:
            return False
        known = [name for name in self.columns if name in whole.columns]
        if not known or not self.index.isin(whole.index).all():
            return False
        return pd.DataFrame(self)[known].equals(whole.loc[self.index, known])

    def _found(self, names: list[str]) -> LaunchMetrics:
        assert self._others is not None
        assert self._whole is not None
        own = [name for name in names if name in self.columns and name not in ROWS]
        asked = [name for name in names if name not in own]
        try:
            found = self._others(asked)
        except UsageProblem as error:
            for name in asked:
                near = difflib.get_close_matches(name, self.columns, n=1, cutoff=NEAR)
                if near and name not in self.columns and "__" not in name:  # ncu's names have a double underscore
                    raise NoSuchName(f"no metric is called '{name}'; did you mean '{near[0]}'?") from error
            if OF_LAUNCHES & {*asked}:
                said = f"{' and '.join(sorted(OF_LAUNCHES & {*asked}))}: of a launch, and no metric"
                raise NoSuchName(said, 'table("launches"), whose column launch is the index here') from error
            raise NoSuchName(error.message, error.hint) from error
        more = [name for name in found if name not in self._whole.columns]
        whole = self._whole.join(found[more])
        found = found.loc[self.index]
        for name in own:
            found.insert(min(names.index(name), len(found.columns)), name, pd.DataFrame(self)[name])
        return _made(found, whole, self._others)


def _with_unit(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column with its own unit only: a notebook would print the units of all columns."""
    units = column.attrs.get(UNITS, {})
    own = {UNITS: {column.name: units[column.name]}} if column.name in units else {}
    column.attrs = {name: words for name, words in column.attrs.items() if name != UNITS} | own
    return column


def _made(values: pd.DataFrame, whole: pd.DataFrame, others: Callable[[list[str]], pd.DataFrame]) -> LaunchMetrics:
    found = LaunchMetrics(values)
    found._whole, found._others, found.attrs = whole, others, values.attrs
    return found


def launch_metrics(values: pd.DataFrame, others: Callable[[list[str]], pd.DataFrame]) -> LaunchMetrics:
    """Return values by launch and key as a frame that asks ``others`` for names that are not its columns."""
    return _made(values, values.copy(), others)
