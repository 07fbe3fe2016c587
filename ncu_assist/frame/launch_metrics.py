"""The metrics of launches as a frame: its kernel, then keys of the catalogue, and ncu's names are found beside them."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

import pandas as pd

from ncu_assist.errors import UsageProblem

NEAR = 0.8
KERNEL = "kernel"


class LaunchMetrics(pd.DataFrame):
    """A row a launch: its kernel, then a column a key of `ncu-assist metrics`; ``[…]`` also takes what is no column.

    ncu's own names, several of either in a list, and patterns with ``*``. What is made of it is a plain frame.
    """

    _metadata = ["_others"]  # noqa: RUF012  # as pandas asks for it
    _others: Callable[[list[str]], pd.DataFrame]

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def __getitem__(self, key: Any) -> Any:
        """Return a column or some; raises UsageProblem, with what may have been meant, for a name that there is not."""
        names = [key] if isinstance(key, str) else key
        are_names = isinstance(names, list) and all(isinstance(one, str) for one in names)
        if are_names and any(one not in self.columns for one in names):
            found = self._found(names)
            return found[key] if isinstance(key, str) and list(found) == [key] else found
        return super().__getitem__(key)

    def _found(self, names: list[str]) -> pd.DataFrame:
        try:
            found = self._others([name for name in names if name != KERNEL])
        except UsageProblem as error:
            for name in names:
                near = difflib.get_close_matches(name, self.columns, n=1, cutoff=NEAR)
                if near and name not in self.columns and "__" not in name:  # which ncu's names have
                    raise UsageProblem(f"no metric is called '{name}'; did you mean '{near[0]}'?") from error
            raise
        if KERNEL in names:
            found.insert(0, KERNEL, super().__getitem__(KERNEL))
        return found


def launch_metrics(values: pd.DataFrame, others: Callable[[list[str]], pd.DataFrame]) -> LaunchMetrics:
    """Return values by launch and key as a frame that asks ``others`` for names which are no column of it."""
    found = LaunchMetrics(values)
    found._others = others
    return found
