"""The tables of a diff, as data: metrics with both values and what became of them, launches in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ncu_assist.analysis.diff.noise import BEYOND, WITHIN
from ncu_assist.ncu.catalogue.metric import MAX
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.quantity import duration
from ncu_assist.render.escape import one_line
from ncu_assist.render.table import ABSENT, Badge, Cell, Column, Table, Term
from ncu_assist.render.words.changes import (
    PAIRED_BY,
    PairRow,
    change_of,
    change_word,
    delta_text,
    label_of,
    more_of,
    times_of,
    values_text,
    word_of,
)
from ncu_assist.render.words.terms import TONES, term_of

if TYPE_CHECKING:
    from ncu_assist.analysis.diff import Change

ROLES = {
    "explains": Badge("explains", "bad", "it got worse, and so did the time: it can be why"),
    "limit": Badge("limits it now", "unsure", "what most warps wait for now, and more than before: where to go on"),
    "side-effect": Badge("side effect", "unsure", "it got worse, and the time did not: no reason to go back"),
}
NOISE = Term(
    "noise",
    meaning=f"a difference within it may be none: {BEYOND:.0f} times how far one side strays between runs, "
    f"{WITHIN:.0f} times of what is counted; undecided is what lies in the outer half of it",
)
NEUTRAL = ("unchanged", "missing", "not-comparable")
STALL = "stall_"
CHANGE, SCORED = "change", "change, z@n"  # with the standard score over repeats, as ncu writes it


def is_largest(metric: str) -> bool:
    """Tell whether several launches together have the largest value of them."""
    return metric in CATALOGUE and CATALOGUE[metric].combine == MAX


def change_table(id: str, caption: str, changes: Sequence[Change], sides: tuple[str, str], largest: str = "") -> Table:
    """Return metrics with both values, the change, whether it is one, its role; ``largest`` is of what a maximum is."""
    before, after = sides
    has_scores = any(change.z is not None for change in changes)
    columns = (
        Column("metric", wraps=True),
        Column("change is"),
        Column(SCORED if has_scores else CHANGE, "right", "number"),
        Column(before, "right", "number"),
        Column(after, "right", "number"),
        Column("role"),
        Column("noise", "right", "", NOISE),
        Column("what it is", order=""),
    )
    return Table(id, caption, columns, tuple(_change_row(one, largest) for one in changes)).without_empty()


def short_change_table(changes: Sequence[Change], sides: tuple[str, str], heading: str = "metric") -> Table:
    """Return what ``change_table`` does, without the columns that no line of text has room for."""
    short = change_table("changes-table", heading, changes, sides).only("metric", *sides, CHANGE, SCORED, "change is")
    first, *others = short.columns
    return replace(short, columns=(replace(first, title=heading), *others))


def change_term(change: Change) -> Term:
    """Return the name of a metric with what the catalogue says of it."""
    if change.is_raw:
        return Term(one_line(change.metric))
    known = term_of(change.metric.removeprefix(STALL))
    return Term(change.label, known.name, known.meaning)


def _change_row(change: Change, largest: str) -> tuple[Cell, ...]:
    before, after = values_text(change)
    return (
        Cell(change.label, term=change_term(change), note=largest if is_largest(change.metric) else ""),
        _word_cell(change),
        moved_cell(change),
        Cell(before, _key(change.baseline)),
        Cell(after, _key(change.candidate)),
        Cell(badge=ROLES[change.role]) if change.role in ROLES else Cell(),
        _noise_cell(change),
        Cell(change_term(change).meaning or ABSENT, tone="dim"),
    )


def moved_cell(change: Change) -> Cell:
    """Return how far a metric moved; nothing between runs that cannot be compared."""
    text = "" if change.verdict == "not-comparable" else delta_text(change)
    tone = TONES[change.verdict] if change.verdict in ("improved", "regressed") else ""
    return Cell(text, _key(change.delta), tone=tone) if text else Cell()


def _word_cell(change: Change) -> Cell:
    if change.verdict == "not-comparable":
        return Cell()
    if change.verdict in NEUTRAL:
        return Cell(change_word(change), tone="dim")
    return Cell(change.verdict, badge=Badge(change.verdict, TONES.get(change.verdict, "plain")))


def _key(value: float | None) -> str:
    return "" if value is None else repr(float(value))


def _noise_cell(change: Change) -> Cell:
    """Return the band that every change is beyond, and that all else is within."""
    if change.beyond is None or change.delta is None:
        return Cell()
    if change.beyond == 0:
        return Cell("exact", tone="dim")
    unit, amount = ("pt", change.beyond) if change.in_points else ("%", 100 * change.beyond)
    is_settled_by_time = change.verdict == "undecided" and abs(change.delta) > change.beyond
    note = "undecided, as the times are" if is_settled_by_time else ""
    return Cell(f"±{amount:.1f} {unit}" if amount >= LEAST_NOISE else f"±<{LEAST_NOISE} {unit}", tone="dim", note=note)


LEAST_NOISE = 0.1  # what would print as 0.0
MOST_ROWS = 200  # of kernels and shapes; a program has thousands of launches of some dozens
KERNEL_LETTERS = 100  # letters of a kernel
FILTER_FROM = 8  # rows from which a filter is of use
PAIRED_HOW = {
    "range": "they stand in the same NVTX range",
    "exact": "same name and shape",
    "name": "same function, other shape or template",
    "similar": "their names are close",
    "order": "only by their place: one kernel is left on each side",
}
PAIRED = Term("paired by", meaning="; ".join(f"{word}: {why}" for word, why in PAIRED_HOW.items()))


def pair_table(rows: list[PairRow], sides: tuple[str, str]) -> Table:
    """Return the pairs of launches, the largest change of time first, those of one kernel in one shape in one row."""
    before, after = sides
    columns = (
        Column("launch"),
        Column(before, "right", "number"),
        Column(after, "right", "number"),
        Column(CHANGE, "right", "number"),
        Column("change is"),
        Column("paired by", term=PAIRED),
    )
    note = more_of(rows[MOST_ROWS:]) if rows[MOST_ROWS:] else ""
    made = tuple(map(_pair_row, rows[:MOST_ROWS]))
    many = len(made) >= FILTER_FROM
    return Table("launches-table", "Paired launches", columns, made, many, note, tall=many).without_empty()


def _pair_row(row: PairRow) -> tuple[Cell, ...]:
    before, after = times_of(row)
    word = word_of(row)
    repeats = row[0].pair.repeats
    tone = TONES.get(word or "", "plain")
    moved = after / before - 1 if before and after is not None else None
    text = change_of(before, after)
    badge = Badge(word if repeats else f"likely {word}", tone if repeats else "plain") if word else None
    return (
        Cell(label_of(row, KERNEL_LETTERS)),
        *(Cell() if ns is None else Cell(duration(ns), repr(float(ns))) for ns in (before, after)),
        Cell(text, "" if moved is None else repr(moved)) if text else Cell(),
        Cell(badge=badge) if badge else Cell(),
        Cell(PAIRED_BY[row[0].pair.confidence]),
    )
