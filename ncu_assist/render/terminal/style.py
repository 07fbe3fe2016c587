"""How wide and how colourful text is, and from rich's renderables to a string."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise
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
    """Return the style of stdout: colours on a terminal that has them, 80 columns where it is none.

    A terminal has none for ``NO_COLOR`` and ``TERM=dumb``, as Emacs has it.
    """
    if not sys.stdout.isatty():
        return Style()
    columns = shutil.get_terminal_size().columns
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return Style(min(max(columns, NARROWEST), WIDEST), not is_plain)


def to_text(parts: Sequence[RenderableType], style: Style | None = None) -> str:
    """Return renderables below one another as a string without trailing blanks; None means the style of stdout."""
    from rich.console import Console

    style = style or detected()
    console = Console(
        file=StringIO(),
        width=style.width,
        force_terminal=style.color,
        force_jupyter=False,  # which would show each text by itself, and empty here
        color_system="standard" if style.color else None,
        no_color=not style.color,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    with console.capture() as captured:
        for part in parts:
            console.print(_fitted(part, style.width))
    return "\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n"


LONGEST_NAME = 24  # letters of a first column that leave room for the rest of a line
NARROWEST_COLUMN = 16  # letters of a column that breaks its lines: words, and no single letters
GAP = 2  # blanks between columns


def table(*columns: tuple[str, Align]) -> Table:
    """Return an empty table without a frame; the first column takes what the others leave."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for index, (heading, align) in enumerate(columns):
        made.add_column(heading, justify=align, no_wrap=index > 0)
    return made


def _fitted(part: RenderableType, width: int) -> RenderableType:
    """Return a table so that it fits in a width: its cells are broken into lines, and none loses a letter."""
    from rich.table import Table
    from rich.text import Text

    if not isinstance(part, Table) or not part.columns:
        return part
    headers = [str(column.header) for column in part.columns]
    cells = [[one if isinstance(one, Text) else Text(str(one)) for one in column.cells] for column in part.columns]
    may_wrap = [not column.no_wrap for column in part.columns]
    widths = fitting_widths(headers, [[one.plain for one in column] for column in cells], may_wrap, width)
    made = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style=part.header_style)
    for column, size in zip(part.columns, widths, strict=True):
        header = _broken(Text(str(column.header)), size)
        made.add_column(header, justify=column.justify, no_wrap=True, width=size, overflow="crop")
    for row in zip(*cells, strict=True):
        made.add_row(*(_broken(cell, size) for cell, size in zip(row, widths, strict=True)))
    return made


def fitting_widths(
    headers: Sequence[str], cells: Sequence[Sequence[str]], may_wrap: Sequence[bool], width: int, gap: int = GAP
) -> list[int]:
    """Return how wide each column is so that a table fits in ``width``: what may break gives way first.

    In this order: columns that break between words, titles, a long first column, and at last every column.
    """
    known = range(len(headers))
    widest = [max((_cells(line) for one in cells[place] for line in one.splitlines()), default=0) for place in known]
    widths = [max(widest[place], _cells(headers[place])) for place in known]
    words = [max(map(_cells, headers[place].split()), default=0) for place in known]
    stages = (
        [min(NARROWEST_COLUMN, widths[place]) if may_wrap[place] and place else widths[place] for place in known],
        [max(words[place], widest[place]) for place in known],
        [LONGEST_NAME if place == 0 else size for place, size in enumerate(widths)],
        [NARROWEST_COLUMN // 2 if may_wrap[place] else widths[place] for place in known],
        [NARROWEST_COLUMN // 2 for _ in known],
        [2 for _ in known],  # letters of Chinese take two
    )
    over = sum(widths) + gap * (len(widths) - 1) - width
    for least in stages:
        while over > 0:
            place = max(known, key=lambda one: (widths[one] > least[one], widths[one]))
            if widths[place] <= least[place]:
                break
            widths[place] -= 1
            over -= 1
    return widths


def is_torn(headers: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> bool:
    """Tell whether a table fits in ``width`` only with words broken: a column too narrow for what it holds."""
    held = [max(map(_cells, [head, *column])) for head, column in zip(headers, cells, strict=True)]
    widths = fitting_widths(headers, cells, [False] * len(headers), width)
    return any(size < min(NARROWEST_COLUMN, most) for size, most in zip(widths, held, strict=True))


def _cells(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _broken(text: Text, size: int) -> Text:
    """Return a cell with its lines broken to a width, each as a line of its own."""
    from rich.text import Text

    lines = (part for line in text.split("\n", allow_blank=True) for part in line.divide(_breaks(line.plain, size)))
    found = []
    for line in lines:
        line.rstrip()
        found.append(line)
    return Text("\n").join(found)


# A word with the blanks around it: a figure and its unit are one, as are a count and what it counts.
WORD = re.compile(r"\s*(?:\d+ × \S+|\S*\d [%nµmskMGTB]\S*|\S+)\s*|\s+")
PART = re.compile(r"[-_/:,.]*[^-_/:,.]+[-_/:,.]*|[-_/:,.]+")  # of a name that is longer than a line


def broken_lines(text: str, size: int) -> Iterator[str]:
    """Yield a text in lines of a width, without the blanks at their ends."""
    places = [0, *_breaks(text, size), len(text)]
    yield from (text[start:end].rstrip() for start, end in pairwise(places))


def _breaks(text: str, size: int) -> Iterator[int]:
    """Yield the places where a text is broken into lines of a width: between words, in a name at its joints."""
    start = end = 0
    for piece in _pieces(text, size):
        if end > start and _cells(text[start : end + len(piece)].rstrip()) > size:
            yield end
            start = end
        end += len(piece)


def _pieces(text: str, size: int) -> Iterator[str]:
    """Yield what a line is not broken in; of what is too long for one, ever smaller parts."""
    for word in WORD.findall(text):
        if _cells(word.rstrip()) <= size:
            yield word
            continue
        for part in PART.findall(word):
            yield from [part] if _cells(part.rstrip()) <= size else part


STYLES = {"good": "green", "bad": "red", "unsure": "yellow", "dim": "dim"}


def printed(made: Data) -> Table:
    """Return a table of data for a terminal: what is too wide for a line breaks where its column says that it may."""
    text = table(*((column.title, column.align) for column in made.columns))
    for column, shown in zip(made.columns, text.columns, strict=True):
        shown.no_wrap = not column.wraps
    for row in made.rows:
        text.add_row(*(styled(cell.words, _style(cell)) for cell in row))
    return text


def _style(cell: Cell) -> str:
    return STYLES.get(cell.badge.tone if cell.badge else cell.tone, "")


def styled(text: str, style: str = "") -> Text:
    """Return text that a style colours; rich is imported when there is something to show."""
    from rich.text import Text

    return Text(text, style)
