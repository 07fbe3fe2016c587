"""A trend on a terminal: a row a series, then each change with what changed there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.style import Style, printed, to_text
from ncu_assist.render.words.history import MOST_SAID
from ncu_assist.render.words.trend import changes, counters_table, notes, provenance, series_table, title

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ncu_assist.analysis.trend import Trend


def trend_text(trend: Trend, style: Style | None = None) -> str:
    """Return a trend as text, the newest change first."""
    from rich.text import Text

    parts: list[RenderableType] = [
        Text(one_line(title(trend)), style="bold"),
        Text(one_line(provenance(trend)), style="dim"),
        Text(""),
        printed(series_table(trend)),
    ]
    if trend.metrics:
        parts += [Text(""), printed(counters_table(trend))]
    for change, said, details in changes(trend):
        sign, color = ("▼", "red") if change.is_slower else ("▲", "green")
        parts += [Text(""), Text(f"{sign} {one_line(said, MOST_SAID)}", style=color)]
        parts += [Text(one_line(line, MOST_SAID)) for line in details]
    told = list(notes(trend))
    parts += [Text("")] if told else []
    parts += [Text(one_line(line, MOST_SAID), style="dim") for line in told]
    return to_text(parts, style)
