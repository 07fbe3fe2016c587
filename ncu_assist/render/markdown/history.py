"""The history of a kernel and its trend in Markdown: a table, and what it does not say folded or listed below."""

from __future__ import annotations

from ncu_assist.analysis.faults_gone import faults_gone
from ncu_assist.analysis.history import History
from ncu_assist.analysis.trend import Trend
from ncu_assist.render.markdown import escaped, folded, paragraph, printed
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
    with_faults_gone,
)
from ncu_assist.render.words.history_tables import (
    OVER_ALL,
    faults_gone_table,
    other_gpus_table,
    other_libraries,
    sweep_table,
    versions_table,
    workloads_table,
)
from ncu_assist.render.words.trend import (
    changes,
    counters_table,
    series_table,
    trend_notes,
    trend_provenance,
    trend_title,
)


def history_markdown(history: History) -> str:
    """Return a history as Markdown that fits a comment. Raises DamagedData for findings that were changed."""
    several, versions = len(history.places) > 1, versions_table(history)
    left_out = {"diff", *(() if several else OVER_ALL[1:])}
    shown = versions.without(*left_out)
    lines = [f"### {escaped(history_title(history))}", ""]
    lines += [paragraph(history_provenance(history)), ""] if history.newest else []
    lines += printed(shown)
    if several:
        heading = f"Each version against its parent, on all {len(history.places)} workloads"
        lines += ["", *folded(heading, printed(workloads_table(history)))]
    if history.others:
        told = [line for said in others_legend(history) for line in ("", paragraph(said, MOST_SAID))]
        libraries = [line for made in other_libraries(history) for line in ("", made.caption, "", *printed(made))]
        there = other_gpus_table(history)
        lines += ["", *folded(there.caption, [*printed(there), *told, *libraries])]
    for sweep in history.sweeps:
        lines += ["", paragraph(sweep_title(sweep)), "", *printed(sweep_table(sweep))]
    lines += [line for said in legend(history) for line in ("", paragraph(said, MOST_SAID))]
    steps = with_faults_gone(faults_gone(history).values())
    if steps:
        lines += ["", paragraph(FAULTS_GONE), "", *printed(faults_gone_table(steps)), ""]
        lines += [f"- {paragraph(line)}" for line in prediction_legend(steps)]
    told = [f"- {paragraph(note, MOST_SAID)}" for note in history_notes(history)]
    return "\n".join([*lines, *(["", *told] if told else [])]) + "\n"


def trend_markdown(trend: Trend) -> str:
    """Return a trend as Markdown that fits a comment."""
    lines = [
        f"### Trend: {escaped(trend_title(trend))}",
        "",
        paragraph(trend_provenance(trend)),
        "",
        *printed(series_table(trend)),
    ]
    lines += ["", *printed(counters_table(trend))] if trend.metrics else []
    for change, said, details in changes(trend):
        lines += ["", f"- **{'▼' if change.is_slower else '▲'}** {escaped(said, MOST_SAID)}"]
        lines += [f"  - {escaped(line, MOST_SAID)}" for line in details]
    lines += [line for note in trend_notes(trend) for line in ("", paragraph(note, MOST_SAID))]
    return "\n".join(lines) + "\n"
