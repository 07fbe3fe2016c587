"""The evidence of one run, gathered from the archive: what its kernel is to do, its code, its counters, its story."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import PurePath

from ncu_assist.analysis.diff import DiffOptions, diff_runs
from ncu_assist.analysis.diff.comparing import verdict_by_time
from ncu_assist.analysis.diff.timing import SampleReader, common_bench, is_timed
from ncu_assist.analysis.faults_gone import FaultsGone, faults_gone
from ncu_assist.analysis.history import VersionRow
from ncu_assist.errors import DamagedData, UsageProblem, did_you_mean
from ncu_assist.frame import Combined, combine_tables
from ncu_assist.harness.exam.plan import refuse_host_inputs
from ncu_assist.pipeline.history import history_of, lineage_of
from ncu_assist.pipeline.opened_reports import BareReport, named
from ncu_assist.pipeline.pages.readable import own_comment
from ncu_assist.pipeline.showing import gather
from ncu_assist.project import Project
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.redact import Identity
from ncu_assist.render.words.history import fault
from ncu_assist.render.words.verdicts import factor
from ncu_assist.render.words.why import why_lines
from ncu_assist.spec import Kernel
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.draft_records import Draft
from ncu_assist.store.matching import live_first, same_source
from ncu_assist.suggest.evidence.counters import findings_of, items_of, shape_of, unknown_of
from ncu_assist.suggest.evidence.records import Evidence, FailedDraft, RemovedFault, VersionStory
from ncu_assist.suggest.evidence.task import Cleaner, cleaner, floor_of, hardware_of, source_of, task_of, this_machine
from ncu_assist.verdict import Verdict
from ncu_assist.versions import short_name, version_order

BEST = "@best"
NOT_CODE = ("kernel.toml", "reference.py")


def evidence(
    project: Project,
    reference: str = BEST,
    workload: str | None = None,
    drafts: Sequence[Draft] = (),
    identity: Identity | None = None,
    kernel: str | None = None,
) -> Evidence:
    """Return the evidence on the run that a reference names, on one workload, the default one unless it is named.

    ``drafts`` are those of earlier rounds and of other kernels; what failed is told, and what answered the diagnosis.
    ``identity`` are names to redact beside those that the run gives away, by default those of this machine. ``kernel``
    is what a bare version is of, as ``--kernel``. Nothing is measured. Raises UsageProblem for a run without a kernel
    folder, source or counters, or whose check failed, DamagedData for files that were changed.
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
        written = {one.version: one for one in drafts if one.kernel == stored.run.kernel and one.version}
        told = story_of(project, store, stored, name, clean)
        story = tuple(_with_predictions(one, written.get(one.version), clean) for one in told)
        shown = reading.result()
    run, results, ceilings = stored.run, shown.results, shown.ceilings
    before = shown.before.runs[0] if shown.before else None
    past = _counters(store, before, name) if before else None
    items = items_of(shown.combined, results.diagnosis if results else None, shown.counted.bottleneck, past)
    first, further = findings_of(results, items, clean) if results else (None, ())
    return Evidence(
        kernel=run.kernel,
        version=run.version,
        reference=stored.reference,
        workload=clean.line(name, 60).replace("`", "'"),
        suffix=folder.version(run.version).path.suffix,
        task=task_of(folder, run, name, next(iter(sources.values())), clean, ceilings),
        hardware=hardware_of(stored, ceilings),
        floor=floor_of(run, folder, name, ceilings, shown.combined.values["dram_peak_bandwidth"]),
        source=source_of(sources, shown.close, clean),
        shape=shape_of(shown, clean),
        diagnosis=first,
        further=further,
        joint=results.joint.words if results and results.joint else "",
        unknown=unknown_of(results, clean) if results else (),
        items=items,
        before=before.run.version if before and past else None,
        story=story,
        failed=failed_of(drafts, run.kernel, clean),
        removed=removed_before(project, store, run.kernel, first.id, drafts, clean) if first else (),
    )


def _counters(store: Store, before: StoredRun, workload: str) -> Combined | None:
    """Return the counters of the version before, of any run of its source that has them; None where none has."""
    for stored in (before, *same_source(store, before)):
        if any(launch.workload == workload for launch in stored.run.launches):
            return combine_tables(stored.run, stored.by_launch(), workload)
    return None


def kernel_of(project: Project, stored: StoredRun) -> Kernel:
    """Return the kernel folder that a run is of.

    Raises UsageProblem for a run of a program that has none, or of a kernel whose drafts cannot be examined.
    """
    run = stored.run
    foreign = isinstance(stored, BareReport) or run.source_sha256 is None
    if foreign or run.kernel not in kernel_names(project):
        what = "is a report of another program" if foreign else f"has no folder kernels/{one_line(run.kernel)}"
        message = f"{one_line(stored.reference)} {what}: a draft needs a kernel folder that says what is to be computed"
        raise UsageProblem(message, "ncu-assist list")
    kernel = load_kernel(project, run.kernel)
    if run.version not in [one.name for one in kernel.versions]:
        raise UsageProblem(f"kernels/{run.kernel} has no {run.version} any more", f"ncu-assist suggest {run.kernel}")
    refuse_host_inputs(kernel)
    return kernel


def chosen_workload(stored: StoredRun, kernel: Kernel, wanted: str | None) -> str:
    """Return the workload wanted, else the default one, else the first that has counters.

    Raises UsageProblem for a workload that does not exist, that has no counters, or on which the check failed.
    """
    run, names = stored.run, [one.name for one in kernel.workloads]
    if wanted is not None and wanted not in names:
        raise UsageProblem(f"{kernel.name} has no workload '{wanted}'; {did_you_mean(wanted, names)}")
    counted = {launch.workload for launch in run.launches}
    order = [wanted] if wanted else [kernel.default_workload.name, *names]
    found = next((name for name in order if name in counted), None)
    command = f"ncu-assist profile {kernel.name} {short_name(run.version)}"
    if found is None:
        on = f" on {wanted}" if wanted else ""
        lacks = "launches no kernel and so has" if run.launched_nothing else "has"
        message = f"{stored.reference} {lacks} no counters{on}: without them a prompt would be a guess"
        raise UsageProblem(message, f"{command} --workload {wanted}" if wanted else command)
    failed = next((one for one in run.checks if not one.passed), None)
    if failed is not None:
        message = f"{stored.reference} gives wrong results on {failed.workload}: {one_line(failed.reason)}"
        raise UsageProblem(f"{message}; a draft starts from a version that is right", f"ncu-assist check {kernel.name}")
    return found


def sources_of(stored: StoredRun) -> dict[str, str]:
    """Return the code of a version by file name, its own first; raises UsageProblem for a run that keeps none."""
    found = {name: text for name, text in stored.source_texts().items() if name not in NOT_CODE}
    own = next(iter(found), "")
    if PurePath(own).stem != stored.run.version:
        raise UsageProblem(f"{stored.reference} keeps no source", f"ncu-assist profile {stored.run.kernel}")
    return found


FAILED = ("rejected", "unproven")
MOST_REMOVED = 3
IDEA = 400  # letters
MOVED = 400
CHANGES = re.compile(r"^Changes:\s*")
WIDTH = 400  # columns for what moved: it is cut later, by letters


def story_of(
    project: Project, store: Store, parent: StoredRun, workload: str, clean: Cleaner
) -> tuple[VersionStory, ...]:
    """Return the versions before the parent and itself, by number; then later ones that were no faster than it."""
    own = version_order(parent.run.version)
    history = history_of(project, store, parent.run.kernel, workload)
    faults = faults_gone(history)
    runs = {row.version: row.cells[0].stored for row in history.rows if row.cells}
    early = (row for row in history.rows if version_order(row.version) <= own)
    chapters = [_chapter(row, runs, workload, faults.get(row.version), clean) for row in early]
    later = (row for row in history.rows if version_order(row.version) > own)
    slower = (_later(store, parent, row, workload, clean) for row in later)
    return (*(one for one in chapters if one), *(one for one in slower if one))


def failed_of(drafts: Sequence[Draft], kernel: str, clean: Cleaner) -> tuple[FailedDraft, ...]:
    """Return the drafts of a kernel that were not kept, the newest last; one that was only drafted proves nothing."""
    tried = (one for one in sorted(drafts, key=lambda one: (one.created, one.id)) if one.fate in FAILED)
    return tuple(
        FailedDraft(
            id=clean.line(one.id, 60),
            parent=clean.line(one.parent.rpartition("/")[2].partition("@")[0], 60),
            change=clean.line(one.claim.change if one.claim else "a reply that could not be used", IDEA),
            reason=clean.line(one.reason, IDEA),
            fate=one.fate,
            proved=clean.line("; ".join(_scored(one, True)), IDEA),
            disproved=clean.line("; ".join(_scored(one, False)), IDEA),
        )
        for one in tried
        if one.kernel == kernel
    )


def _scored(draft: Draft, came_true: bool) -> Iterator[str]:
    """Yield what a draft predicted that came, or that did not come, with what was measured."""
    for score in draft.proof.scores if draft.proof else ():
        if score.came_true is came_true and score.before is not None and score.after is not None:
            said = score.prediction
            by = f" to {said.factor:g} of it" if said.factor else ""
            yield f"{said.metric} {said.direction}{by}, and it went from {score.before:.3g} to {score.after:.3g}"


def _with_predictions(story: VersionStory, draft: Draft | None, clean: Cleaner) -> VersionStory:
    """Return the story of a version that was a draft with what that predicted, and whether it came."""
    if draft is None:
        return story
    proved, disproved = (clean.line("; ".join(_scored(draft, came)), IDEA) for came in (True, False))
    return replace(story, proved=proved, disproved=disproved)


def removed_before(
    project: Project, store: Store, kernel: str, rule: str, drafts: Sequence[Draft], clean: Cleaner
) -> tuple[RemovedFault, ...]:
    """Return what took the fault ``rule`` away in other kernels and in kept drafts of any, the most won first.

    In the archive that is a version that is faster than its parent, whose first finding it was and the version's own is
    not. Versions of ``kernel`` itself are its story.
    """
    found = [
        RemovedFault(clean.line(f"draft {one.id} of {one.kernel}", 80), clean.line(one.claim.change, IDEA), won)
        for one in drafts
        if one.fate == "kept" and one.diagnosis == rule and one.claim and one.proof and (won := one.proof.speedup)
    ]
    for other in kernel_names(project):
        if other != kernel:
            found += _removed_in(project, store, other, rule, clean)
    return tuple(sorted(found, key=lambda one: -one.speedup)[:MOST_REMOVED])


def _removed_in(project: Project, store: Store, kernel: str, rule: str, clean: Cleaner) -> Iterator[RemovedFault]:
    newest = {name: live_first(store.runs(kernel, name))[0] for name in store.versions(kernel)}
    firsts = {name: _first_fault(stored) for name, stored in newest.items()}
    if rule not in {one for _, one in firsts.values()}:
        return
    lineage = lineage_of(store, kernel, sorted(newest, key=version_order))
    for name, stored in newest.items():
        workload, own = firsts[name]
        parent = next((one for one in lineage.ancestors(name) if firsts[one][0] == workload), None)
        if own == rule or parent is None or firsts[parent][1] != rule or workload is None:
            continue
        pair = common_bench([newest[parent]], [stored], workload)
        verdict = verdict_by_time(*pair, workload, SampleReader()) if pair else None
        if verdict is not None and verdict.words == "faster" and verdict.speedup:
            yield RemovedFault(clean.line(f"{kernel}/{name}", 80), _idea(stored, clean), verdict.speedup)


def _first_fault(stored: StoredRun) -> tuple[str | None, str]:
    """Return the first workload of which a run's findings are kept, and the first finding there; empty for none."""
    try:
        findings = stored.findings()
    except DamagedData:
        return None, ""
    judged = next((one for one in findings.judged if one.whole), None) if findings else None
    return (judged.workload, judged.findings[0].rule) if judged and judged.findings else (None, "")


def _chapter(
    row: VersionRow, runs: dict[str, StoredRun | None], workload: str, faults: FaultsGone | None, clean: Cleaner
) -> VersionStory | None:
    stored = runs.get(row.version)
    if stored is None or not row.cells:
        return None
    before = runs.get(row.before or "")
    verdict = row.cells[0].verdict
    moved = (_moved(before, stored, workload) if before else "", *_faults(faults))
    return VersionStory(
        version=row.version,
        idea=_idea(stored, clean),
        outcome=_outcome(stored, workload, verdict, row.before),
        moved=clean.line("; ".join(one for one in moved if one), MOVED),
        median_ns=_median(stored, workload),
    )


def _later(store: Store, parent: StoredRun, row: VersionRow, workload: str, clean: Cleaner) -> VersionStory | None:
    """Return a version after the parent, held against it; None where it is faster, in SM cycles too, or has no time."""
    stored = row.cells[0].stored if row.cells else None
    if stored is None or not (is_timed(stored.run, workload) and is_timed(parent.run, workload)):
        return None
    pair = common_bench(same_source(store, parent), same_source(store, stored), workload) or (parent, stored)
    verdict = verdict_by_time(*pair, workload, SampleReader())
    if "faster" in (verdict.words, verdict.likely or ""):
        return None
    outcome = _outcome(stored, workload, verdict, parent.run.version)
    return VersionStory(row.version, _idea(stored, clean), outcome, "", _median(stored, workload), later=True)


def _idea(stored: StoredRun, clean: Cleaner) -> str:
    """Return the first paragraph of the comment at the top of a version, which says what it changes."""
    return CHANGES.sub("", clean.line(own_comment(stored).split("\n\n")[0], IDEA))


def _outcome(stored: StoredRun, workload: str, verdict: Verdict | None, before: str | None) -> str:
    median = _median(stored, workload)
    time = "not timed" if median is None else duration(median)
    if verdict is None or before is None:
        return time
    return f"{time}, {_against(verdict)} {short_name(before)}"


def _median(stored: StoredRun, workload: str) -> float | None:
    timing = stored.run.timing(workload)
    return timing.median_ns if timing else None


def _against(verdict: Verdict) -> str:
    """Return a verdict in the words that stand before the name of the other version."""
    ratio, word = verdict.speedup, verdict.verdict
    if ratio is None or word == "not-comparable":
        return "not comparable with"
    if word == "same":
        return "as fast as"
    if word == "unclear":
        return f"unclear ({factor(ratio)}) against"
    return f"{factor(ratio if word == 'faster' else 1 / ratio)} {verdict.words} than"


def _moved(before: StoredRun, stored: StoredRun, workload: str) -> str:
    """Return what bound the two and the change of time as a product, in a line; empty where that is not known."""
    try:
        why = diff_runs(before, stored, DiffOptions(workload=workload)).why
    except UsageProblem:
        return ""
    names = short_name(before.run.version), short_name(stored.run.version)
    return "; ".join(line.removeprefix("ncu: ") for line in why_lines(why, None, names, WIDTH)[:2])


def _faults(found: FaultsGone | None) -> Iterator[str]:
    """Yield which faults the rules no longer find, and which they find anew."""
    for word, some in (("gone", found.gone), ("new", found.appeared)) if found else ():
        if some:
            yield f"{word}: {', '.join(fault(one) for one in some)}"
