"""Tables as data: columns that sort, cells that say what they sort by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ncu_assist.render.html.page import Link
from ncu_assist.render.html.terms import Badge, Term

Align = Literal["left", "right"]
Order = Literal["", "number", "text"]
ABSENT = "-"


@dataclass(frozen=True)
class Column:
    """A column: ``order`` is how it sorts, empty for not at all; a ``term`` replaces the title."""

    title: str
    align: Align = "left"
    order: Order = "text"
    term: Term | None = None


@dataclass(frozen=True)
class Cell:
    """A cell: text, or a link, badge or term in its place; ``note`` is a second, dim line.

    ``key`` is what it sorts by, empty for its text; ``heat`` 0 to 8 colours it, ``tone`` as a badge's.
    """

    text: str = ABSENT
    key: str = ""
    link: Link | None = None
    badge: Badge | None = None
    term: Term | None = None
    note: str = ""
    heat: int = 0
    tone: str = ""


@dataclass(frozen=True)
class Table:
    """A table with a caption, which also names its scroll container; ``id`` is unique in the page.

    The first cell of each row is its header. ``filterable`` puts a filter box above it, ``note`` a line below;
    a ``tall`` one scrolls in a box of its own, its headers staying in sight.
    """

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    filterable: bool = False
    note: str = ""
    tall: bool = False

    def without_empty(self) -> Table:
        """Return the table without the columns, but for the first, in which no row says anything."""
        kept = [i for i in range(len(self.columns)) if i == 0 or any(_says(row[i]) for row in self.rows)]
        rows = tuple(tuple(row[i] for i in kept) for row in self.rows)
        return replace(self, columns=tuple(self.columns[i] for i in kept), rows=rows)


def number(text: str, value: float, note: str = "") -> Cell:
    """Return the cell of a number, already written out, that sorts by its value; one that is absent is ``Cell()``."""
    return Cell(text, repr(float(value)), note=note)


def _says(cell: Cell) -> bool:
    return cell.text != ABSENT or bool(cell.link or cell.badge or cell.term)
