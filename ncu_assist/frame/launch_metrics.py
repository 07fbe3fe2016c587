"""The metrics of launches as a frame: its kernel, then keys of the catalogue, and ncu's names are found beside them."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

import pandas as pd

from ncu_assist.errors import UsageProblem
from ncu_assist.ncu.catalogue.rows import ROWS

NEAR = 0.8
LAUNCH = "launch"  # what the index is called


class LaunchMetrics(pd.DataFrame):
    """A row a launch: its kernel, then a column a key of `ncu-assist metrics`; ``[…]`` also takes what is no column.

    ncu's own names, several of either in a list, and patterns with ``*``: also of some of the rows, and in a group.
    What has other rows than launches, such as a transposed or a grouped one, has its columns only.
    """

    _metadata = ["_others"]  # noqa: RUF012  # as pandas asks for it
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
        """Return a column or some; raises UsageProblem, with what may have been meant, for a name that there is not."""
        names = [key] if isinstance(key, str) else key
        are_names = isinstance(names, list) and names and all(isinstance(one, str) for one in names)
        if are_names and self._is_of_launches and any(one not in self.columns for one in names):
            found = self._found(names)
            return found[key] if isinstance(key, str) and list(found) == [key] else found
        return super().__getitem__(key)

    @property
    def _is_of_launches(self) -> bool:
        """Whether the rows are launches, and one can be asked for by its number."""
        return self._others is not None and self.index.name == LAUNCH and bool(self.index.is_unique)

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
                    raise UsageProblem(f"no metric is called '{name}'; did you mean '{near[0]}'?") from error
            raise
        if not self.index.isin(found.index).all():
            raise KeyError(names[0])
        found = found.loc[self.index]
        for name in own:
            found.insert(min(names.index(name), len(found.columns)), name, super().__getitem__(name))
        return found


def launch_metrics(values: pd.DataFrame, others: Callable[[list[str]], pd.DataFrame]) -> LaunchMetrics:
    """Return values by launch and key as a frame that asks ``others`` for names which are no column of it."""
    found = LaunchMetrics(values)
    found._others, found.attrs = others, values.attrs
    return found
