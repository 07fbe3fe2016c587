"""Answer from the archive: compare two runs, with the learned noise of their GPU and the source lines of both."""

from __future__ import annotations

import math
import re
import shlex
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.analysis.diff import Diff, DiffOptions, diff_runs
from ncu_assist.analysis.diff.comparability import compared_workloads
from ncu_assist.analysis.diff.flagging import waits_apart
from ncu_assist.analysis.diff.lines import Group, LineChanges, base_name, line_changes
from ncu_assist.analysis.diff.noise import LEAST_REPEATS, LearnedNoise
from ncu_assist.analysis.diff.timing import Pair, common_bench
from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.frame import Combined, combine_tables
from ncu_assist.launch_selection import EVERY_LAUNCH, LaunchSelection
from ncu_assist.ncu.line_sums import (
    MOST_LAUNCHES,
    MOST_OF_TIME,
    PRINTED,
    LineCost,
    LineSums,
    line_sums,
    most_of_time,
    pass_ns,
)
from ncu_assist.ncu.source.tables import with_instruction
from ncu_assist.pipeline.importing import profiled_as_next
from ncu_assist.pipeline.opened_reports import (
    BareReport,
    Stopped,
    archived_report,
    launch_numbers,
    named,
    of_library,
    together,
)
from ncu_assist.project import Project
from ncu_assist.record import Device
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.answers import Answers
from ncu_assist.store.baselines import get_baseline
from ncu_assist.store.choosing import Context, choose_kernel, known_kernels, made_here_first, same_source, versions_of
from ncu_assist.store.references import VersionNotMeasured, resolve
from ncu_assist.store.report_names import nothing_measured
from ncu_assist.versions import is_called

if TYPE_CHECKING:
    from ncu_assist.analysis.diff.pairing import LaunchPair
    from ncu_assist.ncu.report import Report
    from ncu_assist.record import Run

Selections = tuple[LaunchSelection, LaunchSelection]  # of the launches of both sides
EVERY_LAUNCHES = EVERY_LAUNCH, EVERY_LAUNCH
VERSION = re.compile(r"v\d+\w*", re.ASCII)
MOST_RUNS = 12  # the newest; reading one takes 20 ms
MOST_DIFFS = 40  # cached per kernel, about 30 kB each


def compare(
    project: Project,
    references: tuple[str, str],
    kernel: str | None,
    options: DiffOptions,
    selections: Selections = EVERY_LAUNCHES,
) -> Diff:
    """Return the comparison of two references, the first being the baseline.

    References that name no run take their times from the newest bench of both sources. Comparisons of archived runs
    are cached. Raises as ``named`` does.
    """
    runs, free = _two(project, references, kernel, selections, options.workload)
    store = Store(project.reports)
    timed = _timed_together(store, runs, options.workload) if free else None
    repeated = _repeated(store, runs[1].run.device)

    def made() -> Diff:
        return compare_runs(runs, replace(options, timed=timed, learned=_learned(repeated)))

    if any(one.run is not one.whole or not one.run.run_id for one in runs):  # some launches only, or a bare report
        return made()
    asked = [repr((options.workload, options.force, options.every, options.metrics, options.lines))]
    answers = Answers(project.reports, runs[1].run.kernel, MOST_DIFFS, "diffs")
    found = answers.of("diff", [*runs, *(timed or ()), *repeated], asked, Diff, made, _is_of_all)
    answers.save()
    return found


def _is_of_all(diff: Diff) -> bool:
    """Return whether lines were read, or never can be: a failure of NVIDIA's reader may not occur the next time."""
    return not any(note.startswith(UNREADABLE) for note in (diff.lines.notes if diff.lines else ()))


def compare_runs(runs: Pair, options: DiffOptions) -> Diff:
    """Return the comparison of two runs, baseline first, with the source lines that changed."""
    return with_lines(diff_runs(*runs, options), runs, options.lines)


def two_named(
    project: Project,
    references: tuple[str, str],
    kernel: str | None,
    options: DiffOptions,
    selections: Selections = EVERY_LAUNCHES,
) -> tuple[Pair, DiffOptions]:
    """Return the runs that two references name, and the options with what the archive knows of their times."""
    runs, free = _two(project, references, kernel, selections, options.workload)
    return runs, informed(Store(project.reports), runs, options, free)


def _two(
    project: Project, references: tuple[str, str], kernel: str | None, selections: Selections, workload: str | None
) -> tuple[Pair, bool]:
    """Return the runs that two references name, and whether their times may be of other runs of the same sources."""
    _check_two(project, references, kernel)
    try:
        baseline, candidate = named(project, references, kernel, ("pandas",), True, selections, workload)
    except VersionNotMeasured as error:  # a verdict needs both, in one bench
        named_apart = [text.rpartition("/") for text in references]
        are_of_one = all(of in ("", error.kernel) and VERSION.fullmatch(version) for of, _, version in named_apart)
        if not are_of_one:
            raise
        both = " ".join(version for _, _, version in named_apart)
        raise UsageProblem(error.message, f"ncu-assist profile {error.kernel} {both}") from error
    free = all(one.is_of_all for one in selections) and not any("@" in text.lstrip("@") for text in references)
    return (baseline, candidate), free


def unnamed_pair(project: Project, kernel: str | None) -> tuple[tuple[str, str], str]:
    """Return the two references that a diff compares by default, and a note on that choice, if any.

    They are the baseline and the last run of the kernel, or the last two runs if there is neither a baseline nor a v0,
    as after imports. Raises UsageProblem, with the runs to compare, if the kernel has only one run.
    """
    store, context = Store(project.reports), Context(project, Path.cwd(), kernel)
    if not known_kernels(store, context):
        raise nothing_measured(context.folder, "diff", 2)
    chosen = choose_kernel(store, context, None, None)
    runs = made_here_first(store.heads(chosen))
    has_v0 = any(is_called(version, "v0") for version in versions_of(store, context, chosen))
    if len(runs) != 1 and (has_v0 or get_baseline(store, chosen) is not None):
        return (f"{chosen}/@baseline", f"{chosen}/@last"), ""
    if len(runs) > 1:
        note = f"{chosen} has neither a baseline nor a v0: these are its last two runs"
        return (runs[1].reference, runs[0].reference), note
    if not runs:
        raise UsageProblem(f"{chosen} has not been measured", f"ncu-assist profile {chosen}")
    only, is_program = runs[0].reference, runs[0].source_sha256 is None
    others = [
        one.reference
        for one in made_here_first(store.heads())
        if one.kernel != chosen and (is_program or one.source_sha256 is None)  # versions of two kernels do not compare
    ]
    message = f"{chosen} has one run, {only}, and nothing to compare it with"
    more = f"; the last run of another {'program' if is_program else 'kernel'} is {others[0]}" if others else ""
    raise UsageProblem(message + more, f"ncu-assist diff {others[0] if others else 'OTHER.ncu-rep'} {only}")


def informed(store: Store, runs: Pair, options: DiffOptions, free: bool = True) -> DiffOptions:
    """Return options with the noise of metrics on this GPU and, if ``free``, the newest bench of both sources."""
    timed = _timed_together(store, runs, options.workload) if free else None
    return replace(options, timed=timed, learned=learned_noise(store, runs[1].run.device))


def _timed_together(store: Store, runs: Pair, workload: str | None) -> Pair | None:
    """Return the newest runs of the same two sources that one bench timed on the workload, None if there are none."""
    name = compared_workloads(runs[0].run, runs[1].run, workload)[1]
    return store.both(common_bench(same_source(store, runs[0]), same_source(store, runs[1]), name))


def with_lines(diff: Diff, runs: Pair, every: bool = False) -> Diff:
    """Return a comparison with the source lines that changed, or ``every`` one, if there are launches to compare."""
    if diff.verdict.verdict == "not-comparable" or not (diff.baseline.launches and diff.candidate.launches):
        return diff
    indices = diff.baseline.indices, diff.candidate.indices
    lines = read_line_changes(runs, indices, [one.pair for one in diff.launches], every)
    return waits_apart(replace(diff, lines=lines))


def _check_two(project: Project, references: tuple[str, str], kernel: str | None) -> None:
    """Raise UsageProblem for source files, and for a single report if nothing was measured here."""
    if all(text.endswith((".cu", ".py")) and Path(text).is_file() for text in references):
        first, other = references
        typed = f"ncu-assist profile {shlex.quote(first)}; {profiled_as_next(other, first)}; ncu-assist diff"
        raise UsageProblem(f"{first} and {other} are source files, but diff compares runs", typed)
    store, context = Store(project.reports), Context(project, Path.cwd(), kernel)
    if references[1] == "@last" and not store.kernels() and isinstance(resolve(references[0], store, context), Path):
        command = f"ncu-assist diff {shlex.quote(references[0])} OTHER.ncu-rep"
        raise UsageProblem("diff needs two reports or runs, and nothing has been measured here", command)


def learned_noise(store: Store, device: Device | None) -> LearnedNoise | None:
    """Return the noise learned from runs with ``profile --repeats`` on this GPU model, None without such runs.

    Raises DamagedData for a run whose counters were changed.
    """
    return _learned(_repeated(store, device))


def _repeated(store: Store, device: Device | None) -> list[StoredRun]:
    """Return the runs that show the noise of metrics on this GPU model, the newest first."""
    if device is None:
        return []
    heads = [one for one in store.heads() if one.repeats >= LEAST_REPEATS and one.gpu == device.name]
    return [*map(store.opened, heads[:MOST_RUNS])]


def _learned(runs: Sequence[StoredRun]) -> LearnedNoise | None:
    return LearnedNoise([one for stored in runs for one in _combined(stored)]) if runs else None


def _combined(stored: StoredRun) -> Iterator[Combined]:
    tables = stored.by_launch()
    for workload in dict.fromkeys(launch.workload for launch in stored.run.launches):
        yield combine_tables(stored.run, tables, workload)


Read = tuple[frozenset[int], frozenset[int]]
MOST_UNLINED = 0.2  # share of time in code without line numbers that needs no note: a call into a library
MOST_IN_REPORT = 250  # launches of an archived report: 1.5 s; 2,000 take 13 s (benchmarks/large_import.py)
UNREADABLE = "the source lines cannot be read"
NO_REPORT = "the run keeps no report, so it has no source lines"


def read_line_changes(
    runs: tuple[StoredRun, StoredRun],
    launches: tuple[Collection[int], Collection[int]],
    pairs: Sequence[LaunchPair] = (),
    every: bool = False,
) -> LineChanges:
    """Return the source lines that changed between these launches (numbers) of a baseline and a candidate.

    For paired launches, both sides are read or neither, the longest first. A side without lines has a note that says
    why. Nothing is raised, because the verdict needs no lines.
    """
    read = read_on_both((runs[0].run, runs[1].run), launches, pairs)
    also = [{one.workload for one in other.run.launches} for other in reversed(runs)]
    sides = zip(runs, launches, read, also, strict=True)
    jobs = [partial(_side_or_note, run, frozenset(own), some, names) for run, own, some, names in sides]
    baseline, candidate = together(jobs)
    return line_changes(baseline, candidate, [one for one in _groups(launches, pairs) if all(one)], every)


def read_waits(
    runs: tuple[StoredRun, StoredRun], launches: tuple[Collection[int], Collection[int]]
) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Return what warps of these launches waited for, from their code; empty for a side without a report."""
    return read_line_changes(runs, launches).waits


def read_on_both(
    runs: tuple[Run, Run], launches: tuple[Collection[int], Collection[int]], pairs: Sequence[LaunchPair]
) -> Read:
    """Return the launches of each side whose lines are worth reading, both of a pair or neither.

    Whole pairs are taken, the largest part of either side's time first, until they cover most of the time of both sides
    or would take too long to read.
    """
    groups = _groups(launches, pairs)
    times = [{one.index: one.duration_ns or 0.0 for one in run.launches} for run in runs]
    own = [[sum(times[side].get(number, 0.0) for number in group[side]) for group in groups] for side in (0, 1)]
    totals = [sum(side) for side in own]
    shares = [[time / total if total else 0.0 for time in side] for side, total in zip(own, totals, strict=True)]
    read: tuple[set[int], set[int]] = set(), set()
    covered = [0.0, 0.0]
    for place in sorted(range(len(groups)), key=lambda one: -max(shares[0][one], shares[1][one])):
        if any(totals) and all(not total or part >= MOST_OF_TIME for total, part in zip(totals, covered, strict=True)):
            break
        if all(len(side) + len(more) <= MOST_LAUNCHES for side, more in zip(read, groups[place], strict=True)):
            for side in (0, 1):
                read[side].update(groups[place][side])
                covered[side] += shares[side][place]
    return frozenset(read[0]), frozenset(read[1])


def _groups(launches: tuple[Collection[int], Collection[int]], pairs: Sequence[LaunchPair]) -> list[Group]:
    """Return the paired launches, then the unpaired ones."""
    groups: list[Group] = []
    for pair in pairs:
        before = tuple(one.index for one in pair.baseline if one.index in launches[0])
        after = tuple(one.index for one in pair.candidate if one.index in launches[1])
        each = zip(before, after, strict=False) if pair.repeats else ()
        groups += [((one,), (other,)) for one, other in each] if pair.repeats else [(before, after)]
    seen = [{number for group in groups for number in group[side]} for side in (0, 1)]
    groups += [((number,), ()) for number in launches[0] if number not in seen[0]]
    groups += [((), (number,)) for number in launches[1] if number not in seen[1]]
    return groups


def _side_or_note(
    stored: StoredRun, wanted: Collection[int], read: Collection[int], also: Collection[str | None], stopped: Stopped
) -> LineSums:
    try:
        return side_lines(stored, wanted, stopped, read, also)
    except DamagedData as problem:
        return LineSums(note=f"{UNREADABLE}: {problem}")


def side_lines(
    stored: StoredRun,
    wanted: Collection[int],
    stopped: Stopped | None = None,
    read: Collection[int] | None = None,
    also: Collection[str | None] = (),
) -> LineSums:
    """Return the summed source lines of these launches of a run: of those in ``read``, by default of the longest.

    ``also`` are the workloads of the run that it is compared with.
    Raises DamagedData as ``read_report`` does.
    """
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
        report = _report(stored, Path(folder), stopped)
        if isinstance(report, str):
            return LineSums(note=report)
        numbers = launch_numbers(stored.whole, report)
        places = [place for place, number in enumerate(numbers) if number in wanted]
        chosen = most_of_time(report.records, places) if read is None else [p for p in places if numbers[p] in read]
        if not chosen:
            return LineSums(note=_none_of(stored.run, wanted, numbers, also))
        return _lines(stored, report, places, chosen, numbers)


def _none_of(run: Run, wanted: Collection[int], kept: Collection[int], also: Collection[str | None]) -> str:
    """Return that the report has none of these launches, and how to see the lines of a workload that both runs have."""
    names, others = (
        sorted({one.workload for one in run.launches if one.index in some and one.workload}) for some in (wanted, kept)
    )
    if not names or not others:
        return f"the report holds no launch of {', '.join(names) or 'those compared'}"
    both = next((f": --workload {shlex.quote(name)}" for name in others if name in also), "")
    return f"kept for {', '.join(others)}, not for {', '.join(names)}{both}"


def _report(stored: StoredRun, folder: Path, stopped: Stopped | None) -> Report | str:
    """Return the report of a run, or why there are no lines in it."""
    if isinstance(stored, BareReport):
        return PRINTED if stored.report.lossy else stored.report
    if not stored.keeps_report:
        return NO_REPORT
    if len(stored.run.launches) > MOST_IN_REPORT:
        command = f"ncu-assist show --lines {shlex.quote(stored.reference)}"
        return f"lines of {len(stored.run.launches)} launches are not read here: {command}"
    return archived_report(stored, folder, stopped) or NO_REPORT


def _lines(
    stored: StoredRun, report: Report, places: Sequence[int], read: Sequence[int], numbers: Sequence[int]
) -> LineSums:
    sums = line_sums(report, read)
    if sums.note:
        return replace(sums, note=of_library(sums.note, [report.records[place] for place in read]))
    own = stored.source_texts()
    texts = {one.file: own[base_name(one.file)] for one in sums.lines if base_name(one.file) in own} | dict(sums.texts)
    times = [report.records[place].duration_ns or 0.0 for place in places]
    split = {name: text.splitlines() for name, text in texts.items()}
    return replace(
        sums,
        lines=tuple(_told(one, split, numbers) for one in sums.lines),
        texts=texts,
        own=next((name for name in texts if base_name(name).startswith(f"{stored.run.version}.")), None),
        duration_ns=sum(times),
        pass_ns=pass_ns(report, max(read, key=lambda place: report.records[place].duration_ns or 0.0)),
        note=_note(report, read, times, sums),
        lined=frozenset(numbers[place] for place in sums.lined),
    )


def _note(report: Report, read: Sequence[int], times: Sequence[float], sums: LineSums) -> str:
    """Return what the lines leave out (launches not read, code without line numbers), usually empty."""
    covered = sum(report.records[place].duration_ns or 0.0 for place in read)
    unlined = 1 - math.fsum(one.share for one in sums.lines)
    if covered < MOST_OF_TIME * sum(times):
        return f"only those of the {len(read)} longest of {len(times)} launches"
    if unlined > MOST_UNLINED:
        return f"{100 * unlined:.0f} % of its time is in code without line numbers"
    return ""


def _told(one: LineCost, split: Mapping[str, list[str]], numbers: Sequence[int]) -> LineCost:
    """Return a line with its source text, the text at its barrier, and its launches as the run numbers them."""

    def text(file: str | None, line: int | None) -> str | None:
        lines = split.get(file or "", [])
        return with_instruction(lines, line) if line and line <= len(lines) else None

    return replace(
        one,
        text=text(one.file, one.line),
        launches=tuple(sorted(numbers[launch] for launch in one.launches)),
        barrier_line=one.barrier_line or None,
        barrier_text=text(one.barrier_file, one.barrier_line),
    )
