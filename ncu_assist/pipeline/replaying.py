"""The recorded answer, where nothing can be measured: stored runs whose source is still the version's own."""

from __future__ import annotations

import os
from dataclasses import replace

from ncu_assist.errors import DamagedData, EnvironmentProblem
from ncu_assist.ncu.command import find_ncu
from ncu_assist.outcome import Outcome, VersionOutcome
from ncu_assist.pipeline.gpus import chosen_gpu, query_gpus
from ncu_assist.pipeline.reporter import Reporter
from ncu_assist.spec import Kernel, Version, Workload, unserved, why_skipped
from ncu_assist.store import Store, StoredRun, machine_hash, shown_source
from ncu_assist.store.matching import newest_matching

SHOWN = {"metrics.parquet", "samples.parquet"}  # the files behind the figures of a table


def why_not_measurable() -> EnvironmentProblem | None:
    """Return what keeps this machine from profiling (no driver, no GPU, no ncu), None if it can try."""
    try:
        chosen_gpu(query_gpus(), os.environ.get("CUDA_VISIBLE_DEVICES"))
        find_ncu()
    except EnvironmentProblem as problem:
        return problem
    return None


def replay(
    store: Store,
    kernel: Kernel,
    versions: tuple[Version, ...],
    workloads: tuple[Workload, ...],
    why: EnvironmentProblem,
    reporter: Reporter,
) -> Outcome:
    """Return the stored runs of these versions, and say on which GPU and when they were measured.

    A version without a run of its present source is ``not measured``, or skipped. Raises EnvironmentProblem when
    nothing can be shown: no version has a run that holds one of the workloads; DamagedData when all that is left of
    them is damaged.
    """
    rows = tuple(
        replace(_row(store, kernel, version, {w.name for w in workloads}), unserved=unserved(version, workloads))
        for version in versions
    )
    runs = [row.run for row in rows if row.run is not None]
    damages = [row.failure for row in rows if row.failure]
    if not runs and damages:
        raise DamagedData(damages[0], "ncu-assist verify")
    if not runs:
        raise _nothing_to_show(kernel, versions, workloads, why)
    source = shown_source(runs[0].run, machine_hash())
    reporter.note(f"{source.upper()}: {_measured_on(runs)}. Nothing was measured here: {why.message}.")
    return Outcome(kernel.name, tuple(w.name for w in workloads), source, rows)


def _nothing_to_show(
    kernel: Kernel, versions: tuple[Version, ...], workloads: tuple[Workload, ...], why: EnvironmentProblem
) -> EnvironmentProblem:
    everything = len(versions) == len(kernel.versions)
    which = kernel.name if everything else f"{kernel.name} {', '.join(v.short for v in versions)}"
    where = " or ".join(w.name for w in workloads) if len(workloads) < len(kernel.workloads) else "any workload"
    return EnvironmentProblem(
        f"{why.message}, and no recorded run of {which} matches its source as it is on {where}", "ncu-assist doctor"
    )


def _row(store: Store, kernel: Kernel, version: Version, workloads: set[str]) -> VersionOutcome:
    """Return the run that shows a version; without one, why: damage that stands in its place, or nothing measured."""
    stored = newest_matching(store, kernel.name, version)
    if stored is None or not workloads & {w.name for w in stored.run.workloads}:
        found = [d for d in store.damaged() if d.path.startswith(f"{kernel.name}/{version.name}/")]
        words = f"{found[0].path} {found[0].words}" if found else ""
        skipped = "" if words else why_skipped(version)
        return VersionOutcome(version.name, None, words, DamagedData.exit_code, skipped=skipped)
    try:
        for name in SHOWN & set(stored.run.files):
            stored.read(name)
    except DamagedData as error:
        return VersionOutcome(version.name, None, error.message, error.exit_code)
    return VersionOutcome(version.name, stored)


def _measured_on(runs: list[StoredRun]) -> str:
    devices = sorted({r.run.device.name for r in runs if r.run.device})
    dates = sorted({r.run.created[:10] for r in runs})
    return f"measured on {' and '.join(devices) or 'an unknown GPU'}, {' and '.join(dates)}"
