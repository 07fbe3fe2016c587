"""A run that is not in the archive: a foreign report that was only read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ncu_assist.record import Run

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class UnstoredRun:
    """A run with its metrics in memory, readable like a StoredRun; it has no samples and no sources."""

    run: Run
    table: pd.DataFrame

    @property
    def reference(self) -> str:
        return self.run.version

    def metrics(self) -> pd.DataFrame:
        """Return the tidy metrics it was made with."""
        return self.table

    def samples(self) -> pd.DataFrame:
        """Return no samples, in the columns of some."""
        from ncu_assist.store import parquet

        return parquet.empty(parquet.samples_schema())

    def source_texts(self) -> dict[str, str]:
        """Return no sources."""
        return {}
