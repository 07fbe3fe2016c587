"""A stored run whose report was opened: what several readers ask of it is read once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.columns import Values
from ncu_assist.ncu.report import Report, read_report
from ncu_assist.ncu.source.reading import SourceLines, SourceTables
from ncu_assist.pipeline.bare_report import BareReport
from ncu_assist.pipeline.together import Stopped
from ncu_assist.store import StoredRun

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class OpenedReport(Report):
    """A report that keeps the source tables it has read; lines of launches among them are not read again."""

    _tables: dict[frozenset[int], SourceTables] = field(default_factory=dict, repr=False)

    def source(self, launches: Collection[int] | None = None) -> SourceTables:
        wanted = frozenset(range(len(self.records)) if launches is None else launches)
        if wanted not in self._tables:
            self._tables[wanted] = super().source(launches)
        return self._tables[wanted]

    def source_lines(self, launches: Collection[int]) -> SourceLines:
        for read, tables in self._tables.items():
            if read >= set(launches):
                lines = tables.lines
                return SourceLines(lines[lines["launch"].isin(launches)].reset_index(drop=True), tables.texts)
        return super().source_lines(launches)


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
        return BareReport(stored.run, stored.folder, stored.title, _kept(stored.report))
    if not stored.keeps_report or len(stored.run.launches) > most:
        return stored
    path = stored.report_file(folder)
    if path is None:
        return stored
    report = _kept(read_report(path, stopped=stopped))
    return OpenedRun(stored.run, stored.folder, stored.reference, report, stored)


def _kept(report: Report) -> OpenedReport:
    return OpenedReport(**{one.name: getattr(report, one.name) for one in fields(Report)})
