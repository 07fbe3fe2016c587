"""Estimated against achieved on a terminal: the faults that went away from one version to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.analysis.history import HistoryTable
from ncu_assist.analysis.predictions import predictions
from ncu_assist.render.escape import one_line
from ncu_assist.render.history_words import MOST_SAID
from ncu_assist.render.prediction_words import COLUMNS, HEADING, legend, rows, with_faults_gone
from ncu_assist.render.terminal.style import table

if TYPE_CHECKING:
    from rich.console import RenderableType

LONGEST_NAME = 24  # letters of a version that leave room for the rest of a line


def prediction_parts(shown: HistoryTable) -> list[RenderableType]:
    """Return the table with its legend, nothing where no fault went away. Raises DamagedData for changed findings."""
    from rich.text import Text

    steps = with_faults_gone(predictions(shown).values())
    if not steps:
        return []
    made = table((COLUMNS[0], "left"), (COLUMNS[1], "left"), (COLUMNS[2], "right"), (COLUMNS[3], "right"))
    made.columns[0].no_wrap = max(len(one_line(step.version)) for step in steps) <= LONGEST_NAME
    made.columns[1].no_wrap, made.columns[1].overflow = False, "fold"  # a fault is never cut, nor a figure beside it
    for step in steps:
        for row in rows(step):
            made.add_row(*(Text(one_line(text)) for text in row))
    said = [Text(one_line(line, MOST_SAID), style="dim") for line in legend(steps)]
    return [Text(""), Text(HEADING, style="bold"), made, Text(""), *said]
