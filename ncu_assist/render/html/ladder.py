"""The page of a kernel: how fast each version is, what binds it, what it tried and what came of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from ncu_assist.analysis.archive import KernelLadder
from ncu_assist.analysis.history import History, HistoryCell
from ncu_assist.analysis.predictions import predictions
from ncu_assist.analysis.yardstick import COPY
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.charts import Bars
from ncu_assist.render.html.ladder_chart import (
    LadderChart,
    SmallChart,
    bandwidth_bars,
    ladder_chart,
    small_charts,
    sweep_bars,
)
from ncu_assist.render.html.ladder_diagnoses import VersionComment, diagnoses_table, version_comments
from ncu_assist.render.html.ladder_tables import (
    damaged_table,
    drafts_table,
    floor_tables,
    matrix,
    predictions_table,
    runs_table,
    steps_table,
    traffic_table,
    traffic_words,
)
from ncu_assist.render.html.links import RunLinks
from ncu_assist.render.html.page import Head, Link, PageSection, Provenance, page, provenance
from ncu_assist.render.html.table import Table
from ncu_assist.render.words.floors import copy_words
from ncu_assist.render.words.history import (
    ALL_WORKLOADS,
    MOST_SAID,
    UNDER_NCU,
    in_l2_lines,
    notes,
    prediction_legend,
    to_settle,
    with_faults_gone,
)
from ncu_assist.render.words.values import number_of, unread
from ncu_assist.render.words.verdicts import factor, level_words, origin

MOST_LISTED = 200  # runs in the footer; a hash covers the others
STEPS = "Each version against its parent, the version that it builds on."
FLOORS = (
    "Each version against the time that bytes or operations take at the best rates measured, and against libraries and "
    "frameworks: the versions whose first comment starts with Baseline."
)
DIAGNOSES = "What the rules say first of each version, from its counters alone, and what was expected of them."
TRIED = "From the comment at the top of its source."
DRAFTS = (
    "Next versions that a model wrote, and what proving them gave. A draft that was neither kept nor accepted is no "
    "version."
)
ESTIMATED = (
    "Faults of its parent that a version no longer has: the speed-up that was estimated for each, and the one that "
    "came of it."
)
SWEEPS = "One version on workloads that differ in one integer only; they are for it, not for the ladder."
RUNS = "Every run of this kernel, the newest first."
UNREADABLE = "Runs that cannot be read"
DAMAGED = "These are left out of everything above. To look closer: ncu-assist verify"


@dataclass(frozen=True)
class LadderPage:
    """The content of the page; a part that has nothing to say is None or empty."""

    verdict: str
    chart: LadderChart
    steps: Table
    steps_legend: tuple[str, ...]
    held: tuple[Table, ...]  # one a workload, that of the workload shown first
    traffic: Table | None
    traffic_words: str
    diagnoses: Table | None
    tried: tuple[VersionComment, ...]
    drafts: Table | None
    estimated: Table | None
    estimated_legend: tuple[str, ...]
    bandwidth: Bars | None
    beside: str  # what was timed beside every version
    small: tuple[SmallChart, ...]
    matrix: Table | None
    sweeps: tuple[Bars, ...]
    notes: tuple[str, ...]
    settle: tuple[str, ...]
    runs: Table
    damaged: Table


def ladder_html(ladder: KernelLadder, pages: Collection[str] = ()) -> str:
    """Return the page, to lie in ``reports/<kernel>/``; ``pages`` are those that it may link to, relative to there.

    Raises DamagedData for counters that were changed.
    """
    history, links = ladder.history, RunLinks(frozenset(pages))
    content = ladder_page(ladder, history, links)
    return page(_head(ladder, history, links), ladder_sections(content), ladder=content)


def ladder_page(ladder: KernelLadder, history: History, links: RunLinks) -> LadderPage:
    """Return what the page says."""
    gone = with_faults_gone(predictions(history).values())
    several = len(history.places) > 1
    return LadderPage(
        verdict=_verdict(ladder, history),
        chart=ladder_chart(history, ladder.state.baseline if ladder.state else None),
        steps=steps_table(history, links),
        steps_legend=_legend(history),
        held=floor_tables(history),
        traffic=traffic_table(history),
        traffic_words=traffic_words(history),
        diagnoses=diagnoses_table(history, ladder.tried),
        tried=tuple(version_comments(ladder.tried, history)),
        drafts=drafts_table(ladder.drafts, ladder.damaged_drafts),
        estimated=predictions_table(gone) if gone else None,
        estimated_legend=tuple(one_line(line, MOST_SAID) for line in prediction_legend(gone)) if gone else (),
        beside=history.yardsticks,
        bandwidth=bandwidth_bars(history),
        small=small_charts(history) if several else (),
        matrix=matrix(history) if several else None,
        sweeps=sweep_bars(history.sweeps),
        notes=tuple(one_line(note, MOST_SAID) for note in notes(history)),
        settle=tuple(one_line(line, MOST_SAID) for line in to_settle(history).splitlines()),
        runs=runs_table(ladder.runs, history.shown, links),
        damaged=damaged_table(ladder.damaged),
    )


def ladder_sections(made: LadderPage) -> tuple[PageSection, ...]:
    """Return the sections that have anything to say."""
    sections = (
        (True, PageSection("times", "Times", made.chart, "ladder_times.html.j2")),
        (True, PageSection("steps", "Steps", made.steps, "ladder_steps.html.j2", STEPS)),
        (made.held, PageSection("held", "Against floor and peers", made.held, "ladder_floors.html.j2", FLOORS)),
        (
            made.traffic,
            PageSection("traffic", "Launches and traffic", made.traffic, "table_section.html.j2", made.traffic_words),
        ),
        (made.diagnoses, PageSection("diagnoses", "Diagnoses", made.diagnoses, "table_section.html.j2", DIAGNOSES)),
        (made.tried, PageSection("tried", "What each version tried", made.tried, "ladder_comments.html.j2", TRIED)),
        (made.drafts, PageSection("drafts", "Drafts", made.drafts, "table_section.html.j2", DRAFTS)),
        (
            made.estimated,
            PageSection("estimated", "Estimated and achieved", made.estimated, "ladder_estimated.html.j2", ESTIMATED),
        ),
        (
            made.bandwidth,
            PageSection(
                "bandwidth",
                "Rates",
                made.bandwidth,
                "bars_section.html.j2",
                f"{made.bandwidth.caption}." if made.bandwidth else "",
            ),
        ),
        (
            made.matrix,
            PageSection(
                "workloads",
                "All workloads",
                made.matrix,
                "ladder_workloads.html.j2",
                f"The time of every version on each workload, on a log axis; the line is {made.beside}.",
            ),
        ),
        (made.sweeps, PageSection("sweeps", "Sweeps", made.sweeps, "ladder_sweeps.html.j2", SWEEPS)),
        (made.notes, PageSection("notes", "Notes", made.notes, "ladder_notes.html.j2")),
        (True, PageSection("runs", "Runs", made.runs, "table_section.html.j2", RUNS)),
        (made.damaged.rows, PageSection("damaged", UNREADABLE, made.damaged, "table_section.html.j2", DAMAGED)),
    )
    return tuple(section for says, section in sections if says)


def _head(ladder: KernelLadder, history: History, links: RunLinks) -> Head:
    newest, lost = history.newest, unread(ladder.damaged)
    where = one_line(origin(newest.source, newest)) if newest else "not measured as it is now"
    named = f"{number_of(len(history.rows), 'version')}, {number_of(len(ladder.runs), 'run')}"
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
    listed = provenance(ladder.runs[:MOST_LISTED], ladder.runs)
    pages = {stored.reference: links.of(stored) for stored in ladder.runs[:MOST_LISTED]}
    return replace(listed, origins=tuple(replace(one, href=pages[one.reference]) for one in listed.origins))


def _verdict(ladder: KernelLadder, history: History) -> str:
    """Return the best version in one line: its time, how it stands to the baseline and to what it is held against."""
    state = ladder.state
    if state is None or state.best is None:
        return "No version is checked and timed as its source is now." if state and state.workload else ""
    timing = state.best.run.timing(state.workload) if state.workload else None
    said = [f"{one_line(state.best.run.version)} is the fastest"]
    said += [f"on {one_line(state.workload)}: {duration(timing.median_ns)}"] if timing and state.workload else []
    said += [level_words(state.same, state.unclear)] if state.same or state.unclear else []
    against = state.verdict
    if against and against.verdict == "faster" and against.speedup and state.baseline:
        said += [f"{factor(against.speedup)} {against.words} than {one_line(state.baseline.run.version)}"]
    best = _cell_of(history, state.best.run.version, state.workload)
    if best is not None and best.share is not None:
        said += [f"at {100 * best.share:.0f} % of {best.measure.what}"]
        said += [copy_words(best.row.in_l2)] if best.row and best.row.in_l2 and best.measure is COPY else []
    return " ".join(said[:2]) + "".join(f", {one}" for one in said[2:])


def _cell_of(history: History, version: str, workload: str | None) -> HistoryCell | None:
    """Return a version on a workload that need not be the one shown: without a folder nothing says which is."""
    cells = next((row.cells for row in history.rows if row.version == version), ())
    return next((cell for cell in cells if cell.workload == workload), None)


def _legend(history: History) -> tuple[str, ...]:
    lines = [history.yardstick.legend] if any(history.cell(row).share for row in history.rows) else []
    lines += in_l2_lines(history)
    lines += [UNDER_NCU] if history.shown is None else []
    return (*lines, *([ALL_WORKLOADS] if len(history.places) > 1 else []))
