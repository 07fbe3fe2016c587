"""What an export takes its tables from: a stored run with its archived report, or a report file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ncu_assist.errors import UsageProblem
from ncu_assist.ncu.report import Report, read_report
from ncu_assist.ncu.session_texts import SessionTexts
from ncu_assist.pipeline.close_look import launch_numbers
from ncu_assist.pipeline.identity import said_of
from ncu_assist.project import Project
from ncu_assist.record import Launch, Run
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.choosing import Context
from ncu_assist.store.references import resolve_all

if TYPE_CHECKING:
    import pandas as pd

# Facts of a launch, in the order of the columns; those that the archive does not keep are absent there.
FACTS = (
    *("launch", "kernel", "signature", "mangled", "workload", "ranges", "domain_ranges", "start_end_ranges"),
    *("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"),
    *("process", "context", "stream", "device", "duration_ns"),
)


@dataclass(frozen=True)
class ExportSource:
    """A run, or a report that belongs to none. Files in ``folder`` may be written and are removed afterwards.

    ``path`` is that of the report: None where a run keeps none.
    """

    run: Run | None
    stored: StoredRun | None
    path: Path | None
    folder: Path

    @property
    def where(self) -> str:
        return "this run" if self.run else "this report"

    @cached_property
    def report(self) -> Report:
        """Return the report, read. Raises UsageProblem where there is none, DamagedData as read_report does."""
        if self.path is None:
            raise UsageProblem(
                f"{self.stored.reference if self.stored else 'the run'} keeps no report: it has no such table",
                "--table metrics or --table launches",
            )
        return read_report(self.path)

    @property
    def launches(self) -> tuple[Launch, ...]:
        return self.run.launches if self.run else self.report.records

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """Return the tidy metrics of all launches, by launch and name."""
        import numpy as np

        frame = self.stored.metrics() if self.stored else self.report.metrics
        names = frame["metric"].astype("category").cat
        rank = np.argsort(np.argsort(names.categories.to_numpy(dtype=str), kind="stable"), kind="stable")
        order = np.lexsort((rank[names.codes.to_numpy()], frame["launch"].to_numpy()))
        return frame.take(order).reset_index(drop=True)

    @cached_property
    def facts(self) -> pd.DataFrame:
        """Return a row for each launch with the columns FACTS."""
        import pandas as pd

        known = pd.DataFrame() if self.run else self.report.launches
        columns = {name: known[name] for name in FACTS if name in known}
        columns |= {name: values for name, values in _record_columns(self.launches).items() if name not in columns}
        return pd.DataFrame({name: columns[name] for name in FACTS})

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """Return which launches of the run those of the report are: a recorded run keeps the report of one workload."""
        return launch_numbers(self.run, self.report) if self.run else tuple(range(len(self.report.records)))

    @cached_property
    def said(self) -> SessionTexts:
        """Return what names machine and user: from the report's session, and the command that the run records."""
        return said_of(self.run, self.path, self._subfolder())

    def table(self, name: str) -> pd.DataFrame:
        """Return a frame of the report, its launches numbered as in the run."""
        frame: pd.DataFrame = getattr(self.report, name)
        if "launch" not in frame or self.numbers == tuple(range(len(self.numbers))):
            return frame
        return frame.assign(launch=[self.numbers[launch] for launch in frame["launch"]])

    def _subfolder(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self.folder))


@contextmanager
def opened_source(project: Project, reference: str, kernel: str | None) -> Iterator[ExportSource]:
    """Give what a reference names, for the length of the with block. Raises as ``references.resolve_all`` does."""
    (found,) = resolve_all((reference,), Store(project.reports), Context(project, Path.cwd(), kernel))
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as name:
        folder = Path(name)
        if isinstance(found, StoredRun):
            yield ExportSource(found.run, found, found.report_file(folder), folder)
        else:
            yield ExportSource(None, None, found, folder)


def _record_columns(launches: Sequence[Launch]) -> dict[str, Any]:
    import pandas as pd

    count = len(launches)
    columns: dict[str, Any] = {name: pd.Series([None] * count, dtype=object) for name in FACTS}
    columns |= {name: pd.array([None] * count, dtype="Int64") for name in ("process", "context", "stream", "device")}
    columns["launch"] = pd.Series([one.index for one in launches], dtype="int32")
    for name in ("kernel", "signature", "workload", "ranges"):
        columns[name] = pd.Series([getattr(one, name) for one in launches], dtype=object)
    for field in ("grid", "block"):
        for axis, letter in enumerate("xyz"):
            columns[f"{field}_{letter}"] = pd.Series([getattr(one, field)[axis] for one in launches], dtype="int64")
    columns["duration_ns"] = pd.Series([one.duration_ns for one in launches], dtype="float64")
    return columns
