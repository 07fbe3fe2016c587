"""The history of a kernel on a terminal: times on one workload, the worst case over all, estimated against achieved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.analysis.history import History, HistoryCell, Sweep, VersionRow
from ncu_assist.analysis.predictions import predictions
from ncu_assist.analysis.yardstick import Yardstick
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.run import percent
from ncu_assist.render.terminal.style import Align, Style, styled, table, to_text
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
    to_settle,
    with_faults_gone,
)
from ncu_assist.render.words.verdicts import factor

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text


def prediction_parts(history: History) -> list[RenderableType]:
    """Return the table with its legend, nothing where no fault went away. Raises DamagedData for changed findings."""
    from rich.text import Text

    steps = with_faults_gone(predictions(history).values())
    if not steps:
        return []
    made = table(
        (PREDICTION_COLUMNS[0], "left"),
        (PREDICTION_COLUMNS[1], "left"),
        (PREDICTION_COLUMNS[2], "right"),
        (PREDICTION_COLUMNS[3], "right"),
    )
    made.columns[0].no_wrap = max(len(one_line(step.version)) for step in steps) <= LONGEST_NAME
    made.columns[1].no_wrap, made.columns[1].overflow = False, "fold"  # a fault is never cut, nor a figure beside it
    for step in steps:
        for row in prediction_rows(step):
            made.add_row(*(Text(one_line(text)) for text in row))
    said = [Text(one_line(line, MOST_SAID), style="dim") for line in prediction_legend(steps)]
    return [Text(""), Text(PREDICTIONS_HEADING, style="bold"), made, Text(""), *said]


COLORS = {"faster": "green", "slower": "bold red", "unclear": "yellow", "not-comparable": "yellow"}
LONGEST_NAME = 24  # letters of a version that leave room for the rest of a line
HeadingAlign = tuple[str, Align]


def history_text(history: History, style: Style | None = None) -> str:
    """Return a history as text. Raises DamagedData for counters that were changed."""
    from rich.text import Text

    parts: list[RenderableType] = [Text(one_line(title(history)), style="bold")]
    parts += [Text(provenance(history), style="dim")] if history.newest else []
    parts += [Text(""), _time_table(history)]
    parts += [Text(""), *_over_all(history)] if len(history.places) > 1 else []
    for sweep in history.sweeps:
        parts += [Text(""), Text(one_line(sweep_title(sweep)), style="bold"), _sweep_table(sweep)]
    parts += [Text(line, style="dim") for line in ("", *_legend(history))]
    parts += prediction_parts(history)
    told = [one_line(note, MOST_SAID) for note in notes(history)]
    parts += [Text(line) for line in ("", *told)] if told else []
    settle = to_settle(history)
    parts += [Text(one_line(line, MOST_SAID)) for line in ("", *settle.splitlines())] if settle else []
    return to_text(parts, style)


def _time_table(history: History) -> Table:
    """Return the table of the workload shown; columns that nobody filled are left out."""
    cells = [(row, history.cell(row)) for row in history.rows]
    first: HeadingAlign = ("median" if history.shown else "under ncu", "right")
    columns: tuple[HeadingAlign, ...] = (
        first,
        ("vs parent", "left"),
        (history.yardstick.title, "right"),
        ("bound by", "left"),
    )
    measure = history.yardstick
    rows = [(_time(*pair), _against(pair[1]), _share(pair[1], measure), styled(bound_by(pair[1]))) for pair in cells]
    kept = [i for i in range(len(columns)) if i == 0 or any(row[i].plain != "-" for row in rows)]
    made = _table(history, *(columns[i] for i in kept))
    for (row, _), texts in zip(cells, rows, strict=True):
        made.add_row(styled(one_line(row.version)), *(texts[i] for i in kept))
    return made


def _over_all(history: History) -> list[RenderableType]:
    made = _table(history, ("geomean", "right"), ("worst", "left"), ("on", "left"), ("slower on", "left"))
    made.columns[3].no_wrap, made.columns[3].overflow = False, "fold"  # names of workloads may be long, too
    for row in history.rows:
        worst = row.worst
        made.add_row(
            styled(one_line(row.version)),
            styled(factor(row.geomean) if row.geomean else "-", "bold red" if row.slower else ""),
            _against(worst) if worst else styled("-"),
            styled(one_line(worst.workload or "") if worst else ""),
            styled(one_line(slower_on(row)), "bold red" if row.slower else ""),
        )
    return [styled(f"all {len(history.places)} workloads, each version against its parent", "bold"), made]


def _sweep_table(sweep: Sweep) -> Table:
    """Return the table of a sweep: the time of one version by the value of one integer."""
    made = table((one_line(sweep.axis), "right"), ("median", "right"), (sweep.yardstick.title, "right"))
    for value, cell in sweep.points:
        made.add_row(
            str(value), styled(point_time(cell), "bold red" if cell.failed else ""), _share(cell, sweep.yardstick)
        )
    return made


def _table(history: History, *columns: HeadingAlign) -> Table:
    """Return a table of versions. The last column wraps before the names do, unless those are very long."""
    made = table(("version", "left"), *columns)
    made.columns[0].no_wrap = max((len(one_line(row.version)) for row in history.rows), default=0) <= LONGEST_NAME
    made.columns[-1].no_wrap, made.columns[-1].overflow = False, "fold"
    return made


def _legend(history: History) -> list[str]:
    lines = [history.yardstick.legend] if any(history.cell(row).share for row in history.rows) else []
    lines += [one_line(line, MOST_SAID) for line in in_l2_lines(history)]
    lines += [UNDER_NCU] if history.shown is None else []
    lines += [SWEPT] if history.sweeps else []
    return [*lines, *([ALL_WORKLOADS] if len(history.places) > 1 else [])]


def _time(row: VersionRow, cell: HistoryCell) -> Text:
    return styled(time_of(row, cell), "bold red" if cell.failed else "")


def _against(cell: HistoryCell) -> Text:
    verdict, said = cell.verdict, against(cell.verdict)
    if verdict is not None and verdict.by_clock:
        return styled(said.replace(" at a ", "\n  at a "))  # of 80 columns it gets a third
    return styled(said, COLORS.get(verdict.verdict, "") if verdict else "")


def _share(cell: HistoryCell, measure: Yardstick) -> Text:
    return styled(percent(cell.share_of(measure)))
