"""The page of a kernel: how fast each version is, what binds it, what it tried and what came of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from ncu_assist.analysis.archive import KernelLadder
from ncu_assist.analysis.faults_gone import faults_gone
from ncu_assist.analysis.history import History, HistoryCell
from ncu_assist.analysis.yardstick import COPY, OPERATIONS, OwnAgainstLibrary
from ncu_assist.quantity import duration, number_of
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.ladder_chart import bandwidth_bars, ladder_chart, small_charts, sweep_bars
from ncu_assist.render.html.ladder_tables import (
    UNREADABLE,
    damaged_table,
    diagnoses_table,
    drafts_table,
    floor_tables,
    idea,
    matrix,
    runs_table,
    traffic_table,
    traffic_words,
    version_comments,
)
from ncu_assist.render.html.page import Head, PageSection, Provenance, page, provenance, table_section
from ncu_assist.render.table import Cell, Link, RunLinks
from ncu_assist.render.words.floors import copy_words, library_table, library_words, workload_words
from ncu_assist.render.words.history import (
    MOST_SAID,
    SWEPT,
    history_notes,
    legend,
    not_told,
    others_legend,
    prediction_legend,
    to_settle,
    with_faults_gone,
)
from ncu_assist.render.words.history_tables import faults_gone_table, other_gpus_table, other_libraries, versions_table
from ncu_assist.render.words.values import unread
from ncu_assist.render.words.verdicts import factor, faster_or_slower, interval_words, level_words, origin
from ncu_assist.verdict import Verdict

MOST_LISTED = 200  # runs in the footer; a hash covers the others
STEPS = "Each version against its parent, the version that it builds on. Below its name: the first words of its source."
FLOORS = (
    "Each version against the time that bytes or operations take at the best rates measured, and against libraries and "
    "frameworks: the versions whose first comment starts with Baseline."
)
AGAINST_LIBRARY = (
    "For each workload: your fastest version, the fastest library or framework, and the verdict on the two from paired "
    "samples of one bench, with the 99 % interval of the ratio. If the interval reaches below 1, it may be the other "
    "way round."
)
OTHERS = (
    "The same versions, timed on other GPU models, one bench on each. The step from the parent and the share of the "
    "floor are for that GPU."
)
DIAGNOSES = "The first finding for each version, from its counters alone, and the finding that was expected."
TRIED = (
    "From the comment at the top of each source. Its times were measured when it was written; the tables show the runs "
    "of this page."
)
DRAFTS = (
    "Next versions that a model wrote, and the outcome of their proof. A draft that was neither kept nor accepted is "
    "not a version."
)
ESTIMATED = (
    "Faults that a version no longer has but its parent had, or that it has less of: the speed-up that was estimated "
    "for each, and the speed-up that was achieved."
)
SWEEPS = "One version on workloads that differ in one integer only. They are for this version, not for the ladder."
RUNS = "Every run of this kernel, newest first."
DAMAGED = "These are left out of everything above. To look closer: ncu-assist verify"


def ladder_html(ladder: KernelLadder, pages: Collection[str] = ()) -> str:
    """Return the page, to lie in ``reports/<kernel>/``; ``pages`` are those that it may link to, relative to there.

    Raises DamagedData for counters that were changed.
    """
    links = RunLinks(frozenset(pages))
    return page(_head(ladder, links), ladder_sections(ladder, links))


def ladder_sections(ladder: KernelLadder, links: RunLinks) -> tuple[PageSection, ...]:
    """Return the sections; those that have nothing to say have no model."""
    return (*_on_versions(ladder, links), *_on_sources(ladder), *_on_workloads(ladder), *_on_runs(ladder, links))


def _on_versions(ladder: KernelLadder, links: RunLinks) -> Iterator[PageSection]:
    history = ladder.history
    chart = ladder_chart(history, ladder.state.baseline if ladder.state else None, links)
    model = {"verdict": _verdict(ladder), "chart": chart, "workload": _workload(history)}
    yield PageSection("times", "Times", model, "ladder_times.html.j2")
    steps = versions_table(history, links).without_empty()
    steps = replace(steps, rows=tuple(_with_idea(one, ladder.tried) for one in steps.rows))
    own = tuple(line for line in legend(history) if line != SWEPT)  # which stands beside the sweeps
    yield PageSection("steps", "Steps", {"table": steps, "legend": own}, "table_section.html.j2", STEPS)
    comments = tuple(version_comments(ladder.tried, history))
    yield PageSection("tried", "What each version tried", comments, "ladder_comments.html.j2", TRIED)
    against = library_table(history.against_library)
    told = library_words(history.against_library, history.least_against_libraries)
    intro = f"{told} {AGAINST_LIBRARY}" if told else AGAINST_LIBRARY
    yield table_section("library", "Own against library", against if against.rows else None, intro)
    yield PageSection("floors", "Against floor and peers", floor_tables(history), "ladder_floors.html.j2", FLOORS)
    others = other_gpus_table(history).without_empty()
    lines = [one_line(line, MOST_SAID) for line in others_legend(history)]
    model = {"table": others, "libraries": other_libraries(history), "legend": lines}
    yield PageSection("others", "On other GPUs", model if others.rows else None, "ladder_others.html.j2", OTHERS)
    words = traffic_words(history)
    yield table_section("traffic", "Launches and traffic", traffic_table(history), words)


def _with_idea(row: tuple[Cell, ...], tried: Mapping[str, str]) -> tuple[Cell, ...]:
    """Return a row of a version with what it changed below its name."""
    version, *others = row
    return replace(version, note=one_line(idea(tried.get(version.text, "")), MOST_SAID)), *others


def _on_sources(ladder: KernelLadder) -> Iterator[PageSection]:
    history = ladder.history
    yield table_section("diagnoses", "Diagnoses", diagnoses_table(history, ladder.tried), DIAGNOSES)
    yield table_section("drafts", "Drafts", drafts_table(ladder.drafts, ladder.damaged_drafts), DRAFTS)
    steps = faults_gone(history).values()
    gone = with_faults_gone(steps)
    lines = (*prediction_legend(gone), *not_told(steps)) if gone else ()
    told = tuple(one_line(line, MOST_SAID) for line in lines)
    yield table_section(
        "estimated", "Estimated and achieved", faults_gone_table(gone) if gone else None, ESTIMATED, told
    )


def _on_workloads(ladder: KernelLadder) -> Iterator[PageSection]:
    history = ladder.history
    rates = bandwidth_bars(history)
    yield PageSection("bandwidth", "Rates", rates, "bars_section.html.j2", f"{rates.caption}." if rates else "")
    if len(history.places) > 1:
        beside = history.yardsticks
        model = {"small": small_charts(history), "beside": beside, "table": matrix(history)}
        intro = f"The time of every version on each workload, on a log axis. The line is {beside}."
        yield PageSection("workloads", "All workloads", model, "ladder_workloads.html.j2", intro)
    yield PageSection("sweeps", "Sweeps", sweep_bars(history.sweeps), "ladder_sweeps.html.j2", SWEEPS)


def _on_runs(ladder: KernelLadder, links: RunLinks) -> Iterator[PageSection]:
    history = ladder.history
    told = tuple(one_line(note, MOST_SAID) for note in history_notes(history))
    settle = tuple(one_line(line, MOST_SAID) for line in to_settle(history).splitlines())
    if told:
        yield PageSection("notes", "Notes", {"notes": told, "settle": settle}, "ladder_notes.html.j2")
    yield table_section("runs", "Runs", runs_table(ladder.runs, history.shown, links), _runs_intro(ladder))
    yield table_section("damaged", UNREADABLE, damaged_table(ladder.damaged), DAMAGED)


def _runs_intro(ladder: KernelLadder) -> str:
    more = len(ladder.every) - len(ladder.runs)
    asked = f"select * from runs where kernel = '{ladder.history.kernel}'"
    return f'{RUNS} {number_of(more, "older one")} left out: ncu-assist query "{asked}"' if more else RUNS


def _head(ladder: KernelLadder, links: RunLinks) -> Head:
    history = ladder.history
    newest, lost = history.newest, unread(ladder.damaged)
    where = one_line(origin(newest.source, newest)) if newest else "not measured as it is now"
    named = f"{number_of(len(history.rows), 'version')}, {number_of(len(ladder.every), 'run')}"
    summary = f"{one_line(ladder.state.summary)}; " if ladder.state and ladder.state.summary else ""
    left_out = (f"{lost} left out, listed below",) if lost else ()
    problem = (one_line(ladder.state.problem, MOST_SAID),) if ladder.state and ladder.state.problem else ()
    recorded = newest is not None and newest.source == "recorded"
    return Head(
        title=one_line(history.kernel),
        subtitle=f"{summary}{named}; {where}",
        crumbs=(Link("All kernels", links.to("../index.html")),),
        provenance=_provenance(ladder, links),
        recorded="elsewhere; the runs shown came with the archive" if recorded else "",
        warnings=(*left_out, *problem),
    )


def _provenance(ladder: KernelLadder, links: RunLinks) -> Provenance:
    listed = provenance(ladder.runs[:MOST_LISTED], ladder.every)
    pages = {stored.reference: links.of(stored) for stored in ladder.runs[:MOST_LISTED]}
    return replace(listed, origins=tuple((Link(one.text, pages[one.text]), digest) for one, digest in listed.origins))


def _workload(history: History) -> str:
    """Return what the workload shown is; empty for a program that knows of none."""
    facts = next((one for row in history.rows if row.cells and (one := history.cell(row).facts)), None)
    return f"{one_line(facts.name)}: {workload_words(facts)}" if facts else ""


def _verdict(ladder: KernelLadder) -> str:
    """Return the best version in one line: its time, how it stands to the baseline and to what it is compared with."""
    state = ladder.state
    if state is None or state.best is None:
        return "No version is checked and timed as its source is now." if state and state.workload else ""
    best, library = state.best.run.version, state.against_library
    own = library.own if library else best
    timing = state.best.run.timing(state.workload) if state.workload else None
    time_ns = library.own_ns if library else timing.median_ns if timing else None
    said = [f"{one_line(own)} is the fastest{' own version' if library else ''}"]
    said += [f"on {one_line(state.workload)}: {duration(time_ns)}"] if state.workload and time_ns else []
    said += [_against_library(library)] if library else []
    told = [library.library] if library else []  # how it stands to that is said before
    level = level_words(*([name for name in names if name not in told] for names in (state.same, state.unclear)))
    said += [level] if own == best and level else []
    against = state.verdict
    beside = state.baseline.run.version if state.baseline and own == best else ""
    if (
        against
        and against.verdict == "faster"
        and against.speedup
        and beside
        and not (library and library.library == beside)
    ):
        said += [f"{factor(against.speedup)} {against.words} than {one_line(beside)}, the baseline"]
    sentence = " ".join(said[:2]) + "".join(f", {one}" for one in said[2:])
    cell = _cell_of(ladder.history, own, state.workload)
    beside = _beside(cell) if cell is not None else ""
    return f"{sentence}. {beside}" if beside else sentence


def _beside(cell: HistoryCell) -> str:
    """Return what a version is compared with, in a sentence with its time and its part of that of the version."""
    if cell.share is None or cell.yardstick_ns is None:
        return ""
    taken = f"{duration(cell.yardstick_ns)}, {100 * cell.share:.0f} % of its time"
    if cell.measure is OPERATIONS:
        return f"The same operations at the best rate measured take {taken}."
    kept = copy_words(cell.row.in_l2) if cell.row and cell.row.in_l2 and cell.measure is COPY else ""
    return f"{cell.measure.what.capitalize()} takes {taken}{f'; {kept}' if kept else ''}."


def _against_library(one: OwnAgainstLibrary) -> str:
    """Return how the fastest own version stands to the fastest library, by verdict."""
    name, verdict = f"{one_line(one.library)} ({duration(one.library_ns)}), the fastest library", one.verdict
    if verdict is None:
        return f"{name}, was not timed in one bench with it"
    if verdict.verdict == "same" or verdict.speedup is None:
        return f"{'as fast as' if verdict.verdict == 'same' else 'not compared with'} {name}"
    said = faster_or_slower(verdict.speedup) or "the same time"
    if verdict.verdict == "unclear":
        return f"perhaps {said}{_interval(verdict)} {'as' if said == 'the same time' else 'than'} {name}"
    return f"{factor(max(verdict.speedup, 1 / verdict.speedup))} {verdict.words}{_interval(verdict)} than {name}"


def _interval(verdict: Verdict) -> str:
    return f" (99 %: {words})" if (words := interval_words(verdict)) else ""


def _cell_of(history: History, version: str, workload: str | None) -> HistoryCell | None:
    """Return a version on a workload that need not be the one shown: without a folder nothing says which is."""
    cells = next((row.cells for row in history.rows if row.version == version), ())
    return next((cell for cell in cells if cell.workload == workload), None)
