"""The evidence of one run, gathered from the archive: what its kernel is to do, its code, its counters, its story."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ncu_assist.drafts.records import Draft
from ncu_assist.frame import Combined, combine_tables
from ncu_assist.pipeline.reading import named
from ncu_assist.pipeline.showing import gather
from ncu_assist.project import Project
from ncu_assist.render.facts import Shown
from ncu_assist.render.redact import Identity
from ncu_assist.spec import Kernel
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.matching import same_source
from ncu_assist.suggest.evidence.cleaning import Cleaner, cleaner, this_machine
from ncu_assist.suggest.evidence.findings import findings_of, unknown_of
from ncu_assist.suggest.evidence.hardware import floor_of, hardware_of
from ncu_assist.suggest.evidence.items import items_of
from ncu_assist.suggest.evidence.records import Chapter, Evidence
from ncu_assist.suggest.evidence.refusing import chosen_workload, kernel_of, sources_of
from ncu_assist.suggest.evidence.shape import shape_of
from ncu_assist.suggest.evidence.source import source_of
from ncu_assist.suggest.evidence.story import failed_of, story_of
from ncu_assist.suggest.evidence.task import task_of

BEST = "@best"


@dataclass(frozen=True)
class Gathered:
    """What all parts of the evidence are made from."""

    store: Store
    stored: StoredRun
    kernel: Kernel
    workload: str
    shown: Shown
    clean: Cleaner
    story: tuple[Chapter, ...]


def evidence(
    project: Project,
    reference: str = BEST,
    workload: str | None = None,
    drafts: Sequence[Draft] = (),
    identity: Identity | None = None,
    kernel: str | None = None,
) -> Evidence:
    """Return the evidence on the run that a reference names, on one workload, the default one unless it is named.

    ``drafts`` are those of earlier rounds; rejected ones are told. ``identity`` are names to redact beside those that
    the run gives away, by default those of this machine. ``kernel`` is what a bare version is of, as ``--kernel``.
    Nothing is measured. Raises UsageProblem for a run without a kernel folder, source or counters, or whose check
    failed, DamagedData for files that were changed.
    """
    stored = named(project, [reference], kernel)[0]
    folder = kernel_of(project, stored)
    name = chosen_workload(stored, folder, workload)
    sources = sources_of(stored)
    names = this_machine() if identity is None else identity
    clean = cleaner(stored.run, sources.values(), names)
    store = Store(project.reports)
    with ThreadPoolExecutor(1) as beside:  # lines are read by a child process, which takes as long as the story
        reading = beside.submit(gather, stored, name, store, lines=True)
        story = story_of(project, store, stored, name, clean)
        gathered = Gathered(store, stored, folder, name, reading.result(), clean, story)
    return _evidence(gathered, sources, drafts)


def _evidence(one: Gathered, sources: dict[str, str], drafts: Sequence[Draft]) -> Evidence:
    shown, run, clean = one.shown, one.stored.run, one.clean
    before = shown.before.runs[0] if shown.before else None
    past = _counters(one.store, before, one.workload) if before else None
    items = items_of(shown.combined, shown.told.diagnosis if shown.told else None, shown.counted.bottleneck, past)
    first, further = findings_of(shown.told, items, clean) if shown.told else (None, ())
    return Evidence(
        kernel=run.kernel,
        version=run.version,
        reference=one.stored.reference,
        workload=clean.line(one.workload, 60).replace("`", "'"),
        suffix=one.kernel.version(run.version).path.suffix,
        task=task_of(one.kernel, run, one.workload, next(iter(sources.values())), clean),
        hardware=hardware_of(one.stored, shown.ceilings),
        floor=floor_of(run, one.kernel, one.workload, shown.ceilings, shown.combined.values["dram_peak_bandwidth"]),
        source=source_of(sources, shown.close, clean),
        shape=shape_of(shown, clean),
        diagnosis=first,
        further=further,
        unknown=unknown_of(shown.told, clean) if shown.told else (),
        items=items,
        before=before.run.version if before and past else None,
        story=one.story,
        failed=failed_of(drafts, run.kernel, clean),
    )


def _counters(store: Store, before: StoredRun, workload: str) -> Combined | None:
    """Return the counters of the version before, of any run of its source that has them; None where none has."""
    for stored in (before, *same_source(store, before)):
        if any(launch.workload == workload for launch in stored.run.launches):
            return combine_tables(stored.run, stored.by_launch(), workload)
    return None
