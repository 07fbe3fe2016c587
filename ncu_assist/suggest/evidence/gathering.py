"""Gather the evidence of one run from the archive: its task, code, counters and history."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import PurePath

from ncu_assist.analysis.diff import DiffOptions, diff_runs
from ncu_assist.analysis.diff.comparing import verdict_by_time
from ncu_assist.analysis.diff.timing import SampleReader, common_bench, is_timed
from ncu_assist.analysis.faults_gone import FaultsGone, faults_gone
from ncu_assist.analysis.history import VersionRow
from ncu_assist.analysis.launches import LaunchRow
from ncu_assist.analysis.run_view import RunView
from ncu_assist.errors import UsageProblem, did_you_mean
from ncu_assist.frame import Combined, combine_tables
from ncu_assist.frame.combined import STALL_SHARE
from ncu_assist.harness.exam.plan import refuse_host_inputs
from ncu_assist.ncu.catalogue.metric import Metric
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.ncu.catalogue.stalls import spoken
from ncu_assist.pipeline.history import history_of, lineage_of
from ncu_assist.pipeline.opened_reports import BareReport, named
from ncu_assist.pipeline.pages.readable import own_comment
from ncu_assist.pipeline.pages.run import opcodes_of
from ncu_assist.pipeline.showing import gather
from ncu_assist.project import Project
from ncu_assist.quantity import DURATIONS, SCALES, SHORT, digits, duration, percent
from ncu_assist.render.escape import one_line
from ncu_assist.render.redact import Identity
from ncu_assist.render.words.history import fault
from ncu_assist.render.words.launches import LIMIT_WORDS, room_words
from ncu_assist.render.words.values import COUNTED, IN_FULL_BELOW
from ncu_assist.render.words.verdicts import factor, of_representative
from ncu_assist.render.words.why import why_lines
from ncu_assist.rules import RULES
from ncu_assist.rules.low_occupancy import allowed_blocks
from ncu_assist.rules.model.diagnosis import Diagnosis, Ranked
from ncu_assist.rules.model.of_run import RuleResults
from ncu_assist.rules.model.places import Place
from ncu_assist.rules.model.resources import BUSY_PERCENT, LATENCY, RESOURCES, Bottleneck, refined
from ncu_assist.spec import Kernel
from ncu_assist.spec_file import kernel_names, load_kernel
from ncu_assist.store import Damage, Store, StoredRun
from ncu_assist.store.choosing import live_first, same_source
from ncu_assist.store.drafts import Draft
from ncu_assist.suggest.evidence.records import (
    CallShape,
    Evidence,
    EvidenceItem,
    FailedDraft,
    FindingFacts,
    LaunchLine,
    RemovedFault,
    VersionStory,
)
from ncu_assist.suggest.evidence.task import Cleaner, cleaner, floor_of, hardware_of, source_of, task_of, this_machine
from ncu_assist.verdict import Verdict
from ncu_assist.versions import short_name, version_order

MOST_ITEMS = 28  # rows: published loops show 24 raw numbers; a budget drops the last rows first
TOP_STALLS = 4
LEAST_STALL = 5.0  # percent of warp states
OF_A_FINDING = 3  # rows for each further finding
# Redundant with the launch lines or the stall shares.
SAID = frozenset(("block_size", "grid_size", "barriers", "sm_count", "achieved_warps"))
# Meaningless for launches of several kernels.
OF_A_LAUNCH = frozenset(("registers", "shared_memory", "theoretical_occupancy", "waves_per_sm"))
LOWER_BOUNDS = {"bytes_in_flight": " that warps wait for, at least"}  # see rules.low_bytes_in_flight
WARPS = "warps_"  # prefix of a key, before the stall reason: warps that wait at each issue
# Counters shown for every kernel, most important first: traffic, occupancy, caches, accesses, instructions.
ALWAYS = (
    "dram_throughput", "dram_bytes", "bytes_in_flight", "achieved_occupancy", "theoretical_occupancy", "registers",
    "shared_memory", "global_sectors_excessive", "shared_wavefronts_excessive", "sectors_per_request_load",
    "sectors_per_request_store",
    "memory_throughput", "sm_throughput", "l1_hit_rate_load", "l2_hit_rate", "l2_sectors_sm", "instructions",
    "issue_slots_busy", "waves_per_sm", "threads_per_instruction", "local_spilling_requests",
)  # fmt: skip
PIPES = ("issue_slots_busy", "pipe_fma", "pipe_fma_heavy", "pipe_alu", "pipe_fp64", "pipe_xu", "pipe_lsu", "pipe_adu",
         "pipe_uniform", "pipe_tensor_cycles")  # fmt: skip
LEAST_BUSY, MOST_OPCODES = 1.0, 10  # percent of a pipe; opcodes by name
PERCENT = "%"
UNIT_WORDS = {"inst": "instructions", "sector": "sectors", "register/thread": "registers/thread", "warp": "warps"}


def items_of(
    combined: Combined, diagnosis: Diagnosis | None, bound: Bottleneck | None, before: Combined | None
) -> tuple[EvidenceItem, ...]:
    """Return the counters of a run by importance; ``before`` are those of the previous version, or None."""
    items: list[EvidenceItem] = []
    for key in dict.fromkeys(_keys(combined, diagnosis, bound)):
        own = _launches_of(key, combined)
        value = _counter_value(own, key)
        if value is not None and len(items) < MOST_ITEMS:
            is_of_all = own is combined  # else of one launch, and no value of another version is comparable
            past = _counter_value(before, key) if before and is_of_all else None
            of = "" if is_of_all else f", launch {own.launches[0].index} alone"
            items.append(_evidence_item(len(items) + 1, key, value, past, of))
    return tuple(items)


def _launches_of(key: str, combined: Combined) -> Combined:
    """Return the launches that a counter applies to: all, or one launch for a counter that differs by kernel."""
    is_of_all = not combined.is_of_kernels or (key in ROWS and ROWS[key].combine.over_kernels)
    return combined if is_of_all else combined.representative


def ids_of(keys: tuple[str, ...], items: tuple[EvidenceItem, ...]) -> tuple[str, ...]:
    """Return the ids of the items for these keys, in order."""
    ids = {one.name: one.id for one in items}
    return tuple(ids[name_of(key)] for key in keys if name_of(key) in ids)


def _keys(combined: Combined, diagnosis: Diagnosis | None, bound: Bottleneck | None) -> Iterator[str]:
    first = diagnosis.first if diagnosis else None
    yield "duration"
    yield from first.finding.evidence if first else ()
    names = [bound.name if bound else "", first.next_limit.name if first and first.next_limit else ""]
    yield from (RESOURCES[name].busy for name in names if name in RESOURCES and RESOURCES[name].busy)
    stalls = [reason for reason, share in _launches_of(STALL_SHARE, combined).stalls.items() if share >= LEAST_STALL]
    yield from (STALL_SHARE + reason for reason in stalls[:TOP_STALLS])
    for one in diagnosis.further if diagnosis else ():
        own = [key for key in one.finding.evidence if key not in SAID and not key.startswith(WARPS)]
        yield from own[:OF_A_FINDING]
    said = {"memory_throughput"} if bound and bound.name in RESOURCES else set()  # the limiter's share is the same
    said |= OF_A_LAUNCH if len(combined.launches) > 1 else set()
    yield from (key for key in ALWAYS if key not in said)


def _counter_value(combined: Combined, key: str) -> float | None:
    if key.startswith(STALL_SHARE):
        return combined.stalls.get(key.removeprefix(STALL_SHARE))
    return combined.values[key]


def _evidence_item(number: int, key: str, value: float, before: float | None, of: str) -> EvidenceItem:
    unit = ROWS[key].unit if key in ROWS else "%"
    label = (ROWS[key].label if key in ROWS else key.replace("_", " ")) + LOWER_BOUNDS.get(key, "") + of
    scale, name = scale_of(value, unit)
    past = None if before is None else as_shown(before, scale, unit)
    return EvidenceItem(f"E{number}", label, name_of(key), as_shown(value, scale, unit), name, past)


def name_of(key: str) -> str:
    """Return the name of a key in the table: ncu's name if a report has it, else the catalogue's."""
    row = ROWS.get(key)
    return row.names[0] if isinstance(row, Metric) else key


def scale_of(value: float, unit: str) -> tuple[float, str]:
    """Return the divisor that makes a value in the catalogue's ``unit`` easy to read, and the resulting unit."""
    if unit == PERCENT:
        return 1.0, PERCENT
    if unit == "ns":
        return next(((scale, name) for scale, name in DURATIONS if abs(value) >= scale), (1.0, "ns"))
    shown = SHORT.get(unit, UNIT_WORDS.get(unit, unit))
    if unit in COUNTED and value == int(value) and abs(value) < IN_FULL_BELOW:
        return 1.0, shown
    scale, prefix = next(((s, p) for s, p in SCALES if abs(value) >= s), (1.0, ""))
    return scale, f"{prefix} {shown}".strip() if unit in (*UNIT_WORDS, "") else f"{prefix}{shown}"


def as_shown(value: float, scale: float, unit: str) -> float:
    """Return a value as it is printed: a percentage with one decimal, anything else with three digits."""
    if unit == PERCENT:
        return round(value, 1)
    scaled = value / scale
    return scaled if scaled == int(scaled) and abs(scaled) < IN_FULL_BELOW else float(digits(scaled))


# From here on a rule's docstring says when the rule fires and where its figure comes from, which does not help to
# write a kernel.
INTERNAL = "\n\nWhen it is reported: "
Items = tuple[EvidenceItem, ...]
MOST_LAUNCHES = 8  # launches, the longest
LONGEST_NAME = 80  # characters of a kernel's name


def findings_of(
    results: RuleResults, items: Items, clean: Cleaner
) -> tuple[FindingFacts | None, tuple[FindingFacts, ...]]:
    """Return the diagnosis and the further findings; the first is None if there are too few counters."""
    diagnosis = results.diagnosis
    first = None if diagnosis.first is None else _finding_facts(diagnosis.first, results, items, clean)
    return first, tuple(_finding_facts(one, results, items, clean) for one in diagnosis.further)


def unknown_of(results: RuleResults, clean: Cleaner) -> tuple[str, ...]:
    """Return what the rules cannot decide, what distorts the measurement, and which findings hardly matter."""
    said = [f"{id}: {clean.line(sentence)}" for id, sentence in results.warnings.items()]
    moved, needed = results.facts.get("dram_bytes"), results.facts.algorithmic_bytes
    if moved is not None and needed is not None and moved < needed:
        said.append("DRAM bytes are below the least traffic: L2 still holds results that were not written yet")
    remarks = ", ".join(one.finding.rule for one in results.diagnosis.remarks)
    if remarks:
        said.append(f"found, but worth less than 2 % of the time: {remarks}")
    if any(one.finding.assumed for one in results.diagnosis.findings):
        said.append("estimates marked assumed use a ceiling that was not measured for this GPU and size")
    return tuple(said)


def _finding_facts(ranked: Ranked, results: RuleResults, items: Items, clean: Cleaner) -> FindingFacts:
    finding = ranked.finding
    where = results.where(finding)
    detail = "".join(f" ({value})" for value in finding.detail.values())
    return FindingFacts(
        id=finding.rule + detail,
        severity=ranked.severity,
        gain=ranked.estimated_speedup if ranked.severity != "info" else None,
        message=clean.line(finding.message) + (f" (in {clean.line(where, 120)})" if where else ""),
        advice=clean.line(finding.full_advice),
        is_done=finding.is_done,
        where=tuple(text for place in ranked.places if (text := _where(place, clean))),
        evidence=ids_of(_of_the_table(finding.evidence, finding.launches, results), items),
        explanation=_explanation(finding.rule),
        assumed=finding.assumed,
    )


def _of_the_table(evidence: tuple[str, ...], launches: tuple[int, ...], results: RuleResults) -> tuple[str, ...]:
    """Return the evidence that the table shows: for different kernels, it has the ratios of one launch only."""
    combined = results.facts.combined
    if not combined.is_of_kernels or combined.representative.launches[0].index in launches:
        return evidence
    return tuple(key for key in evidence if ROWS[key].combine.over_kernels)


def _where(place: Place, clean: Cleaner) -> str:
    if place.file is None:
        return ""  # an instruction of code without lines, which nobody can edit
    return f"{clean.line(PurePath(place.file).name, 60)}:{place.line} ({percent(place.share)})"


def _explanation(rule: str) -> str:
    """Return the part of a rule's documentation on hardware, cost and remedy, one paragraph per line."""
    text = (inspect.getdoc(RULES[rule]) or "") if rule in RULES else ""
    return "\n".join(" ".join(one.split()) for one in text.partition(INTERNAL)[0].split("\n\n")[1:])


def shape_of(shown: RunView, clean: Cleaner) -> CallShape:
    """Return how the launches of the shown workload ran."""
    launches = tuple(_launch_line(row, clean) for row in shown.launches_shown[:MOST_LAUNCHES])
    pipes, opcodes = _pipes(shown), _opcodes(shown)
    return CallShape(launches, len(shown.launches_shown), _bound(shown), _occupancy(shown), pipes, opcodes)


def _launch_line(row: LaunchRow, clean: Cleaner) -> LaunchLine:
    first = row.results.diagnosis.first if row.results else None
    one = row.launch
    return LaunchLine(
        kernel=clean.line(one.kernel, LONGEST_NAME),
        duration_ns=one.duration_ns,
        grid="x".join(map(str, one.grid)),
        block="x".join(map(str, one.block)),
        diagnosis=first.finding.rule if first else "",
    )


def _bound(shown: RunView) -> str:
    shown, alone = shown.counted, of_representative(shown)
    bound = shown.bottleneck
    if bound is None:
        return ""
    of = f" ({alone})" if alone else ""
    if bound.name == LATENCY:
        stall = next(iter(shown.combined.stalls), "")
        waits = f"; warps wait most for {spoken(stall)}" if stall else ""
        nearest = shown.results.facts.busiest() if shown.results else None
        which = f", {refined(nearest[0], shown.combined.values).name}," if nearest else ""
        busy = f"no unit is busy for {BUSY_PERCENT:.0f} % of the time, the busiest{which} for {bound.percent:.0f} %"
        return f"{bound.name}: {busy}{waits}{of}"
    return f"{bound.name}, busy for {bound.percent:.0f} % of what it could do{of}"


def _pipes(shown: RunView) -> str:
    """Return the utilization of each active pipe, busiest first; empty if it was not counted."""
    values = shown.counted.combined.values
    known = [(ROWS[key].label, value) for key in PIPES if (value := values[key]) is not None and value >= LEAST_BUSY]
    return ", ".join(f"{label} {value:.0f} %" for label, value in sorted(known, key=lambda one: -one[1]))


def _opcodes(shown: RunView) -> str:
    """Return the opcodes executed most, with their share; empty if the code was not read."""
    found, _ = opcodes_of(shown)
    whole = sum(count for _, count in found)
    return ", ".join(f"{one_line(name, 20)} {percent(count / whole)}" for name, count in found[:MOST_OPCODES])


def _occupancy(shown: RunView) -> str:
    """Return the number of blocks that each limit allows, fewest first; empty for several launches."""
    if shown.results is None or len(shown.combined.launches) != 1:
        return ""
    allowed = sorted(allowed_blocks(shown.results.facts).items(), key=lambda one: one[1])
    limits = ", ".join(f"{LIMIT_WORDS.get(word, word)} {digits(count)}" for word, count in allowed)
    return ". ".join((limits, *(one.removesuffix(".") for one in room_words(shown.results.facts))))


BEST = "@best"
NOT_CODE = ("kernel.toml", "reference.py")


def evidence(
    project: Project,
    reference: str = BEST,
    workload: str | None = None,
    drafts: Sequence[Draft] = (),
    identity: Identity | None = None,
    kernel: str | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> Evidence:
    """Return the evidence on a run and one of its workloads (default: the default workload).

    ``drafts`` are earlier drafts of all kernels; the evidence includes failures and changes that removed the diagnosed
    fault. ``identity`` are names to redact in addition to those in the run (default: this machine's). ``kernel`` is
    the kernel of a bare version, as in ``--kernel``. Nothing is measured. Other runs that are damaged are left out, and
    ``note`` gets a line for each. Raises UsageProblem for a run without a kernel folder, source or counters, or with a
    failed check; DamagedData for files of the run that were changed.
    """
    stored = named(project, [reference], kernel)[0]
    folder = kernel_of(project, stored)
    name = chosen_workload(stored, folder, workload)
    sources = sources_of(stored)
    names = this_machine() if identity is None else identity
    clean = cleaner(stored.run, sources.values(), names)
    store = Store(project.reports)

    def read(whole: Store) -> tuple[RunView, tuple[VersionStory, ...], Combined | None]:
        with ThreadPoolExecutor(1) as beside:  # a child process reads the lines, which takes as long as the story
            reading = beside.submit(gather, stored, name, whole, lines=True)
            told = story_of(project, whole, stored, name, clean)
            shown = reading.result()
        return shown, told, _counters(whole, shown.before.runs[0], name) if shown.before else None

    (shown, told, past), damaged = store.read_others(stored, read)
    written = {one.version: one for one in drafts if one.kernel == stored.run.kernel and one.version}
    story = tuple(_with_predictions(one, written.get(one.version), clean) for one in told)
    run, results, ceilings = stored.run, shown.results, shown.ceilings
    items = items_of(shown.combined, results.diagnosis if results else None, shown.counted.bottleneck, past)
    first, further = findings_of(results, items, clean) if results else (None, ())
    removed, lost = removed_before(project, store, run.kernel, first.id, drafts, clean) if first else ((), ())
    for damage in dict.fromkeys((*shown.left_out, *damaged, *lost)):
        note(damage.note)
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
        before=shown.before.version if shown.before and past else None,
        story=story,
        failed=failed_of(drafts, run.kernel, clean),
        removed=removed,
    )


def _counters(store: Store, before: StoredRun, workload: str) -> Combined | None:
    """Return the counters of the previous version from any run of its source; None if no run has them."""
    heads = (head for head in same_source(store, before) if any(one.workload == workload for one in head.launches))
    here = before if any(launch.workload == workload for launch in before.run.launches) else None
    found = here or next(map(store.opened, heads), None)
    return combine_tables(found.run, found.by_launch(), workload) if found else None


def kernel_of(project: Project, stored: StoredRun) -> Kernel:
    """Return the kernel folder of a run.

    Raises UsageProblem for a run of a program without one, or of a kernel whose drafts cannot be examined.
    """
    run = stored.run
    foreign = isinstance(stored, BareReport) or run.source_sha256 is None
    if foreign or run.kernel not in kernel_names(project):
        what = "is a report of another program" if foreign else f"has no folder kernels/{one_line(run.kernel)}"
        message = f"{one_line(stored.reference)} {what}: a draft needs a kernel folder that says what to compute"
        raise UsageProblem(message, "ncu-assist list")
    kernel = load_kernel(project, run.kernel)
    if run.version not in [one.name for one in kernel.versions]:
        raise UsageProblem(f"kernels/{run.kernel} has no {run.version} any more", f"ncu-assist suggest {run.kernel}")
    refuse_host_inputs(kernel)
    return kernel


def chosen_workload(stored: StoredRun, kernel: Kernel, wanted: str | None) -> str:
    """Return the workload wanted, else the default one, else the first that has counters.

    Raises UsageProblem for a workload that does not exist, has no counters, or failed the check.
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
    """Return the sources of a version by file name, its own first; raises UsageProblem for a run that has none."""
    found = {name: text for name, text in stored.source_texts().items() if name not in NOT_CODE}
    own = next(iter(found), "")
    if PurePath(own).stem != stored.run.version:
        raise UsageProblem(f"{stored.reference} keeps no source", f"ncu-assist profile {stored.run.kernel}")
    return found


FAILED = ("rejected", "unproven")
MOST_REMOVED = 3
IDEA = 400  # characters
MOVED = 400
CHANGES = re.compile(r"^Changes:\s*")
WIDTH = 400  # columns for the changes, which are cut later by characters


def story_of(
    project: Project, store: Store, parent: StoredRun, workload: str, clean: Cleaner
) -> tuple[VersionStory, ...]:
    """Return the earlier versions and the parent, by number, then later versions no faster than the parent."""
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
    """Return the tried and rejected drafts of a kernel, newest last.

    A draft without a proof says nothing about its idea; neither does a reply without a source to compile.
    """
    tried = [one for one in drafts if one.fate in FAILED and one.source_sha256]
    return tuple(
        FailedDraft(
            id=clean.line(one.id, 60),
            parent=clean.line(one.parent.rpartition("/")[2].partition("@")[0], 60),
            change=clean.line(one.claim.change if one.claim else "", IDEA),
            reason=clean.line(one.reason, IDEA),
            fate=one.fate,
            proved=clean.line("; ".join(_scored(one, True)), IDEA),
            disproved=clean.line("; ".join(_scored(one, False)), IDEA),
        )
        for one in sorted(tried, key=lambda one: (one.created, one.id))
        if one.kernel == kernel
    )


def _scored(draft: Draft, came_true: bool) -> Iterator[str]:
    """Yield the predictions of a draft that came true, or those that did not, with the measured values."""
    for score in draft.proof.scores if draft.proof else ():
        if score.came_true is came_true and score.before is not None and score.after is not None:
            said = score.prediction
            by = f" to {said.factor:g} of it" if said.factor else ""
            yield f"{said.metric} {said.direction}{by}, and it went from {score.before:.3g} to {score.after:.3g}"


def _with_predictions(story: VersionStory, draft: Draft | None, clean: Cleaner) -> VersionStory:
    """Return the story of a version that was a draft, with its predictions and their outcome."""
    if draft is None:
        return story
    proved, disproved = (clean.line("; ".join(_scored(draft, came)), IDEA) for came in (True, False))
    return replace(story, proved=proved, disproved=disproved)


def removed_before(
    project: Project, store: Store, kernel: str, rule: str, drafts: Sequence[Draft], clean: Cleaner
) -> tuple[tuple[RemovedFault, ...], tuple[Damage, ...]]:
    """Return the changes that removed the fault ``rule`` in other kernels and in kept drafts, largest gain first.

    And the damaged runs that were left out.

    In the archive, such a change is a version faster than its parent for which ``rule`` was the parent's first finding
    and is not its own. Both are own versions: a step from a library's version, often many kernels, removes more than
    the fault. Versions of ``kernel`` itself belong to its story.
    """
    found = [
        RemovedFault(clean.line(f"draft {one.id} of {one.kernel}", 80), clean.line(one.claim.change, IDEA), won)
        for one in drafts
        if one.fate == "kept" and one.diagnosis == rule and one.claim and one.proof and (won := one.proof.speedup)
    ]
    damaged: list[Damage] = []
    for other in kernel_names(project):
        if other != kernel:
            read = partial(_removed_in, kernel=other, rule=rule, clean=clean)
            removed, left_out = store.read_whole(other, read, lambda _: True)
            found += removed
            damaged += left_out
    return tuple(sorted(found, key=lambda one: -one.speedup)[:MOST_REMOVED]), tuple(damaged)


def _removed_in(store: Store, kernel: str, rule: str, clean: Cleaner) -> list[RemovedFault]:
    heads = {name: live_first(store.heads(kernel, name)) for name in store.versions(kernel)}
    newest = {name: store.opened(found[0]) for name, found in heads.items() if found}
    firsts = {name: _first_fault(stored) for name, stored in newest.items()}
    removed: list[RemovedFault] = []
    if rule not in {one for _, one in firsts.values()}:
        return removed
    lineage = lineage_of(store, kernel, sorted(newest, key=version_order))
    for name, stored in newest.items():
        workload, own = firsts[name]
        parent = next((one for one in lineage.ancestors(name) if firsts[one][0] == workload), None)
        if own == rule or parent is None or firsts[parent][1] != rule or workload is None:
            continue
        if lineage.said(name).is_peer or lineage.said(parent).is_peer:
            continue
        pair = common_bench([newest[parent]], [stored], workload)
        verdict = verdict_by_time(*pair, workload, SampleReader()) if pair else None
        if verdict is not None and verdict.words == "faster" and verdict.speedup:
            removed.append(RemovedFault(clean.line(f"{kernel}/{name}", 80), _idea(stored, clean), verdict.speedup))
    return removed


def _first_fault(stored: StoredRun) -> tuple[str | None, str]:
    """Return the first workload of a run with stored findings, and its first finding; empty if it has none."""
    findings = stored.findings()
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
    """Return a later version compared with the parent; None if it is faster, also in SM cycles, or has no time."""
    stored = row.cells[0].stored if row.cells else None
    if stored is None or not (is_timed(stored.run, workload) and is_timed(parent.run, workload)):
        return None
    together = common_bench(same_source(store, parent), same_source(store, stored), workload)
    pair = store.both(together) or (parent, stored)
    verdict = verdict_by_time(*pair, workload, SampleReader())
    if "faster" in (verdict.words, verdict.likely or ""):
        return None
    outcome = _outcome(stored, workload, verdict, parent.run.version)
    return VersionStory(row.version, _idea(stored, clean), outcome, "", _median(stored, workload), later=True)


def _idea(stored: StoredRun, clean: Cleaner) -> str:
    """Return the first paragraph of a version's top comment, which describes its change."""
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
    """Return a verdict as words to put before the other version's name."""
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
    """Yield which faults the rules no longer find, or find less of, and which they find anew, or more of."""
    if found is None:
        return
    less, worse = ([now for _, now in pairs] for pairs in (found.lessened, found.worse))
    for word, some in (("gone", found.gone), ("less", less), ("worse", worse), ("new", found.appeared)):
        if some:
            yield f"{word}: {', '.join(fault(one) for one in some)}"
