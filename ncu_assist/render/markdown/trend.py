"""A trend in Markdown: a table of series, and a list of changes."""

from __future__ import annotations

from ncu_assist.analysis.trend import Trend
from ncu_assist.render.markdown.text import escaped, paragraph, printed
from ncu_assist.render.words.history import MOST_SAID
from ncu_assist.render.words.trend import changes, counters_table, notes, provenance, series_table, title


def trend_markdown(trend: Trend) -> str:
    """Return a trend as Markdown that fits a comment."""
    lines = [f"### Trend: {escaped(title(trend))}", "", paragraph(provenance(trend)), "", *printed(series_table(trend))]
    lines += ["", *printed(counters_table(trend))] if trend.metrics else []
    for change, said, details in changes(trend):
        lines += ["", f"- **{'▼' if change.is_slower else '▲'}** {escaped(said, MOST_SAID)}"]
        lines += [f"  - {escaped(line, MOST_SAID)}" for line in details]
    lines += [line for note in notes(trend) for line in ("", paragraph(note, MOST_SAID))]
    return "\n".join(lines) + "\n"
