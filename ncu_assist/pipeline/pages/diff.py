"""The page of a diff: both runs read once, compared, looked at closely, and shown side by side."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from ncu_assist.analysis.diff import Change, Diff, DiffOptions, DiffSide, FullDiff, diff_in_full
from ncu_assist.analysis.diff.comparability import compared_workloads, scope
from ncu_assist.analysis.diff.comparing import verdict_by_time
from ncu_assist.analysis.diff.flagging import told_in_parts
from ncu_assist.analysis.diff.timing import Pair, SampleReader, TimedSamples, timed_samples
from ncu_assist.analysis.launches import LaunchRow
from ncu_assist.analysis.run_view import CloseLook, RunView, workload_row
from ncu_assist.ceilings import ceilings_of
from ncu_assist.errors import DamagedData, UsageProblem
from ncu_assist.frame import Combined, combine_tables
from ncu_assist.pipeline.opened_reports import BareReport, Stopped, named_by_content, together, with_report
from ncu_assist.pipeline.pages.readable import identities_of, redacted_run
from ncu_assist.pipeline.reading import MOST_IN_REPORT, read_on_both, with_lines
from ncu_assist.pipeline.showing import look_closer, with_places
from ncu_assist.render.diff_facts import DiffFacts
from ncu_assist.render.redact import Identity
from ncu_assist.render.redact.frames import redact_close, redact_files, redact_lines
from ncu_assist.render.table import Link
from ncu_assist.rules.model.of_run import results_of
from ncu_assist.store import Store, StoredRun
from ncu_assist.verdict import Verdict

OpenedSide = tuple[StoredRun, CloseLook]  # a side with its report opened, and what was read of that


def diff_page(
    runs: Pair,
    store: Store,
    options: DiffOptions,
    redact: bool = True,
    crumbs: tuple[Link, ...] = (),
    links: tuple[str, str] = ("", ""),
) -> str:
    """Return the page on two runs, baseline first; ``options`` as ``pipeline.reading.informed`` completes them.

    ``redact`` takes out who measured them and where, as an export does.

    Raises UsageProblem and DamagedData as ``diff_runs`` does.
    """
    from ncu_assist.render.html.diff import diff_html

    return diff_html(replace(diff_facts(runs, store, options, redact), crumbs=crumbs, links=links))


def diff_facts(runs: Pair, store: Store, options: DiffOptions, redact: bool = True) -> DiffFacts:
    """Return what the page shows. Both reports are read while the counters are compared, and once for all uses."""
    runs = _titled(runs)
    with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
        found = [one for one in runs if redact and one.run.source != "recorded"]
        identity = identities_of(found) if found else None
        clean = runs if identity is None else (redacted_run(runs[0], identity), redacted_run(runs[1], identity))
        full, looked = _read(runs, clean, options, Path(folder))
        diff = with_lines(full.diff, (looked[0][0], looked[1][0]))
    if identity is not None:
        diff, looked = _without_names(diff, looked, identity)
    sides = zip(clean, (diff.baseline, diff.candidate), full.totals, looked, strict=True)
    baseline, candidate = (_shown(store, *one) for one in sides)
    made_of = {one.reference: one for one in (*clean, *(options.timed or ()))}
    return DiffFacts(
        diff=diff,
        every=_every(full.every, diff),
        baseline=baseline,
        candidate=candidate,
        samples=_samples(options.timed or runs, diff),
        made_of=tuple(map(named_by_content, made_of.values())),
        workloads=tuple(_on_workloads(options.timed or runs, diff)) if diff.verdict.verdict != "not-comparable" else (),
    )


def _every(changes: tuple[Change, ...], diff: Diff) -> tuple[Change, ...]:
    """Return all metrics in the words of the diff, whose waits are apart."""
    said = {change.metric: change for change in diff.changes}
    return tuple(said.get(one.metric, one) for one in told_in_parts(diff, changes))


def _on_workloads(timed: Pair, diff: Diff) -> Iterator[tuple[str, tuple[float, float], Verdict]]:
    """Yield the verdict on every workload that both runs were timed on, in the order of the candidate."""
    samples = SampleReader()
    for name in (one.name for one in timed[1].run.workloads):
        before, after = (one.run.timing(name) for one in timed)
        if before and after:
            verdict = diff.verdict if name == diff.workload else verdict_by_time(*timed, name, samples)
            yield name, (before.median_ns, after.median_ns), verdict


def _samples(timed: Pair, diff: Diff) -> tuple[TimedSamples | None, TimedSamples | None]:
    """Return all samples of both sides on the workload, from the runs that the verdict takes them from."""
    sides = zip(timed, (diff.baseline, diff.candidate), strict=True)
    before, after = (timed_samples(stored, side.workload) for stored, side in sides)
    return before, after


def _without_names(
    diff: Diff, looked: tuple[OpenedSide, OpenedSide], identity: Identity
) -> tuple[Diff, tuple[OpenedSide, OpenedSide]]:
    """Return what was read of the reports without what identifies; a file has one name on both sides."""
    files = redact_files((close for _, close in looked), identity)
    before, after = ((run, redact_close(close, files, identity)) for run, close in looked)
    return replace(diff, lines=diff.lines and redact_lines(diff.lines, files, identity)), (before, after)


def _read(
    runs: Pair, clean: Pair, options: DiffOptions, folder: Path
) -> tuple[FullDiff, tuple[OpenedSide, OpenedSide]]:
    """Return the diff of ``clean``, and a closer look at both sides; a run against itself is looked at once."""
    jobs: list[Callable[[Stopped], FullDiff | OpenedSide]] = [lambda _: diff_in_full(*clean, options)]
    places = (0,) if runs[0].reference == runs[1].reference else (0, 1)
    read = _worth_reading(runs, options.workload)
    jobs += [partial(_looked, runs, place, options.workload, folder / str(place), read[place]) for place in places]
    full, *looked = together(jobs)
    assert isinstance(full, FullDiff)
    found = [one for one in looked if not isinstance(one, FullDiff)]
    return full, (found[0], found[-1])


def _worth_reading(runs: Pair, workload: str | None) -> tuple[frozenset[int] | None, frozenset[int] | None]:
    """Return the launches of each side whose lines are read, the same as for the table of changed lines.

    None of either where the runs cannot be compared, which the diff tells.
    """
    try:
        names = compared_workloads(runs[0].run, runs[1].run, workload)
    except UsageProblem:
        return None, None
    counted = [one.by_launch() if names == (None, None) else {} for one in runs]  # which launches repeat one another
    before, after = (combine_tables(one.run, own, name) for one, own, name in zip(runs, counted, names, strict=True))
    found = scope(before, after)
    indices = [one.index for one in found.totals[0].launches], [one.index for one in found.totals[1].launches]
    return read_on_both((runs[0].run, runs[1].run), indices, found.paired.pairs)


def _looked(
    runs: Pair, place: int, workload: str | None, folder: Path, read: frozenset[int] | None, stopped: Stopped
) -> OpenedSide:
    """Return one side with its report opened. A report that cannot be read costs its lines: the note says why."""
    stored = runs[place]
    folder.mkdir()
    try:
        name = compared_workloads(runs[0].run, runs[1].run, workload)[place]
        run = with_report(stored, folder, MOST_IN_REPORT, stopped)
        if run is stored and stored.keeps_report and len(stored.run.launches) > MOST_IN_REPORT:
            return run, CloseLook(note=f"source lines of {len(stored.run.launches)} launches are not read here")
        return run, look_closer(run, name, rules=False, read=read) if stored.run.launches else CloseLook()
    except DamagedData as problem:
        return stored, CloseLook(note=f"the source lines cannot be read: {problem}")
    except UsageProblem:  # which the diff meets too, and tells
        return stored, CloseLook()


def _titled(runs: Pair) -> Pair:
    """Return the runs with reports named by their file, and by as much of its folder as tells two of a name apart."""
    paths = {one.report.path.resolve() for one in runs if isinstance(one, BareReport)}
    names = {path.name for path in paths}
    base = os.path.commonpath([path.parent for path in paths]) if len(names) < len(paths) else ""
    before, after = (_renamed(one, base) for one in runs)
    return before, after


def _renamed(stored: StoredRun, base: str) -> StoredRun:
    if not isinstance(stored, BareReport):
        return stored
    path = stored.report.path.resolve()
    return replace(stored, title=path.relative_to(base).as_posix() if base else path.name)


def _shown(store: Store, stored: StoredRun, side: DiffSide, totals: Combined, looked: OpenedSide) -> RunView:
    """Return a side as it is shown alone, but of the compared launches only; no launch is judged by itself."""
    run = stored.run
    ceilings = ceilings_of(run.device, store.reports)
    shown = RunView(
        run=run,
        reference=stored.reference,
        source=side.source,
        rows=tuple(workload_row(run, facts, ceilings) for facts in run.workloads),
        combined=totals,
        bottleneck=side.bottleneck,
        launches=tuple(LaunchRow(one, None) for one in run.launches),
        keeps_report=stored.keeps_report,
        results=results_of(run, totals, ceilings, whole=side.compared == side.launches),
        ceilings=ceilings,
        close=looked[1],
    )
    return with_places(shown)
