"""GitHub's Markdown: text from outside made harmless, so that it mentions and links nobody; tables and folds."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from ncu_assist.analysis.upkeep import QueryResult
from ncu_assist.render.escape import one_line
from ncu_assist.render.table import Table

APART = "&#8203;"  # a space without width: what stands on both sides is no longer one mention or link
BY_NUMBER = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;"}  # a dollar would start a formula, also behind \
SPECIAL = str.maketrans({**BY_NUMBER, **{character: f"\\{character}" for character in "\\`*[]|~#"}})
UNDERSCORE = re.compile(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")  # within a word it is no emphasis, and stays readable
# In v7@20261121T0854 the @ mentions nobody and is no address, so a reference can be copied.
MENTION = re.compile(r"(?<![A-Za-z0-9])@(?=\w)|@(?=[\w-]+\.)|(?<!&)#(?=\w)|\bGH-(?=\d)", re.IGNORECASE)
LINK = re.compile(r":(?=//)|\bwww(?=\.)", re.IGNORECASE)
START_OF_BLOCK = re.compile(r"(?=[-+=])|\d+(?=[.)])")  # of what the rest can be, nothing is left: # and > are escaped


def escaped(text: str, limit: int = 200) -> str:
    """Return ``text`` on one line, cut after ``limit`` characters, fit for a cell of a table or the rest of a line.

    What would be Markdown, HTML, a formula, a mention (@name, #12) or a link is spelled so that it shows and does
    nothing; control characters are spelled out, as on a terminal.
    """
    return _unlinked(UNDERSCORE.sub(r"\\_", one_line(text, limit).translate(SPECIAL)))


def paragraph(text: str, limit: int = 200) -> str:
    """Return what ``escaped`` does, fit for the beginning of a line too: no list, heading or rule starts there."""
    line = escaped(text, limit)
    start = START_OF_BLOCK.match(line)
    return f"{start.group()}\\{line[start.end() :]}" if start else line


def code(text: str, limit: int = 500) -> str:
    """Return ``text`` as code within a line, where nothing means anything but the backtick that ends it."""
    return f"`{one_line(text, limit).replace('`', chr(39))}`"


def in_html(text: str, limit: int = 200) -> str:
    """Return ``text`` for between two tags on one line, where Markdown means nothing and HTML does."""
    return _unlinked(html.escape(one_line(text, limit)))


def _unlinked(line: str) -> str:
    return LINK.sub(lambda found: found.group() + APART, MENTION.sub(lambda found: found.group() + APART, line))


RULES = {"left": "---", "right": "--:"}


def table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table; ``columns`` are headings with ``left`` or ``right``, cells are escaped here."""
    head = [escaped(heading) for heading, _ in columns]
    body = ([escaped(cell) for cell in row] for row in rows)
    return [_line(head), _line([RULES[align] for _, align in columns]), *map(_line, body)]


def printed(made: Table) -> list[str]:
    """Return the lines of a table: GitHub's Markdown has no links in it, as a comment is read elsewhere."""
    columns = [(column.title, column.align) for column in made.columns]
    return table(columns, ([cell.words for cell in row] for row in made.rows))


def folded(summary: str, lines: Iterable[str]) -> list[str]:
    """Return lines behind a summary that opens on a click."""
    return ["<details>", f"<summary>{in_html(summary)}</summary>", "", *lines, "", "</details>"]


def query_markdown(found: QueryResult) -> str:
    """Return the rows of a query as a table."""
    numbers = [
        all(isinstance(row[place], int | float | None) for row in found.rows) for place in range(len(found.columns))
    ]
    columns = [(name, "right" if is_number else "left") for name, is_number in zip(found.columns, numbers, strict=True)]
    rows = [["-" if v is None else f"{v:.6g}" if isinstance(v, float) else str(v) for v in row] for row in found.rows]
    return "\n".join(table(columns, rows))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
