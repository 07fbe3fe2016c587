"""What changed between two runs: metrics by importance, flags, launches in pairs, source lines, then every metric."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isclose

from ncu_assist.analysis.diff import Change, Diff, flags_heading
from ncu_assist.analysis.diff.flagging import by_importance, has_moved
from ncu_assist.analysis.diff.lines import LineChange, LineChanges, LineCost, base_name
from ncu_assist.ncu.catalogue.combining import MAX
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.quantity import duration, quantity
from ncu_assist.render.diff_facts import DiffFacts
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.page import Link
from ncu_assist.render.html.source_pair import SourcePair
from ncu_assist.render.html.table import ABSENT, Cell, Column, Table
from ncu_assist.render.html.terms import TONES, Badge, Term, term_of
from ncu_assist.render.words.changes import (
    PAIRED_BY,
    PART,
    PairRow,
    change_of,
    change_word,
    delta_text,
    label_of,
    more_of,
    only_in,
    rows_of,
    times_of,
    values_text,
    word_of,
)
from ncu_assist.render.words.verdicts import names, of_launches

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
class MetricChangeRow:
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
    every: tuple[MetricChangeRow, ...]
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
        tuple(_flagged(diff)),
        facts.names,
        tuple(map(_metric_row, facts.every)),
        _coverage_note(diff.changes),
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
    return Table(name, caption, columns, tuple(_change_row(one, largest) for one in changes)).without_empty()


def change_term(change: Change) -> Term:
    """Return the name of a metric with what the catalogue says of it."""
    if change.is_raw:
        return Term(one_line(change.metric))
    known = term_of(change.metric.removeprefix(STALL))
    return Term(change.label, known.name, known.meaning)


def _change_row(change: Change, largest: str) -> tuple[Cell, ...]:
    before, after = values_text(change)
    moved = _moved_text(change)
    word = Badge(change.verdict, TONES.get(change.verdict, "plain"))
    return (
        Cell(change.label, term=change_term(change), note=largest if is_largest(change.metric) else ""),
        _value_cell(before, change.baseline),
        _value_cell(after, change.candidate),
        Cell(moved, _key(change.delta), tone=_tone(change)) if moved else Cell(),
        _word_cell(change, word),
        Cell(badge=ROLES[change.role]) if change.role in ROLES else Cell(),
        _noise_cell(change),
        Cell(change_term(change).meaning or ABSENT, tone="dim"),
    )


def _word_cell(change: Change, badge: Badge) -> Cell:
    if change.verdict == "not-comparable":
        return Cell()
    return Cell(change_word(change), tone="dim") if change.verdict in NEUTRAL else Cell(change.verdict, badge=badge)


def _moved_text(change: Change) -> str:
    """Return how far a metric moved; nothing between runs that cannot be compared."""
    return "" if change.verdict == "not-comparable" else delta_text(change)


def _value_cell(text: str, value: float | None) -> Cell:
    return Cell(text, _key(value))


def _key(value: float | None) -> str:
    return "" if value is None else repr(float(value))


def _tone(change: Change) -> str:
    return TONES[change.verdict] if change.verdict in ("improved", "regressed") else ""


def _noise_cell(change: Change) -> Cell:
    if change.noise is None or change.delta is None:
        return Cell()
    if change.noise == 0:
        return Cell("exact", tone="dim")
    return Cell(f"±{change.noise:.1f} pt" if change.in_points else f"±{100 * change.noise:.1f} %", tone="dim")


def _flagged(diff: Diff) -> Iterable[Flagged]:
    for role in dict.fromkeys(flag.role for flag in diff.flags):
        told = (one_line(flag.message.rpartition(": ")[0]) for flag in diff.flags if flag.role == role)
        yield Flagged(flags_heading(role, diff.verdict), tuple(told), role == "explains")


def _metric_row(change: Change) -> MetricChangeRow:
    before, after = values_text(change)
    tone = _tone(change)
    word = "" if change.verdict in NEUTRAL else change.verdict
    delta = None if change.verdict == "not-comparable" else change.delta
    keys = _sort_key(change.baseline), _sort_key(change.candidate), _sort_key(delta)
    return MetricChangeRow(
        change_term(change), before, after, _moved_text(change), word, f"tone-{tone}" if tone else "", keys
    )


def _sort_key(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _coverage_note(changes: Iterable[Change]) -> str:
    """Return of how many launches the marked values are."""
    of = dict.fromkeys(
        of_launches(part)
        for change in changes
        for part in (change.baseline_coverage, change.candidate_coverage)
        if part
    )
    return f"{PART} is of {', '.join(of)}" if of else ""


STRANGERS = ("other-kernel", "no-common-launch")
MOST_ROWS = 200  # of kernels and shapes; a program has thousands of launches of some dozens
KERNEL_LETTERS = 100  # letters of a kernel
MOST_CHANGES = 10  # of one pair
FILTER_FROM = 8  # rows from which a filter is of use
PAIRED_HOW = {
    "range": "they stand in the same NVTX range",
    "exact": "same name and shape",
    "name": "same function, other shape or template",
    "similar": "their names are close",
    "order": "only by their place: one kernel is left on each side",
}
PAIRED = Term("paired by", meaning="; ".join(f"{word}: {why}" for word, why in PAIRED_HOW.items()))


@dataclass(frozen=True)
class PairChanges:
    """What changed in one pair of launches."""

    title: str
    table: Table


@dataclass(frozen=True)
class LaunchesPart:
    """The pairs as a table, each with what changed in it, and what only one side launched."""

    pairs: Table | None
    details: tuple[PairChanges, ...]
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
    return LaunchesPart(_pair_table(rows, facts.names) if rows else None, tuple(_pair_changes(rows, facts.names)), only)


def _pair_table(rows: list[PairRow], sides: tuple[str, str]) -> Table:
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


def _pair_changes(rows: list[PairRow], sides: tuple[str, str]) -> list[PairChanges]:
    """Return what changed in the pairs whose counters were compared, but for one that stands for the whole diff."""
    if len(rows) < 2:
        return []
    found = []
    for place, row in enumerate(rows):
        changes = [one for one in by_importance(row[0].changes) if has_moved(one)][:MOST_CHANGES]
        if changes:
            title = label_of(row, KERNEL_LETTERS)
            found.append(
                PairChanges(title, change_table(f"launch-{place}", f"What changed in {title}", changes, sides))
            )
    return found


CODE_LETTERS = 300  # letters of a line: it wraps
LINE_WORDS = {"appeared": "new", "vanished": "gone", "moved": "", "not-read": "not read"}
TIME_TERM = Term("time", meaning="share of the warp samples at the line times the duration under ncu")
EXCESS_TERM = Term(
    "excess", meaning="sectors of global memory and wavefronts of shared memory beyond what was asked for"
)
WAITED_TERM = Term("waited for", meaning="the reason that most warps at the line were stalled for")


@dataclass(frozen=True)
class LinesPart:
    """The lines: what changed, what is left, and why a side has none."""

    changed: Table
    left: Table
    notes: tuple[str, ...]


def lines_part(facts: DiffFacts, pair: SourcePair) -> LinesPart | None:
    """Return the lines of a diff, with links into the sources side by side; None where they were not read."""
    diff, both = facts.diff, facts.names
    if diff.lines is None:
        return None
    said: dict[str, list[str]] = {}
    for name, note in zip(both, diff.lines.notes, strict=True):
        said.setdefault(note, []).append(name)
    notes = tuple(f"{' and '.join(dict.fromkeys(some))}: {one_line(note)}" for note, some in said.items() if note)
    notes = () if pair.missing else notes  # which says it too
    return LinesPart(changed_table(diff.lines, both, pair), _left_table(diff.lines, both[1], pair), notes)


def changed_table(lines: LineChanges, both: tuple[str, str], pair: SourcePair) -> Table:
    """Return the lines whose cost changed, and those that a side did not read."""
    columns = (
        Column("line", order=""),
        Column(f"time, {both[0]}", "right", ""),
        Column(both[1], "right", ""),
        Column(f"excess, {both[0]}", "right", "", Term(f"excess, {both[0]}", "", EXCESS_TERM.meaning)),
        Column(both[1], "right", ""),
        Column("", order=""),
    )
    rows = tuple(_line_row(one, pair) for one in lines.changes)
    return Table("changed-lines", "Lines whose cost changed, what explains most first", columns, rows)


def _line_row(change: LineChange, pair: SourcePair) -> tuple[Cell, ...]:
    before, after = change.baseline, change.candidate
    costly = [one for one in (before, after) if one and (one.ns or one.excess)]
    href = pair.href(after.place, True) if after else ""
    href = href or (pair.href(before.place, False) if before else "")
    worse = change.direction > 0
    excess = _excess_text(before), _excess_text(after)
    word = LINE_WORDS[change.kind] or ("more" if worse else "less")
    if change.kind == "not-read":
        times = _time_cell(before if before in costly else None), _time_cell(after if after in costly else None)
        name = _line_cell(_line_name(costly[0]), href, change.text)
        unread = Cell(LINE_WORDS[change.kind])
        return name, *(unread if cell == Cell() else cell for cell in times), Cell(), Cell(), unread
    return (
        _line_cell(" → ".join(dict.fromkeys(map(_line_name, costly))), href, change.text),
        _time_cell(before),
        _time_cell(after),
        *(Cell() if excess == ("0", "0") else Cell(text) for text in excess),
        Cell(f"{'▲' if worse else '▼'} {word}", tone="bad" if worse else "good"),
    )


def _line_cell(name: str, href: str, text: str | None) -> Cell:
    shown = one_line(name)
    return Cell(shown, link=Link(shown, href) if href else None, note=one_line(text or "", CODE_LETTERS))


def _line_name(line: LineCost) -> str:
    return f"{base_name(line.file)}:{line.line}"


def _left_table(lines: LineChanges, name: str, pair: SourcePair) -> Table:
    columns = (
        Column("line", order=""),
        Column(f"time, {name}", "right", "", Term(f"time, {name}", "", TIME_TERM.meaning)),
        Column("of all", "right", ""),
        Column("excess", "right", "", EXCESS_TERM),
        Column("waited for", order="", term=WAITED_TERM),
    )
    rows = tuple(_left_row(one, pair) for one in lines.left)
    return Table("left-lines", f"Where the time of {name} goes now", columns, rows)


def _left_row(line: LineCost, pair: SourcePair) -> tuple[Cell, ...]:
    excess = _excess_text(line)
    return (
        _line_cell(_line_name(line), pair.href(line.place, True), line.text),
        _time_cell(line),
        Cell(f"{100 * line.share:.0f} %"),
        Cell() if excess == "0" else Cell(excess),
        Cell(one_line((line.stall or "-").replace("_", " "))),
    )


def _time_cell(line: LineCost | None) -> Cell:
    return Cell() if line is None else Cell("0" if isclose(line.ns, 0) else duration(line.ns))


def _excess_text(line: LineCost | None) -> str:
    return quantity(line.excess, "") if line else "0"
