"""The recorded answer, where nothing can be measured: stored runs whose source is still the version's own."""

from __future__ import annotations

import os
from dataclasses import replace

from ncu_assist.analysis.ladder import KernelOutcome, VersionOutcome
from ncu_assist.errors import DamagedData, EnvironmentProblem
from ncu_assist.ncu.command import find_ncu
from ncu_assist.pipeline.gpus import chosen_gpu, query_gpus
from ncu_assist.pipeline.reporter import Reporter
from ncu_assist.record import Source
from ncu_assist.sources import source_sha256
from ncu_assist.spec import Kernel, Version, Workload, unserved, why_skipped
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.matching import newest_of_source

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
) -> KernelOutcome:
    """Return the stored runs of these versions, and say on which GPU and when they were measured.

    A version without a run of its present source is ``not measured``, or skipped, and so is one that lacks some of the
    workloads: they were asked for and cannot be measured here. Raises EnvironmentProblem when nothing can be shown: no
    version has a run that holds one of the workloads; DamagedData when all that is left of them is damaged.
    """
    rows = tuple(_row(store, kernel, version, workloads) for version in versions)
    runs = [row.run for row in rows if row.run is not None]
    damages = [row.failure for row in rows if row.failure]
    if not runs and damages:
        raise DamagedData(damages[0], "ncu-assist verify")
    if not runs:
        raise _nothing_to_show(kernel, versions, workloads, why)
    source: Source = "live" if all(stored.run.source == "live" for stored in runs) else "recorded"
    word, when = ("STORED", "now") if source == "live" else ("RECORDED", "here")
    reporter.note(f"{word}: {_measured_on(runs)}. Nothing was measured {when}: {why.message}.")
    missing = [f"{row.version} on {', '.join(row.unmeasured)}" for row in rows if row.unmeasured]
    if missing:
        lacks = "what this machine lacks: ncu-assist doctor"
        reporter.note(f"NOT MEASURED: {'; '.join(missing)}. No run is of that source on that workload; {lacks}")
    return KernelOutcome(kernel.name, tuple(w.name for w in workloads), source, rows)


def _nothing_to_show(
    kernel: Kernel, versions: tuple[Version, ...], workloads: tuple[Workload, ...], why: EnvironmentProblem
) -> EnvironmentProblem:
    everything = len(versions) == len(kernel.versions)
    which = kernel.name if everything else f"{kernel.name} {', '.join(v.short for v in versions)}"
    where = " or ".join(w.name for w in workloads) if len(workloads) < len(kernel.workloads) else "any workload"
    return EnvironmentProblem(
        f"{why.message}, and no recorded run of {which} matches its source as it is on {where}", "ncu-assist doctor"
    )


def _row(store: Store, kernel: Kernel, version: Version, workloads: tuple[Workload, ...]) -> VersionOutcome:
    """Return the run that shows a version; without one, why: damage that stands in its place, or nothing measured."""
    not_for_it = unserved(version, workloads)
    served = [workload.name for workload in workloads if workload.name not in not_for_it]
    row = VersionOutcome(version.name, None, unserved=not_for_it)
    stored = _shown(store, kernel, version, set(served)) if served else None
    if stored is None:
        found = [d for d in store.damaged() if d.concerns(f"{kernel.name}/{version.name}/")]
        if found:
            words = f"{found[0].path} {found[0].words}"
            return replace(row, failure=words, failure_code=found[0].exit_code)
        skipped = why_skipped(version)
        return replace(row, skipped=skipped, unmeasured=() if skipped else tuple(served))
    try:
        for name in SHOWN & set(stored.run.files):
            stored.read(name)
    except DamagedData as error:
        return replace(row, failure=error.message, failure_code=error.exit_code)
    return replace(row, run=stored, unmeasured=tuple(name for name in served if stored.run.workload(name) is None))


def _shown(store: Store, kernel: Kernel, version: Version, served: set[str]) -> StoredRun | None:
    """Return the run of a version's source that shows it: one of all the workloads if there is one, else of any."""
    runs, source = store.runs(kernel.name, version.name), source_sha256(version.path)
    held = [(stored, served & {facts.name for facts in stored.run.workloads}) for stored in runs]
    every = newest_of_source([stored for stored, names in held if names == served], source)
    return every or newest_of_source([stored for stored, names in held if names], source)


def _measured_on(runs: list[StoredRun]) -> str:
    devices = sorted({r.run.device.name for r in runs if r.run.device})
    dates = sorted({r.run.created[:10] for r in runs})
    return f"measured on {' and '.join(devices) or 'an unknown GPU'}, {' and '.join(dates)}"
