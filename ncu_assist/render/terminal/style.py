"""How wide and how colourful text is, and from rich's renderables to a string."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from ncu_assist.render.table import Align, Cell
    from ncu_assist.render.table import Table as Data

NARROWEST, WIDEST = 80, 120  # a result is laid out for 80 columns and gains nothing beyond 120


@dataclass(frozen=True)
class Style:
    """What the place that text goes to can show."""

    width: int = NARROWEST
    color: bool = False


def detected() -> Style:
    """Return the style of stdout: colours on a terminal unless NO_COLOR is set, 80 columns where it is none."""
    if not sys.stdout.isatty():
        return Style()
    columns = shutil.get_terminal_size().columns
    return Style(min(max(columns, NARROWEST), WIDEST), not os.environ.get("NO_COLOR"))


def to_text(parts: Sequence[RenderableType], style: Style | None) -> str:
    """Return renderables below one another as a string without trailing blanks; None means the style of stdout."""
    from rich.console import Console

    style = style or detected()
    console = Console(
        file=StringIO(),
        width=style.width,
        force_terminal=style.color,
        color_system="standard" if style.color else None,
        no_color=not style.color,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n"


def table(*columns: tuple[str, Align]) -> Table:
    """Return an empty table without a frame; the first column takes what the others leave."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for index, (heading, align) in enumerate(columns):
        made.add_column(heading, justify=align, no_wrap=index > 0, overflow="fold" if index == 0 else "ellipsis")
    return made


LONGEST_NAME = 24  # letters of a first column that leave room for the rest of a line
NARROWEST_COLUMN = 16  # letters of a column that breaks its lines: words, and no single letters
STYLES = {"good": "green", "bad": "red", "unsure": "yellow", "dim": "dim"}


def printed(made: Data) -> Table:
    """Return a table of data for a terminal: what is too wide for a line breaks where its column says that it may.

    The first column does so only where its names are very long.
    """
    text = table(*((column.title, column.align) for column in made.columns))
    for place, (column, shown) in enumerate(zip(made.columns, text.columns, strict=True)):
        widest = max((len(row[place].words) for row in made.rows), default=0)
        shown.no_wrap = widest <= LONGEST_NAME if place == 0 else not column.wraps
        shown.overflow = "fold" if column.wraps or place == 0 else "ellipsis"
        shown.min_width = min(widest, NARROWEST_COLUMN) if column.wraps else None
    for row in made.rows:
        text.add_row(*(styled(cell.words, _style(cell)) for cell in row))
    return text


def _style(cell: Cell) -> str:
    return STYLES.get(cell.badge.tone if cell.badge else cell.tone, "")


def styled(text: str, style: str = "") -> Text:
    """Return text that a style colours; rich is imported when there is something to show."""
    from rich.text import Text

    return Text(text, style)
