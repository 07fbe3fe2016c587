"""What the rules say of a run now: saved together with it, later that is what they said then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ncu_assist.ceilings import ceilings_of
from ncu_assist.frame import combine_tables
from ncu_assist.pipeline.kept_code import code_files
from ncu_assist.record import Run
from ncu_assist.rules.model.of_run import findings_of, judged
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.findings import FINDINGS, Judged, findings_json
from ncu_assist.store.parquet import used_columns
from ncu_assist.store.reading import METRICS


def save_judged(store: Store, run: Run, files: Mapping[str, bytes | Path]) -> StoredRun:
    """Save a run and, where it has counters, its findings and its code beside them. Raises as Store.save does.

    A rule that fails costs no measurement: the run is saved without findings, and a note of it says why.
    """
    metrics = files.get(METRICS)
    if not isinstance(metrics, bytes):
        return store.save(run, files)
    try:
        ceilings = ceilings_of(run.device, store.reports) if run.device else None
        found = findings_of(run, used_columns(metrics, METRICS).by_launch(), ceilings)
    except Exception as error:  # whatever a bug in a rule raises; show and history meet it again and do not hide it
        note = f"its findings could not be worked out and are not stored: {type(error).__name__}: {error}"
        return store.save(replace(run, notes=(*run.notes, note)), {**files, **code_files(run, files)})
    return store.save(run, {**files, FINDINGS: findings_json(found), **code_files(run, files)})


def judged_now(stored: StoredRun, workload: str | None, reports: Path) -> Judged | None:
    """Return what the rules of this version say of a workload of a run that keeps no findings; None where it does.

    ``reports`` is its archive, for the ceilings of its GPU. Raises DamagedData for files that were changed.
    """
    run = stored.run
    if not run.launches or stored.findings() is not None:
        return None
    ceilings = ceilings_of(run.device, reports) if run.device else None
    return judged(run, combine_tables(run, stored.by_launch(), workload), ceilings)
