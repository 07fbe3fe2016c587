"""Save a run together with what the rules say of it now: later that is what they said then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ncu_assist.ceilings import ceilings_of
from ncu_assist.record import Run
from ncu_assist.rules.kept import findings_of
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.findings import FINDINGS, findings_json
from ncu_assist.store.parquet import used_columns
from ncu_assist.store.reading import METRICS


def save_judged(store: Store, run: Run, files: Mapping[str, bytes | Path]) -> StoredRun:
    """Save a run and, where it has counters, its findings beside them. Raises as Store.save does.

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
        return store.save(replace(run, notes=(*run.notes, note)), files)
    return store.save(run, {**files, FINDINGS: findings_json(found)})
