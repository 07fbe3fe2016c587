"""The metrics of launches as a frame: its kernel, then keys of the catalogue, and ncu's names are found beside them."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable
from typing import Any

import pandas as pd
from pandas.core.indexing import _iLocIndexer, _LocIndexer

from ncu_assist.errors import UsageProblem
from ncu_assist.ncu.catalogue.rows import ROWS

NEAR = 0.8
LAUNCH = "launch"  # what the index is called


class NoSuchMetric(UsageProblem, KeyError):
    """A frame has no such name: what pandas' own methods expect from a frame, with what may have been meant."""

    def __str__(self) -> str:
        return self.message  # KeyError would quote it


def _selecting(method: Callable[..., Any]) -> Any:
    """Return a method of pandas that chooses or orders rows or columns: names are found in what it gives."""

    @functools.wraps(method)
    def select(self: LaunchMetrics, *args: Any, **kwargs: Any) -> Any:
        others = self._others if self._is_of_launches else None
        made = method(self, *args, **kwargs)
        chosen = self if made is None else made  # which was done in place
        if isinstance(chosen, LaunchMetrics):
            chosen._others, chosen._labels = others, chosen.index
        return made

    return select


class _Rows(_LocIndexer):
    obj: LaunchMetrics

    def __getitem__(self, key: Any) -> Any:
        return _selecting(lambda _: _LocIndexer.__getitem__(self, key))(self.obj)  # type: ignore[misc]


class _Places(_iLocIndexer):
    obj: LaunchMetrics

    def __getitem__(self, key: Any) -> Any:
        return _selecting(lambda _: _iLocIndexer.__getitem__(self, key))(self.obj)  # type: ignore[misc]


class LaunchMetrics(pd.DataFrame):
    """A row a launch: its kernel, then a column a key of `ncu-assist metrics`; ``[…]`` also takes what is no column.

    ncu's own names, several of either in a list, and patterns with ``*``: also of some of the rows, and one in a group.
    They are read by the number of the launch, so that only a selection of rows or columns knows them: whatever pandas
    computed, such as ``.diff()`` or ``* 2``, and rows with other labels have their columns only.
    """

    _metadata = ["_others", "_labels"]  # noqa: RUF012  # as pandas asks for it
    _others: Callable[[list[str]], pd.DataFrame] | None = None
    _labels: pd.Index[Any] | None = None  # of the rows when they were chosen: with others they are of no launch

    copy = _selecting(pd.DataFrame.copy)  # type: ignore[misc]  # final for who reads the stubs
    drop = _selecting(pd.DataFrame.drop)
    dropna = _selecting(pd.DataFrame.dropna)
    filter = _selecting(pd.DataFrame.filter)
    nlargest = _selecting(pd.DataFrame.nlargest)
    nsmallest = _selecting(pd.DataFrame.nsmallest)
    query = _selecting(pd.DataFrame.query)
    sample = _selecting(pd.DataFrame.sample)  # type: ignore[misc]  # final for who reads the stubs
    sort_index = _selecting(pd.DataFrame.sort_index)
    sort_values = _selecting(pd.DataFrame.sort_values)
    take = _selecting(pd.DataFrame.take)  # type: ignore[misc]  # final for who reads the stubs

    @property
    def loc(self) -> Any:
        return _Rows("loc", self)

    @property
    def iloc(self) -> Any:
        return _Places("iloc", self)

    def __finalize__(self, other: Any, method: str | None = None, **kwargs: Any) -> LaunchMetrics:
        """Forget where names are found, but in a group of rows: what keeps its columns and its values is one."""
        super().__finalize__(other, method, **kwargs)  # type: ignore[misc]  # which stubs lack
        is_group = (
            method == "groupby"
            and isinstance(other, LaunchMetrics)
            and other._is_of_launches
            and self.columns.equals(other.columns)
            and bool(self.index.isin(other.index).all())
            and pd.DataFrame(self).equals(pd.DataFrame(other).loc[self.index])
        )
        self._others, self._labels = (other._others, self.index) if is_group else (None, None)
        return self

    def _update_inplace(self, result: Any) -> None:
        super()._update_inplace(result)  # type: ignore[misc]  # which stubs lack
        self._others, self._labels = getattr(result, "_others", None), getattr(result, "_labels", None)

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
        """Return a column or some; raises NoSuchMetric, with what may have been meant, for a name that there is not."""
        names = [key] if isinstance(key, str) else key
        are_names = isinstance(names, list) and names and all(isinstance(one, str) for one in names)
        if are_names and self._is_of_launches and any(one not in self.columns for one in names):
            found = self._found(names)
            return found[key] if isinstance(key, str) and list(found) == [key] else found
        if isinstance(key, str) and key not in self.columns:
            raise NoSuchMetric(
                f"'{key}' is no column of this frame, which is no selection of a report's launches",
                f"choose it first: metrics[[…, '{key}']], or metrics['{key}']",
            )
        return _selecting(pd.DataFrame.__getitem__)(self, key)

    @property
    def _is_of_launches(self) -> bool:
        """Whether the rows are launches, and one can be asked for by its number."""
        if self._others is None or self._labels is None or self.index.name != LAUNCH:
            return False
        return bool(self.index.is_unique) and self.index.equals(self._labels)

    def _found(self, names: list[str]) -> pd.DataFrame:
        assert self._others is not None
        own = [name for name in names if name in self.columns and name not in ROWS]
        asked = [name for name in names if name not in own]
        try:
            found = self._others(asked)
        except UsageProblem as error:
            for name in asked:
                near = difflib.get_close_matches(name, self.columns, n=1, cutoff=NEAR)
                if near and name not in self.columns and "__" not in name:  # which ncu's names have
                    raise NoSuchMetric(f"no metric is called '{name}'; did you mean '{near[0]}'?") from error
            raise NoSuchMetric(error.message, error.hint) from error
        if not self.index.isin(found.index).all():
            raise KeyError(names[0])
        found = found.loc[self.index]
        for name in own:
            found.insert(min(names.index(name), len(found.columns)), name, super().__getitem__(name))
        return found


def launch_metrics(values: pd.DataFrame, others: Callable[[list[str]], pd.DataFrame]) -> LaunchMetrics:
    """Return values by launch and key as a frame that asks ``others`` for names which are no column of it."""
    found = LaunchMetrics(values)
    found._others, found._labels, found.attrs = others, found.index, values.attrs
    return found
