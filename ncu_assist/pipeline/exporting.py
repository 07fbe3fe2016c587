"""From a reference to one table that may leave the machine: chosen, redacted, with what there is to say about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ncu_assist.errors import UsageProblem
from ncu_assist.pipeline.export_source import ExportSource, opened_source
from ncu_assist.pipeline.identity import identity_of
from ncu_assist.project import Project
from ncu_assist.render.export import Export
from ncu_assist.render.export.choosing import Chosen, choose, rows_of
from ncu_assist.render.export.wide import wide
from ncu_assist.render.json.values import clean, device, run_facts
from ncu_assist.render.redact import Identity, redact_frame, redact_text

if TYPE_CHECKING:
    import pandas as pd

OF_THE_REPORT = ("rules", "session", "instances", "lines", "sass")  # the others a run has without its report
WITH_METRICS = ("launches", "metrics", "instances")


@dataclass(frozen=True)
class ExportRequest:
    """What is asked for: a reference, one of TABLES, metrics (all when empty), and whether identity is removed."""

    reference: str
    kernel: str | None = None
    table: str = "launches"
    metrics: tuple[str, ...] = ()
    redact: bool = True


def export(project: Project, request: ExportRequest) -> Export:
    """Return the table. Raises UsageProblem for what is not there, DamagedData for what cannot be read whole."""
    if request.metrics and request.table not in WITH_METRICS:
        raise UsageProblem(f"the table {request.table} has no metrics to choose from", "drop --metrics")
    with opened_source(project, request.reference, request.kernel) as source:
        chosen = _chosen(source, request.metrics)
        frame = TABLES[request.table](source, chosen)
        facts, notes = _facts(source), (*_absent(chosen, request.table), *_notes(source, request.table, len(frame)))
        if request.redact:
            identity = identity_of(source.said, source.launches)
            frame, facts = redact_frame(frame, identity), _redacted(facts, identity)
            notes = tuple(redact_text(note, identity) for note in notes)
    units = _units(source, chosen) if request.table == "launches" else {}
    return Export(request.table, frame, {"redacted": request.redact, "run": clean(facts)}, units, notes)


def _chosen(source: ExportSource, asked: tuple[str, ...]) -> tuple[Chosen, ...] | None:
    if not asked:
        return None
    names = list(source.metrics["metric"].astype("category").cat.categories)
    if not names:
        if source.run and source.run.launched_nothing:
            raise UsageProblem(f"{source.where} has no metrics: it launched no kernel", "leave out --metrics")
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
    **{name: _of_report(name) for name in ("rules", "session", "lines", "sass")},
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
    return [f"not there, and {'empty' if table == 'launches' else 'without a row'}: {listed}"] if absent else []


def _notes(source: ExportSource, table: str, rows: int) -> tuple[str, ...]:
    notes = list(source.run.notes) if source.run else list(source.report.notes)
    if source.run is None:
        if source.report.lossy:
            notes.append(f"lossy: a CSV export lacks {'; '.join(source.report.lacks)}")
        notes.append("unverified: the bytes of this report at its capture are not known")
    elif table in OF_THE_REPORT and len(source.numbers) < len(source.run.launches):
        held = f"{len(source.numbers)} of the {len(source.run.launches)} launches of the run"
        notes.append(f"the archived report, and so the table {table}, holds {held}; metrics and launches hold all")
    if not rows:
        notes.append(f"the table {table} of {source.where} has no rows")
    return tuple(notes)


def _redacted(value: Any, identity: Identity) -> Any:
    if isinstance(value, dict):
        return {key: _redacted(one, identity) for key, one in value.items()}
    return redact_text(value, identity) if isinstance(value, str) else value


def _units(source: ExportSource, chosen: tuple[Chosen, ...] | None) -> dict[str, str]:
    """Return the unit of each metric that is a column of the wide table."""
    rows = _metrics(source, chosen).drop_duplicates("metric")
    found = dict(zip(rows["metric"].astype(str), rows["unit"].astype(str), strict=True))
    return {"duration_ns": "ns", **found}
