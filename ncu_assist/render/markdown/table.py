"""Tables in GitHub's Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ncu_assist.render.markdown.escape import escaped, in_html

RULES = {"left": "---", "right": "--:"}


def table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table; ``columns`` are headings with ``left`` or ``right``, cells are escaped here."""
    head = [escaped(heading) for heading, _ in columns]
    body = ([escaped(cell) for cell in row] for row in rows)
    return [_line(head), _line([RULES[align] for _, align in columns]), *map(_line, body)]


def folded(summary: str, lines: Iterable[str]) -> list[str]:
    """Return lines behind a summary that opens on a click."""
    return ["<details>", f"<summary>{in_html(summary)}</summary>", "", *lines, "", "</details>"]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
