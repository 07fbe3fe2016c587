"""A stored run whose report was opened: what several readers ask of it is read once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.frame.columns import Values
from ncu_assist.ncu.report import read_report
from ncu_assist.pipeline.bare_report import BareReport
from ncu_assist.pipeline.kept_code import with_code
from ncu_assist.pipeline.together import Stopped
from ncu_assist.store import StoredRun

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class OpenedRun(BareReport):
    """A run of the archive beside its opened report, in the place of the run: its tables are those of the archive."""

    stored: StoredRun

    @property
    def keeps_report(self) -> bool:
        return self.stored.keeps_report

    def metrics(self) -> pd.DataFrame:
        return self.stored.metrics()

    def by_launch(self) -> dict[int, Values]:
        return self.stored.by_launch()


def opened(stored: StoredRun, folder: Path, most: int, stopped: Stopped | None = None) -> StoredRun:
    """Return a run with its report opened, which is written to ``folder`` where it is compressed in the archive.

    The run itself where it keeps none, or where that has more than ``most`` launches. Raises as ``read_report`` does.
    """
    if isinstance(stored, BareReport):
        return BareReport(stored.run, stored.folder, stored.title, with_code(stored.report, stored))
    if not stored.keeps_report or len(stored.run.launches) > most:
        return stored
    path = stored.report_file(folder)
    if path is None:
        return stored
    report = with_code(read_report(path, stopped=stopped), stored)
    return OpenedRun(stored.run, stored.folder, stored.reference, report, stored)
