"""What changed between two runs as tables: the most important first with roles, flags, then every metric."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ncu_assist.analysis.diff import Change, Diff, flags_heading
from ncu_assist.analysis.diff.flagging import by_importance, has_moved
from ncu_assist.ncu.catalogue.combining import MAX
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.render.change_words import PART, change_word, delta_text, values_text
from ncu_assist.render.diff_facts import DiffFacts
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.badge import TONES, Badge
from ncu_assist.render.html.table import ABSENT, Cell, Column, Table
from ncu_assist.render.html.term import Term, term_of
from ncu_assist.render.words import of_launches

ROLES = {
    "explains": Badge("explains", "bad", "it got worse, and so did the time: it can be why"),
    "side-effect": Badge("side effect", "unsure", "it got worse, and the time did not: no reason to go back"),
}
NEUTRAL = ("unchanged", "missing", "not-comparable")
STALL = "stall_"


@dataclass(frozen=True)
class Flagged:
    """Metrics that got worse and what that means: a heading and a sentence for each."""

    heading: str
    messages: tuple[str, ...]
    explains: bool


@dataclass(frozen=True)
class Plain:
    """A row of the table of all metrics: as little as is enough, for there are thousands."""

    name: Term
    baseline: str
    candidate: str
    change: str
    word: str
    tone: str
    keys: tuple[str, str, str]  # by which the numbers sort


@dataclass(frozen=True)
class ChangesPart:
    """What moved, what did not (behind a fold), what got worse; ``every`` metric that a side has."""

    title: str
    moved: Table
    rest: Table
    summary: str  # of the rest
    flags: tuple[Flagged, ...]
    sides: tuple[str, str]
    every: tuple[Plain, ...]
    note: str


def changes_part(facts: DiffFacts) -> ChangesPart:
    """Return the changes of a diff."""
    diff = facts.diff
    ordered = by_importance(diff.changes, (diff.baseline.bottleneck, diff.candidate.bottleneck))
    moved = [one for one in ordered if has_moved(one)]
    rest = [one for one in ordered if not has_moved(one)]
    word = "did not change, or cannot be told" if facts.is_comparable else "stand side by side, no change between"
    return ChangesPart(
        "What changed" if facts.is_comparable else "Metrics of both sides",
        change_table(
            "changes-table", "Metrics that changed, the most important first", moved, facts.names, largest_of(facts)
        ),
        change_table("rest-table", f"Metrics that {word}", rest, facts.names, largest_of(facts)),
        f"{len(rest)} that {word}",
        tuple(_flags(diff)),
        facts.names,
        tuple(map(_plain, facts.every)),
        _parts(diff.changes),
    )


def largest_of(facts: DiffFacts) -> str:
    """Return of what a largest value is; empty where each side has one launch."""
    sides = zip(facts.names, (facts.diff.baseline, facts.diff.candidate), strict=True)
    several = [name for name, side in sides if side.compared > 1]
    return f"the largest of the launches of {' and '.join(several)}" if several else ""


def is_largest(metric: str) -> bool:
    """Tell whether several launches together have the largest value of them."""
    return metric in CATALOGUE and CATALOGUE[metric].combine == MAX


def change_table(
    name: str, caption: str, changes: Iterable[Change], sides: tuple[str, str], largest: str = ""
) -> Table:
    """Return metrics with both values, the change, whether it is one, its role; ``largest`` is of what a maximum is."""
    before, after = sides
    columns = (
        Column("metric"),
        Column(before, "right", "number"),
        Column(after, "right", "number"),
        Column("change", "right", "number"),
        Column("change is"),
        Column("role"),
        Column("strays by", "right", "", Term("strays by", meaning="how far one side alone may stray between runs")),
        Column("what it is", order=""),
    )
    return Table(name, caption, columns, tuple(_row(one, largest) for one in changes)).without_empty()


def change_term(change: Change) -> Term:
    """Return the name of a metric with what the catalogue says of it."""
    if change.is_raw:
        return Term(one_line(change.metric))
    known = term_of(change.metric.removeprefix(STALL))
    return Term(change.label, known.name, known.meaning)


def _row(change: Change, largest: str) -> tuple[Cell, ...]:
    before, after = values_text(change)
    moved = _moved(change)
    word = Badge(change.verdict, TONES.get(change.verdict, "plain"))
    return (
        Cell(change.label, term=change_term(change), note=largest if is_largest(change.metric) else ""),
        _value(before, change.baseline),
        _value(after, change.candidate),
        Cell(moved, _key(change.delta), tone=_tone(change)) if moved else Cell(),
        _word(change, word),
        Cell(badge=ROLES[change.role]) if change.role in ROLES else Cell(),
        _noise(change),
        Cell(change_term(change).meaning or ABSENT, tone="dim"),
    )


def _word(change: Change, badge: Badge) -> Cell:
    if change.verdict == "not-comparable":
        return Cell()
    return Cell(change_word(change), tone="dim") if change.verdict in NEUTRAL else Cell(change.verdict, badge=badge)


def _moved(change: Change) -> str:
    """Return how far a metric moved; nothing between runs that cannot be compared."""
    return "" if change.verdict == "not-comparable" else delta_text(change)


def _value(text: str, value: float | None) -> Cell:
    return Cell(text, _key(value))


def _key(value: float | None) -> str:
    return "" if value is None else repr(float(value))


def _tone(change: Change) -> str:
    return TONES[change.verdict] if change.verdict in ("improved", "regressed") else ""


def _noise(change: Change) -> Cell:
    if change.noise is None or change.delta is None:
        return Cell()
    if change.noise == 0:
        return Cell("exact", tone="dim")
    return Cell(f"±{change.noise:.1f} pt" if change.in_points else f"±{100 * change.noise:.1f} %", tone="dim")


def _flags(diff: Diff) -> Iterable[Flagged]:
    for role in dict.fromkeys(flag.role for flag in diff.flags):
        told = (one_line(flag.message.rpartition(": ")[0]) for flag in diff.flags if flag.role == role)
        yield Flagged(flags_heading(role, diff.verdict), tuple(told), role == "explains")


def _plain(change: Change) -> Plain:
    before, after = values_text(change)
    tone = _tone(change)
    word = "" if change.verdict in NEUTRAL else change.verdict
    delta = None if change.verdict == "not-comparable" else change.delta
    keys = _short(change.baseline), _short(change.candidate), _short(delta)
    return Plain(change_term(change), before, after, _moved(change), word, f"tone-{tone}" if tone else "", keys)


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _parts(changes: Iterable[Change]) -> str:
    """Return of how many launches the marked values are."""
    of = dict.fromkeys(
        of_launches(part)
        for change in changes
        for part in (change.baseline_coverage, change.candidate_coverage)
        if part
    )
    return f"{PART} is of {', '.join(of)}" if of else ""
