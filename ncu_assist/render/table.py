"""A table as data: columns, and cells that say what they link to, sort by and look like. Each output form prints it.

And where a page may link to: other pages of the archive that exist, places in itself, the web.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

if TYPE_CHECKING:
    from ncu_assist.analysis.records import ArchivedRun

Align = Literal["left", "right"]
Order = Literal["", "number", "text"]
Tone = Literal["good", "bad", "unsure", "same", "plain"]
ABSENT = "-"


@dataclass(frozen=True)
class Link:
    """A text that leads somewhere; an empty or unsafe ``href`` makes it text only."""

    text: str
    href: str = ""


@dataclass(frozen=True)
class Term:
    """A word with an explanation: ``name`` is ncu's full name or our formula, either may be empty."""

    label: str
    name: str = ""
    meaning: str = ""


@dataclass(frozen=True)
class Badge:
    """A few words with a tone; ``hint`` is said on hover and by screen readers."""

    text: str
    tone: Tone = "plain"
    hint: str = ""


@dataclass(frozen=True)
class Column:
    """A column: ``order`` is how a page sorts it, empty for not at all; a ``term`` replaces the title.

    ``wraps``: where a terminal is too narrow, this column breaks its lines.
    """

    title: str
    align: Align = "left"
    order: Order = "text"
    term: Term | None = None
    wraps: bool = False


@dataclass(frozen=True)
class Spark:
    """A small curve in a cell: points from 0 to 1 each way, the first at the left, 1 at the top; ``line`` is a height.

    ``said`` is what it shows, in words.
    """

    points: tuple[tuple[float, float], ...]
    said: str
    line: float | None = None


@dataclass(frozen=True)
class Cell:
    """A cell: text, or a link, badge, term or curve in its place; ``note`` is a second, dim line.

    ``key`` is what it sorts by, empty for its text; ``heat`` 0 to 8 colours it, ``tone`` as a badge's; ``bar`` is the
    length of a bar that a page draws beside it, of the full width.
    """

    text: str = ABSENT
    key: str = ""
    link: Link | None = None
    badge: Badge | None = None
    term: Term | None = None
    spark: Spark | None = None
    note: str = ""
    heat: int = 0
    tone: str = ""
    bar: float | None = None

    @property
    def words(self) -> str:
        """What it says on one line, without its link."""
        named = self.badge.text if self.badge else self.term.label if self.term else self.text
        return f"{named} {self.note}" if self.note else named


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

    def only(self, *titles: str) -> Table:
        """Return the table with the columns of these titles, in this order."""
        places = {column.title: i for i, column in enumerate(self.columns)}
        return self._with_columns([places[title] for title in titles if title in places])

    def without(self, *titles: str) -> Table:
        """Return the table without the columns of these titles."""
        return self._with_columns([i for i, column in enumerate(self.columns) if column.title not in titles])

    def without_empty(self) -> Table:
        """Return the table without the columns, but for the first, in which no row says anything."""
        every = range(len(self.columns))
        return self._with_columns([i for i in every if not i or any(_says(row[i]) for row in self.rows)])

    def _with_columns(self, kept: Sequence[int]) -> Table:
        rows = tuple(tuple(row[i] for i in kept) for row in self.rows)
        return replace(self, columns=tuple(self.columns[i] for i in kept), rows=rows)


def number(text: str, value: float, note: str = "") -> Cell:
    """Return the cell of a number, already written out, that sorts by its value; one that is absent is ``Cell()``."""
    return Cell(text, repr(float(value)), note=note)


def amount(value: float | None, words: Callable[[float], str]) -> Cell:
    """Return the cell of a number, written out by ``words``; absent for None."""
    return Cell() if value is None else number(words(value), value)


def percent(share: float | None) -> Cell:
    """Return the cell of a share in percent; absent for None."""
    return Cell() if share is None else number(f"{100 * share:.0f} %", share)


def _says(cell: Cell) -> bool:
    return cell.text != ABSENT or bool(cell.link or cell.badge or cell.term or cell.spark)


SCHEMES = ("http", "https")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_UNSAFE = re.compile(r"[^!-~]|[\\\"'<>`]")  # blanks and controls, which browsers drop, and what is never in a URL


def safe_href(url: str) -> str:
    """Return ``url`` if it is relative, a place in the page or of a known scheme, else an empty text: no link."""
    if not url or _UNSAFE.search(url) or url.startswith("//"):
        return ""
    scheme = _SCHEME.match(url)
    return url if scheme is None or scheme[1].lower() in SCHEMES else ""


def href_to(*parts: str | PurePath) -> str:
    """Return the relative link to a file, its names quoted: ``href_to("..", "v1 a", "report.html")``."""
    return quote(PurePath(*parts).as_posix(), errors="replace")


RUN_PAGE = "report.html"


@dataclass(frozen=True)
class RunLinks:
    """Links of a page in ``reports/<kernel>/``; ``pages`` are the files that exist, relative to there."""

    pages: frozenset[str]

    def to(self, *parts: str) -> str:
        """Return the link to a page, empty where it does not exist."""
        return href_to(*parts) if "/".join(parts) in self.pages else ""

    def of(self, stored: ArchivedRun) -> str:
        """Return the link to the page of a run."""
        return self.to(stored.run.version, stored.run.run_id, RUN_PAGE)

    def diff(self, before: str, version: str) -> str:
        """Return the link to the page that compares two versions."""
        return self.to(version, diff_name(before))


NO_LINKS = RunLinks(frozenset())


def diff_name(before: str) -> str:
    """Return the name of the page, in the folder of a version, that compares it with another one."""
    return f"diff-{before}.html"
