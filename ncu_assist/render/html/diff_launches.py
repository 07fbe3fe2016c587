"""The launches of both sides: which were paired and by what, how their times changed, what one side alone has."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.analysis.diff.flagging import by_importance, has_moved
from ncu_assist.quantity import duration
from ncu_assist.render.diff_facts import DiffFacts
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.badge import TONES, Badge
from ncu_assist.render.html.diff_changes import change_table
from ncu_assist.render.html.table import Cell, Column, Table
from ncu_assist.render.html.term import Term
from ncu_assist.render.launch_words import (
    PAIRED_BY,
    Row,
    change_of,
    label_of,
    more_of,
    only_in,
    rows_of,
    times_of,
    word_of,
)
from ncu_assist.render.words import names

STRANGERS = ("other-kernel", "no-common-launch")
MOST_ROWS = 200  # of kernels and shapes; a program has thousands of launches of some dozens
NAME = 100  # letters of a kernel
MOST_CHANGES = 10  # of one pair
MANY = 8  # rows from which a filter is of use
BY = {
    "range": "they stand in the same NVTX range",
    "exact": "same name and shape",
    "name": "same function, other shape or template",
    "similar": "their names are close",
    "order": "only by their place: one kernel is left on each side",
}
PAIRED = Term("paired by", meaning="; ".join(f"{word}: {why}" for word, why in BY.items()))


@dataclass(frozen=True)
class Detail:
    """What changed in one pair of launches."""

    title: str
    table: Table


@dataclass(frozen=True)
class LaunchesPart:
    """The pairs as a table, each with what changed in it, and what only one side launched."""

    pairs: Table | None
    details: tuple[Detail, ...]
    only: tuple[str, ...]


def launches_part(facts: DiffFacts) -> LaunchesPart | None:
    """Return the launches; None where one call stands against one call, or the runs are not comparable."""
    diff = facts.diff
    alone = zip(names(diff), (diff.only_baseline, diff.only_candidate), strict=True)
    only = tuple(one_line(only_in(name, launches), 2000) for name, launches in alone if launches)
    single = len(diff.launches) == 1 and not only
    comparable = facts.is_comparable
    if single or not (diff.launches or only) or not (comparable or diff.verdict.reason in STRANGERS):
        return None
    rows = rows_of(diff.launches) if comparable else []
    return LaunchesPart(_pairs(rows, facts.names) if rows else None, tuple(_details(rows, facts.names)), only)


def _pairs(rows: list[Row], sides: tuple[str, str]) -> Table:
    before, after = sides
    columns = (
        Column("launch"),
        Column(before, "right", "number"),
        Column(after, "right", "number"),
        Column("change", "right", "number"),
        Column("change is"),
        Column("paired by", term=PAIRED),
    )
    note = more_of(rows[MOST_ROWS:]) if rows[MOST_ROWS:] else ""
    made = tuple(map(_row, rows[:MOST_ROWS]))
    many = len(made) >= MANY
    return Table("launches-table", "Paired launches", columns, made, many, note, tall=many).without_empty()


def _row(row: Row) -> tuple[Cell, ...]:
    before, after = times_of(row)
    word = word_of(row)
    repeats = row[0].pair.repeats
    tone = TONES.get(word or "", "plain")
    moved = after / before - 1 if before and after is not None else None
    text = change_of(before, after)
    badge = Badge(word if repeats else f"likely {word}", tone if repeats else "plain") if word else None
    return (
        Cell(label_of(row, NAME)),
        *(Cell() if ns is None else Cell(duration(ns), repr(float(ns))) for ns in (before, after)),
        Cell(text, "" if moved is None else repr(moved)) if text else Cell(),
        Cell(badge=badge) if badge else Cell(),
        Cell(PAIRED_BY[row[0].pair.confidence]),
    )


def _details(rows: list[Row], sides: tuple[str, str]) -> list[Detail]:
    """Return what changed in the pairs whose counters were compared, but for one that stands for the whole diff."""
    if len(rows) < 2:
        return []
    found = []
    for place, row in enumerate(rows):
        changes = [one for one in by_importance(row[0].changes) if has_moved(one)][:MOST_CHANGES]
        if changes:
            title = label_of(row, NAME)
            found.append(Detail(title, change_table(f"launch-{place}", f"What changed in {title}", changes, sides)))
    return found
