"""The history of a kernel on a terminal: times on one workload, the worst case over all, estimated against achieved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.analysis.faults_gone import faults_gone
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.style import Style, printed, to_text
from ncu_assist.render.words.history import (
    FAULTS_GONE,
    MOST_SAID,
    legend,
    notes,
    others_legend,
    prediction_legend,
    provenance,
    sweep_title,
    title,
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
from ncu_assist.render.words.own_against_library import OWN_TERM, library_table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ncu_assist.analysis.history import History
    from ncu_assist.render.table import Table


def history_text(history: History, style: Style | None = None) -> str:
    """Return a history as text. Raises DamagedData for findings that were changed."""
    from rich.text import Text

    versions = versions_table(history, names_parents=False)
    times = versions.without(*OVER_ALL[1:], "diff")
    parts: list[RenderableType] = [Text(one_line(title(history)), style="bold")]
    parts += [Text(provenance(history), style="dim")] if history.newest else []
    parts += [Text(""), printed(times.without_empty())]
    if len(history.places) > 1:
        heading = f"all {len(history.places)} workloads, each version against its parent"
        parts += [Text(""), Text(heading, style="bold"), printed(versions.only(*OVER_ALL))]
    if history.against_library:
        heading = "the fastest own version against the fastest library"
        parts += [Text(""), Text(heading, style="bold"), printed(library_table(history.against_library))]
        parts += [Text(f"{OWN_TERM.label}: {OWN_TERM.meaning}", style="dim")]
    if history.others:
        there = other_gpus_table(history)
        parts += [Text(""), Text(_heading(there), style="bold"), printed(there.without_empty())]
        parts += [Text(one_line(line, MOST_SAID), style="dim") for line in others_legend(history)]
    for made in other_libraries(history):
        parts += [Text(""), Text(_heading(made), style="bold"), printed(made)]
    for sweep in history.sweeps:
        parts += [Text(""), Text(one_line(sweep_title(sweep)), style="bold"), printed(sweep_table(sweep))]
    parts += [Text(one_line(line, MOST_SAID), style="dim") for line in ("", *legend(history))]
    steps = with_faults_gone(faults_gone(history).values())
    if steps:
        parts += [Text(""), Text(FAULTS_GONE, style="bold"), printed(faults_gone_table(steps)), Text("")]
        parts += [Text(one_line(line, MOST_SAID), style="dim") for line in prediction_legend(steps)]
    for lines in (list(notes(history)), to_settle(history).splitlines()):
        parts += [Text(one_line(line, MOST_SAID)) for line in ("", *lines)] if lines else []
    return to_text(parts, style)


def _heading(made: Table) -> str:
    return made.caption[:1].lower() + made.caption[1:]
