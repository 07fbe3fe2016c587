"""Why the time of a diff changed: what binds, the lines that say it, the product on each resource."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ncu_assist.analysis.diff import Diff
from ncu_assist.analysis.diff.why import Factor, Factors, Why
from ncu_assist.quantity import quantity
from ncu_assist.render.diff_facts import DiffFacts
from ncu_assist.render.html.table import Cell, Column, Table, number
from ncu_assist.render.why_words import why_lines
from ncu_assist.render.words import factor, names

WIDTH = 400  # of a line of why: it wraps
NEUTRAL = 0.005  # a factor nearer to 1 is no gain and no loss


@dataclass(frozen=True)
class Piece:
    """A piece of a line: words, or code between backticks."""

    text: str
    is_code: bool = False


@dataclass(frozen=True)
class WhyPart:
    """Why the time changed: the first line says what binds, then the others, then the product on each resource."""

    title: str
    first: str
    lines: tuple[tuple[Piece, ...], ...]
    products: tuple[Table, ...]
    note: str


def why_part(facts: DiffFacts) -> WhyPart:
    """Return why the time changed; of runs that cannot be compared only what binds each."""
    diff, why = facts.diff, facts.diff.why
    if not facts.is_comparable:
        return WhyPart("What binds each", "", tuple((Piece(line),) for line in _bounds(diff)), (), "")
    lines = replace(diff.lines, notes=("", "")) if diff.lines else None  # notes stand beside the source
    told = why_lines(why, lines, names(diff), WIDTH)
    first = told.pop(0) if why is not None and told else ""
    products = tuple(_product(one, why, facts.names, place) for place, one in enumerate(why.factors)) if why else ()
    note = "The factors of a table multiply to the change of the time under ncu." if products else ""
    if len(products) > 1:
        note += " Each table is of the whole change: resources work at the same time."
    return WhyPart("Why", first, tuple(map(_pieces, told)), products, note)


def _bounds(diff: Diff) -> list[str]:
    sides = zip(names(diff), (diff.baseline.bottleneck, diff.candidate.bottleneck), strict=True)
    return [f"{name} is bound by {bound.name} ({bound.percent:.0f} %)" for name, bound in sides if bound]


def _pieces(line: str) -> tuple[Piece, ...]:
    """Return a line whose source text stands between backticks as words and code."""
    start, first, rest = line.partition("`")
    code, last, end = rest.rpartition("`")
    if not first or not last:
        return (Piece(line),)
    return Piece(start), Piece(code, True), Piece(end)


def _product(made: Factors, why: Why, sides: tuple[str, str], place: int) -> Table:
    """Return the factors of the time on a resource, which multiply to the whole change under ncu."""
    before, after = sides
    columns = (
        Column(f"on {made.resource}", order=""),
        Column(before, "right", ""),
        Column(after, "right", ""),
        Column("makes it", "right", ""),
    )
    each = " a launch" if made.of("launches") else ""
    rows = [_factor(part, each if part.kind == "work" else "") for part in made.parts]
    whole = (Cell("together, under ncu"), Cell(""), Cell(""), _gain(why.time_ratio))
    return Table(f"product-{place}", f"The change of time as a product on {made.resource}", columns, (*rows, whole))


def _factor(part: Factor, each: str) -> tuple[Cell, ...]:
    ends = (_amount(value, part.unit) for value in (part.baseline, part.candidate))
    return (Cell(f"{part.label}{each}"), *(Cell(text) for text in ends), _gain(part.gain))


def _amount(value: float, unit: str) -> str:
    amount, per, _ = unit.partition("/cycle")
    return quantity(value, "" if amount in ("1", "cycle") else amount) + (" a cycle" if per else "")


def _gain(gain: float) -> Cell:
    if abs(gain - 1) < NEUTRAL:
        return number("= 1.00x", gain)
    word, tone = ("faster", "good") if gain > 1 else ("slower", "bad")
    cell = number(f"{'▲' if gain > 1 else '▼'} {factor(max(gain, 1 / gain))} {word}", gain)
    return Cell(cell.text, cell.key, tone=tone)
