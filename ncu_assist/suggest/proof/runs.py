"""What a proof measured as runs: kept beside the draft, and in the archive once the draft is a version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ncu_assist.backends.base import BuildOutcome
from ncu_assist.drafts import RUNS, StoredDraft
from ncu_assist.harness.exam.client import Examined
from ncu_assist.ncu.command import ProfileOptions
from ncu_assist.pipeline.archiving import Measurement, VersionResult, save
from ncu_assist.pipeline.profiling import VersionCapture
from ncu_assist.record import Bench
from ncu_assist.store import Store, StoredRun
from ncu_assist.suggest.proof.building import log_of
from ncu_assist.suggest.proof.trial import Trial

Pair = tuple[StoredRun, StoredRun]  # parent and draft


@dataclass(frozen=True)
class Found:
    """What was measured: the exam's times and facts, the builds, and the captures once there are some."""

    trial: Trial
    examined: Examined
    builds: Mapping[str, BuildOutcome]
    captures: Mapping[str, VersionCapture]
    options: ProfileOptions
    built_in: Path


def save_runs(found: Found, store: Store, id: str) -> Pair:
    """Save parent and draft as runs of one bench and return them."""
    shared = _shared(found, f"ncu-assist suggest prove {id}")
    parent, draft = (save(store, shared, _result(found, name)) for name in _names(found.trial))
    return parent, draft


def adopt(stored: StoredDraft, store: Store) -> tuple[StoredRun, ...]:
    """Copy the runs of a draft that became a version into the archive and return them; those of its parent too.

    Raises DamagedData for files that were changed since.
    """
    own = Store(stored.folder / RUNS)
    return tuple(_copied(run, store) for run in own.runs(stored.draft.kernel))


def _copied(run: StoredRun, store: Store) -> StoredRun:
    return store.save(run.run, {name: run.read(name) for name in run.run.files})


def _names(trial: Trial) -> tuple[str, str]:
    return trial.parent.name, trial.draft.name


def _result(found: Found, name: str) -> VersionResult:
    measured, version = found.examined.measured, found.trial.kernel.version(name)
    log = log_of(found.builds[name], found.built_in)
    checks = measured.checks.get(name, ())
    notes = ("measured in a proof of a draft, beside it",) if name == found.trial.parent.name else ()
    return VersionResult(version, log, checks, found.captures.get(name), notes)


def _shared(found: Found, command: str) -> Measurement:
    measured, kernel = found.examined.measured, found.trial.kernel
    facts = measured.bench
    bench = None
    if facts is not None:
        bench = Bench(facts.bench_id, facts.flush, facts.rounds, facts.temperature_c, facts.throttle_reasons, ())
    return Measurement(
        kernel=kernel,
        workloads=tuple(w for w in kernel.workloads if w.name in _workloads(found)),
        moment=datetime.now(UTC),
        device=measured.device,
        toolchain=measured.toolchain,
        bench=bench,
        samples=measured.samples,
        options=found.options if found.captures else None,
        command=command,
    )


def _workloads(found: Found) -> set[str]:
    checked = {check.workload for checks in found.examined.measured.checks.values() for check in checks}
    return {found.trial.kernel.default_workload.name, *checked}
