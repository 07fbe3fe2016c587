"""The history of a kernel in Markdown: one table, and all workloads folded below it."""

from __future__ import annotations

from ncu_assist.analysis.history import History, HistoryCell, Sweep, VersionRow
from ncu_assist.analysis.predictions import predictions
from ncu_assist.analysis.yardstick import Yardstick
from ncu_assist.render.markdown.text import escaped, folded, paragraph, table
from ncu_assist.render.words.history import (
    ALL_WORKLOADS,
    MOST_SAID,
    PREDICTION_COLUMNS,
    PREDICTIONS_HEADING,
    SWEPT,
    UNDER_NCU,
    against,
    bound_by,
    in_l2_lines,
    notes,
    point_time,
    prediction_legend,
    prediction_rows,
    provenance,
    slower_on,
    sweep_title,
    time_of,
    title,
    with_faults_gone,
)
from ncu_assist.render.words.verdicts import factor


def history_markdown(history: History) -> str:
    """Return a history as Markdown that fits a comment. Raises DamagedData for counters that were changed."""
    lines = [f"### {escaped(title(history))}", "", *([paragraph(provenance(history)), ""] if history.newest else [])]
    lines += table(_columns(history), (_row(row, history) for row in history.rows))
    lines += ["", paragraph(history.yardstick.legend if history.shown is not None else UNDER_NCU)]
    lines += [line for said in in_l2_lines(history) for line in ("", paragraph(said, MOST_SAID))]
    if len(history.places) > 1:
        heading = f"Each version against its parent, on all {len(history.places)} workloads"
        lines += ["", paragraph(ALL_WORKLOADS), "", *folded(heading, _all_workloads(history))]
    for sweep in history.sweeps:
        lines += ["", paragraph(sweep_title(sweep)), "", *_along(sweep)]
    lines += ["", paragraph(SWEPT)] if history.sweeps else []
    lines += _predictions(history)
    told = [f"- {paragraph(note, MOST_SAID)}" for note in notes(history)]
    return "\n".join([*lines, *(["", *told] if told else [])]) + "\n"


def _predictions(history: History) -> list[str]:
    """Return what was promised of the faults that went away beside what was achieved; empty where none did."""
    steps = with_faults_gone(predictions(history).values())
    if not steps:
        return []
    columns = list(zip(PREDICTION_COLUMNS, ("left", "left", "right", "right"), strict=True))
    body = [list(row) for step in steps for row in prediction_rows(step)]
    return [
        "",
        paragraph(PREDICTIONS_HEADING),
        "",
        *table(columns, body),
        "",
        *(f"- {paragraph(line)}" for line in prediction_legend(steps)),
    ]


def _columns(history: History) -> list[tuple[str, str]]:
    columns = [("version", "left"), ("median" if history.shown is not None else "under ncu", "right")]
    columns += [("against its parent", "left"), (history.yardstick.title, "right"), ("bound by", "left")]
    overall = [("geomean", "right"), ("worst", "left"), ("slower on", "left")]
    return columns + (overall if len(history.places) > 1 else [])


def _row(row: VersionRow, history: History) -> list[str]:
    cell, worst = history.cell(row), row.worst
    share = cell.share_of(history.yardstick)
    texts = [row.version, time_of(row, cell), against(cell.verdict), f"{100 * share:.0f} %" if share else "-"]
    texts += [bound_by(cell)]
    if len(history.places) < 2:
        return texts
    where = f"{against(worst.verdict)} on {worst.workload}" if worst else "-"
    return [*texts, factor(row.geomean) if row.geomean else "-", where, slower_on(row)]


def _all_workloads(history: History) -> list[str]:
    """Return a table with a row a workload and a column a version."""
    columns = [("workload", "left"), *((row.version, "left") for row in history.rows)]
    rows = ([row.cells[place] for row in history.rows] for place in history.places)
    return table(columns, ([str(cells[0].workload), *map(_time_and_verdict, history.rows, cells)] for cells in rows))


def _along(sweep: Sweep) -> list[str]:
    """Return the time of one version by the value of one integer."""
    columns = [(sweep.axis, "right"), ("median", "right"), (sweep.yardstick.title, "right")]
    return table(
        columns, ([str(value), point_time(cell), _share(cell, sweep.yardstick)] for value, cell in sweep.points)
    )


def _share(cell: HistoryCell, measure: Yardstick) -> str:
    share = cell.share_of(measure)
    return f"{100 * share:.0f} %" if share else "-"


def _time_and_verdict(row: VersionRow, cell: HistoryCell) -> str:
    verdict = against(cell.verdict)
    return time_of(row, cell) if verdict == "-" else f"{time_of(row, cell)}, {verdict}"
