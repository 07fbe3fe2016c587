"""The versions of a kernel on a terminal, their runs over time, and a bisection."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ncu_assist.analysis.faults_gone import faults_gone
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.style import Style, printed, styled, to_text
from ncu_assist.render.words.floors import OWN_TERM, library_table
from ncu_assist.render.words.history import (
    FAULTS_GONE,
    MOST_SAID,
    history_notes,
    history_provenance,
    history_title,
    legend,
    others_legend,
    prediction_legend,
    sweep_title,
    to_settle,
    with_faults_gone,
)
from ncu_assist.render.words.history_tables import (
    OVER_ALL,
    faults_gone_table,
    other_gpus_table,
    other_libraries,
    sweep_table,
    versions_table,
)
from ncu_assist.render.words.trend import (
    bisection_title,
    changes,
    commits_table,
    conclusion,
    counters_table,
    series_table,
    trend_notes,
    trend_provenance,
    trend_title,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ncu_assist.analysis.history import History
    from ncu_assist.analysis.trend import Bisection, Trend
    from ncu_assist.render.table import Table


def history_text(history: History, style: Style | None = None) -> str:
    """Return a history as text. Raises DamagedData for findings that were changed."""
    versions = versions_table(history, names_parents=False)
    times = versions.without(*OVER_ALL[1:], "diff")
    parts: list[RenderableType] = [styled(one_line(history_title(history)), "bold")]
    parts += [styled(history_provenance(history), "dim")] if history.newest else []
    parts += [styled(""), printed(times.without_empty())]
    if len(history.places) > 1:
        heading = f"all {len(history.places)} workloads, each version against its parent"
        own = (shown for shown, row in zip(versions.rows, history.rows, strict=True) if row.parents or not row.is_peer)
        steps = replace(versions, rows=tuple(own)).only(*OVER_ALL)
        parts += [styled(""), styled(heading, "bold"), printed(steps)]
    if history.against_library:
        heading = "the fastest own version against the fastest library"
        parts += [styled(""), styled(heading, "bold"), printed(library_table(history.against_library, intervals=False))]
        parts += [styled(f"{OWN_TERM.label}: {OWN_TERM.meaning}", "dim")]
    if history.others:
        there = other_gpus_table(history)
        parts += [styled(""), styled(_heading(there), "bold"), printed(there.without_empty())]
        parts += [styled(one_line(line, MOST_SAID), "dim") for line in others_legend(history)]
    for made in other_libraries(history, intervals=False):
        parts += [styled(""), styled(_heading(made), "bold"), printed(made)]
    for sweep in history.sweeps:
        parts += [styled(""), styled(one_line(sweep_title(sweep)), "bold"), printed(sweep_table(sweep))]
    meanings = list(legend(history))
    parts += [styled(one_line(line, MOST_SAID), "dim") for line in ("", *meanings)] if meanings else []
    gone = with_faults_gone(faults_gone(history).values())
    if gone:
        parts += [styled(""), styled(FAULTS_GONE, "bold"), printed(faults_gone_table(gone)), styled("")]
        parts += [styled(one_line(line, MOST_SAID), "dim") for line in prediction_legend(gone)]
    for lines in (list(history_notes(history)), to_settle(history).splitlines()):
        parts += [styled(one_line(line, MOST_SAID)) for line in ("", *lines)] if lines else []
    return to_text(parts, style)


def _heading(made: Table) -> str:
    return made.caption[:1].lower() + made.caption[1:]


def trend_text(trend: Trend) -> str:
    """Return a trend as text, the newest change first."""
    parts: list[RenderableType] = [
        styled(one_line(trend_title(trend)), "bold"),
        styled(one_line(trend_provenance(trend)), "dim"),
        styled(""),
        printed(series_table(trend)),
    ]
    if trend.metrics:
        parts += [styled(""), printed(counters_table(trend))]
    for change, said, details in changes(trend):
        sign, color = ("▼", "red") if change.is_slower else ("▲", "green")
        parts += [styled(""), styled(f"{sign} {one_line(said, MOST_SAID)}", color)]
        parts += [styled(one_line(line, MOST_SAID)) for line in details]
    told = list(trend_notes(trend))
    parts += [styled("")] if told else []
    parts += [styled(one_line(line, MOST_SAID), "dim") for line in told]
    return to_text(parts)


def bisection_text(found: Bisection, style: Style | None = None) -> str:
    """Return a bisection as text."""
    said = [styled(one_line(line, MOST_SAID)) for line in conclusion(found)]
    return to_text(
        [
            styled(one_line(bisection_title(found)), "bold"),
            styled(""),
            printed(commits_table(found)),
            styled(""),
            *said,
        ],
        style,
    )
