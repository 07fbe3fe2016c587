"""A report file that is in no archive, in the place of a run: read, and nothing of it written anywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.frame import is_used
from ncu_assist.frame.columns import Columns, Values
from ncu_assist.ncu.contents import Contents
from ncu_assist.ncu.report import Report, read_report
from ncu_assist.pipeline.foreign_run import IMPORTED, Names, foreign_run, stem
from ncu_assist.pipeline.importing import report_notes
from ncu_assist.pipeline.together import Stopped, together
from ncu_assist.store import StoredRun

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class BareReport(StoredRun):
    """A report as a run without an id, called by its path as the user typed it."""

    title: str
    report: Report

    @property
    def reference(self) -> str:
        return self.title

    @property
    def keeps_report(self) -> bool:
        return not self.report.lossy

    def metrics(self) -> pd.DataFrame:
        return self.report.metrics

    def by_launch(self) -> dict[int, Values]:
        return _by_launch(self.report.contents)

    def report_file(self, folder: Path) -> Path | None:
        return self.report.path


def bare_reports(
    titles: Sequence[str], paths: Sequence[Path], kernel: str | None, meanwhile: Sequence[str] = ()
) -> list[BareReport]:
    """Return report files as runs, read at the same time; ``titles`` are their paths as the user typed them.

    ``meanwhile`` are modules that are needed later: they are imported while the children read. Raises as
    ``read_report`` does, for the first that cannot be read; the other reader is then ended, as by Ctrl-C.
    """
    jobs: list[Callable[[Stopped], Report | None]] = [partial(_read, path) for path in paths]
    jobs.append(partial(_import, meanwhile))
    reports = [one for one in together(jobs) if one is not None]
    return [_bare(title, report, kernel) for title, report in zip(titles, reports, strict=True)]


def _read(path: Path, stopped: Stopped) -> Report:
    return read_report(path, stopped=stopped)


def _import(names: Sequence[str], stopped: Stopped) -> Report | None:
    for name in names:
        if not stopped():
            import_module(name)
    return None


def _bare(title: str, report: Report, kernel: str | None) -> BareReport:
    names = Names(kernel or IMPORTED, stem(report.path) or report.path.name)
    facts = {"run_id": "", "created": "", "verified": False, "notes": report_notes(report)}
    return BareReport(foreign_run(names, report, "imported", **facts), report.path.parent, title, report)


def _by_launch(contents: Contents) -> dict[int, Values]:
    """Return what ``StoredRun.by_launch`` does: the numbers that the catalogue knows."""
    import numpy as np

    names = sorted({name for names in contents.name_lists for name in names if is_used(name)})
    place = {name: i for i, name in enumerate(names)}
    codes = [np.array([place.get(name, -1) for name in each], dtype=np.int32) for each in contents.name_lists]
    lists = [codes[one.names] for one in contents.launches]
    code = np.concatenate(lists)
    launch = np.repeat(np.arange(len(lists), dtype=np.int32), [len(each) for each in lists])
    used = code >= 0
    return Columns(launch[used], code[used], names, contents.values[used]).by_launch()
