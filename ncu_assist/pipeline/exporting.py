"""The tables of a run or a report, for `export`: launches, metrics, instances, rules, lines."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.launch_selection import EVERY_LAUNCH, LaunchSelection
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.ncu.report import Report, read_report
from ncu_assist.ncu.report_file import SessionTexts
from ncu_assist.pipeline.importing import sent
from ncu_assist.pipeline.opened_reports import kept_report, launch_numbers
from ncu_assist.pipeline.pages.readable import identity_of, said_of
from ncu_assist.project import Project
from ncu_assist.quantity import number_of
from ncu_assist.record import Launch, Run
from ncu_assist.render.export import Export
from ncu_assist.render.export.columns import Chosen, choose, rows_of, wide
from ncu_assist.render.json.values import clean, device, run_facts
from ncu_assist.render.redact import Identity, redact_text
from ncu_assist.render.redact.frames import redact_frame
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
# The tables that need the report; a run has the others.
OF_THE_REPORT = ("rules", "session", "instances", "lines", "sass", "timeline")
WITH_METRICS = ("launches", "metrics", "instances")


@dataclass(frozen=True)
class ExportSource:
    """A run, or a report that belongs to none. Files in ``folder`` may be written and are removed afterwards.

    ``path`` is that of the report: None where a run keeps none.
    """

    stored: StoredRun | None
    path: Path | None
    folder: Path

    @property
    def run(self) -> Run | None:
        return self.stored.run if self.stored else None

    @property
    def where(self) -> str:
        return "this run" if self.run else "this report"

    @cached_property
    def report(self) -> Report:
        """Return the report, read. Raises UsageProblem where there is none, DamagedData as read_report does."""
        if self.path is not None:
            with nullcontext() if self.stored else sent():
                return read_report(self.path)
        assert self.stored is not None  # a report that belongs to no run has a path
        kept = kept_report(self.stored)
        if kept is None:
            why = "launched no kernel" if self.stored.run.launched_nothing else "keeps no report"
            raise UsageProblem(
                f"{self.stored.reference} {why}, so it has no such table", "--table metrics or --table launches"
            )
        return kept

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
        return said_of(self.stored, self.path, Path(tempfile.mkdtemp(dir=self.folder)))

    def table(self, name: str) -> pd.DataFrame:
        """Return a frame of the report, its launches numbered as in the run."""
        frame: pd.DataFrame = getattr(self.report, name)
        if "launch" not in frame or self.numbers == tuple(range(len(self.numbers))):
            return frame
        return frame.assign(launch=[self.numbers[launch] for launch in frame["launch"]])


@contextmanager
def opened_source(project: Project, reference: str, kernel: str | None) -> Iterator[ExportSource]:
    """Give what a reference names, for the length of the with block. Raises as ``references.resolve_all`` does."""
    (found,) = resolve_all((reference,), Store(project.reports), Context(project, Path.cwd(), kernel))
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as name:
        folder = Path(name)
        if isinstance(found, StoredRun):
            yield ExportSource(found, found.report_file(folder), folder)
        else:
            yield ExportSource(None, found, folder)


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


def export(
    project: Project,
    reference: str,
    table: str = "launches",
    metrics: tuple[str, ...] = (),
    *,
    kernel: str | None = None,
    selection: LaunchSelection = EVERY_LAUNCH,
    workload: str | None = None,
    redact: bool = True,
) -> Export:
    """Return a table of what a reference names: of all metrics, or of these, of the launches chosen, of a workload.

    Raises UsageProblem for what is not there, DamagedData for what cannot be read whole.
    """
    if metrics and table not in WITH_METRICS:
        raise UsageProblem(f"the table {table} has no metrics to choose from", "drop --metrics")
    with opened_source(project, reference, kernel) as source:
        chosen = _chosen(source, metrics)
        frame = TABLES[table](source, chosen)
        if not selection.is_of_all or workload is not None:
            frame = _of_launches(frame, source, table, selection, workload)
        facts, notes = _facts(source), (*_absent(chosen, table), *_notes(source, table, len(frame)))
        if redact:
            identity = identity_of(source.said, source.launches)
            frame, facts = redact_frame(frame, identity), _redacted(facts, identity)
            notes = tuple(redact_text(note, identity) for note in notes)
    units = _units(source, chosen) if table == "launches" else {}
    return Export(table, frame, {"redacted": redact, "run": clean(facts)}, units, notes)


def _of_launches(
    frame: pd.DataFrame, source: ExportSource, table: str, selection: LaunchSelection, workload: str | None
) -> pd.DataFrame:
    """Return the rows of the launches that were asked for; raises UsageProblem for a table that has none."""
    if "launch" not in frame:
        hint = "drop --launch, --filter and --workload"
        raise UsageProblem(f"the table {table} has no launches to choose from", hint)
    known = list(dict.fromkeys(one.workload for one in source.launches if one.workload))
    if workload is not None and workload not in known:
        message = f"{source.where} has no launches of workload '{workload}'; {did_you_mean(workload, known)}"
        raise UsageProblem(message, "drop --workload")
    of_workload = [one for one in source.launches if workload in (None, one.workload)]
    wanted = [one.index for one in selection.of(of_workload)]
    if table in OF_THE_REPORT and not set(wanted) & set(source.numbers):
        what = f"no launch of workload {workload}" if workload else "none of these launches"
        raise UsageProblem(f"the archived report has {what}", "--table metrics or --table launches")
    return frame[frame["launch"].isin(wanted)].reset_index(drop=True)


def _chosen(source: ExportSource, asked: tuple[str, ...]) -> tuple[Chosen, ...] | None:
    if not asked:
        return None
    names = list(source.metrics["metric"].astype("category").cat.categories)
    if not names:
        if source.run and source.run.launched_nothing:
            raise UsageProblem(f"{source.where} has no metrics: it launched no kernel", "drop --metrics")
        profiled = f"ncu-assist profile {source.run.kernel}" if source.run else "ncu --set full -o REPORT PROGRAM"
        raise UsageProblem(f"{source.where} has no metrics: it was not profiled", profiled)
    return choose(asked, names, source.where)


def _launches(source: ExportSource, chosen: tuple[Chosen, ...] | None) -> pd.DataFrame:
    order = None if chosen is None else [one.column for one in chosen]
    return wide(source.facts, _metrics(source, chosen), order)


def _metrics(source: ExportSource, chosen: tuple[Chosen, ...] | None) -> pd.DataFrame:
    return source.metrics if chosen is None else rows_of(source.metrics, chosen)


def _instances(source: ExportSource, chosen: tuple[Chosen, ...] | None) -> pd.DataFrame:
    frame = source.table("instances")
    if chosen is None:
        return frame
    wanted = {name for one in chosen for name in one.names}
    return frame[frame["metric"].isin(wanted)]


def _of_report(table: str) -> Callable[[ExportSource, tuple[Chosen, ...] | None], pd.DataFrame]:
    return lambda source, _: source.table(table)


TABLES: dict[str, Callable[[ExportSource, tuple[Chosen, ...] | None], pd.DataFrame]] = {
    "launches": _launches,
    "metrics": _metrics,
    "instances": _instances,
    **{name: _of_report(name) for name in ("rules", "session", "lines", "sass", "timeline")},
}


def _facts(source: ExportSource) -> dict[str, Any]:
    """Return what names the run; of a bare report the same keys, without its file's name and without a date."""
    if source.run and source.stored:
        return run_facts(source.run, source.stored.reference, source.run.source)
    unknown = dict.fromkeys(("reference", "kernel", "version", "run_id"))
    known = {"source": "imported", "created": None, "verified": False, "device": device(source.report.device)}
    return {**unknown, **known}


def _absent(chosen: tuple[Chosen, ...] | None, table: str) -> list[str]:
    """Return which of the metrics asked for are not there, and what may have been meant."""
    absent = [one for one in chosen or () if not one.names]
    listed = ", ".join(one.column + (f" (use {one.instead})" if one.instead else "") for one in absent)
    return [f"not in the report, so {'empty' if table == 'launches' else 'without a row'}: {listed}"] if absent else []


def _notes(source: ExportSource, table: str, rows: int) -> tuple[str, ...]:
    notes = list(source.run.notes) if source.run else list(source.report.notes)
    if source.run is None:
        if source.report.lossy:
            notes.append(f"lossy: a printed page lacks {'; '.join(source.report.lacks)}")
        notes.append("unverified: the original bytes of this report are not known")
    elif table in OF_THE_REPORT and len(source.numbers) < len(source.run.launches):
        held = f"{len(source.numbers)} of the {len(source.run.launches)} launches of the run"
        notes.append(f"the archived report, and so the table {table}, has {held}; metrics and launches have all")
    if source.stored and table in ("instances", "timeline"):
        notes += _sample_notes(source.stored)
    if not rows:
        notes.append(f"the table {table} of {source.where} has no rows")
    return tuple(notes)


def _sample_notes(stored: StoredRun) -> Iterator[str]:
    """Yield which samples over time went when the report was dropped."""
    facts = stored.report_facts()
    if facts and facts.without_samples:
        yield f"samples over time of {number_of(len(facts.without_samples), 'launch')} are not kept"
    if facts and facts.charted_only:
        launches = number_of(len(facts.charted_only), "launch")
        yield f"of the samples over time of {launches}, only those of metrics charted on pages are kept"


def _redacted(value: Any, identity: Identity) -> Any:
    if isinstance(value, dict):
        return {key: _redacted(one, identity) for key, one in value.items()}
    return redact_text(value, identity) if isinstance(value, str) else value


def _units(source: ExportSource, chosen: tuple[Chosen, ...] | None) -> dict[str, str]:
    """Return the unit of each metric that is a column of the wide table."""
    rows = source.metrics.drop_duplicates("metric")
    units = dict(zip(rows["metric"].astype(str), rows["unit"].astype(str), strict=True))
    if chosen is not None:
        known = [one for one in chosen if one.names]
        units = {one.column: ROWS[one.column].unit if one.is_derived else units[one.names[0]] for one in known}
    return {"duration_ns": "ns", **units}
