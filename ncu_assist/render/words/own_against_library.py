"""The fastest own version against the fastest library, in a sentence and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.table import Cell, Column, Table, Term, number
from ncu_assist.render.words.verdicts import factor
from ncu_assist.verdict.deciding import MARGIN
from ncu_assist.versions import short_name

if TYPE_CHECKING:
    from ncu_assist.analysis.yardstick import OwnAgainstLibrary

OWN_TERM = Term(
    "own / library",
    "median_ns of the library / median_ns of the own version",
    "how much faster the fastest own version is than the fastest library or framework, medians of one bench: "
    "2x is twice as fast",
)
COLUMNS = (
    Column("workload"),
    Column(OWN_TERM.label, "right", "number", OWN_TERM),
    Column("fastest own", order="number", wraps=True),
    Column("fastest library", order="number", wraps=True),
)


def library_sentence(one: OwnAgainstLibrary | None) -> str:
    """Return e.g. ``own / library: v9_wide 18.2 µs, v2_torch_cudnn 20.1 µs: 1.10x``; empty for None."""
    if one is None:
        return ""
    sides = ((one.own, one.own_ns), (one.library, one.library_ns))
    own, library = (f"{one_line(name)} {duration(ns)}" for name, ns in sides)
    ratio = factor(one.ratio) if one.ratio else "not timed in one bench"
    return f"{OWN_TERM.label}: {own}, {library}: {ratio}"


def library_table(every: Sequence[OwnAgainstLibrary]) -> Table:
    """Return a row a workload with the fastest own version, the fastest library, and their ratio."""
    rows = tuple(
        (
            Cell(one_line(one.workload)),
            ratio_cell(one),
            number(one_line(one.own), one.own_ns, duration(one.own_ns)),
            number(one_line(one.library), one.library_ns, duration(one.library_ns)),
        )
        for one in every
    )
    return Table("library-table", "The fastest own version against the fastest library", COLUMNS, rows)


def ratio_cell(one: OwnAgainstLibrary | None, note: bool = False) -> Cell:
    """Return the ratio of one, absent without it; ``note`` names the library below it."""
    if one is None or one.ratio is None:
        return Cell()
    tone = "good" if one.ratio > 1 + MARGIN else "bad" if one.ratio < 1 - MARGIN else ""
    beside = f"{one_line(short_name(one.own))} / {one_line(short_name(one.library))}" if note else ""
    return Cell(factor(one.ratio), repr(one.ratio), note=beside, tone=tone)
