"""What changed between two runs: metrics by importance, flags, launches in pairs, source lines, then every metric."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import isclose

from ncu_assist.analysis.diff import Change
from ncu_assist.analysis.diff.flagging import by_importance, has_moved
from ncu_assist.analysis.diff.lines import LineChange, LineChanges, base_name, told_changes
from ncu_assist.ncu.catalogue.stalls import spoken
from ncu_assist.ncu.line_sums import LineCost
from ncu_assist.quantity import duration, quantity
from ncu_assist.render.diff_facts import DiffFacts
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.page import PageSection
from ncu_assist.render.html.source_heat import stall_term
from ncu_assist.render.html.source_pair import SourcePair
from ncu_assist.render.table import Cell, Column, Link, Table, Term
from ncu_assist.render.words.changes import (
    ABOUT_LAUNCHES,
    CHANGE_WORDS,
    KERNEL_LETTERS,
    NEUTRAL,
    PART,
    PairRow,
    change_table,
    change_term,
    change_word,
    flags_by_role,
    labels_of,
    moved_cell,
    only_in_lines,
    pair_table,
    role_words,
    rows_of,
    values_text,
)
from ncu_assist.render.words.launches import share_words
from ncu_assist.render.words.verdicts import names, of_launches
from ncu_assist.render.words.why import BARRIER, sampled_at, sampled_words, stall_words


def is_calm(facts: DiffFacts) -> bool:
    """Tell whether the time did not get worse: what got worse beside it is told, and is no alarm."""
    return facts.diff.verdict.way in ("faster", "same")


def changes_section(facts: DiffFacts, is_missing: bool) -> PageSection:
    """Return what moved, what did not, and what got worse; ``is_missing``: why nothing did, is said elsewhere."""
    diff, largest = facts.diff, largest_of(facts)
    ordered = by_importance(diff.changes, (diff.baseline.bottleneck, diff.candidate.bottleneck))
    moved = [one for one in ordered if has_moved(one)]
    rest = [one for one in ordered if not has_moved(one)]
    word = "did not change, or cannot be told" if facts.is_comparable else "stand side by side, no change between"
    caption = "Metrics that changed, the most important first"
    model = {
        "moved": change_table("changes-table", caption, moved, facts.names, largest),
        "rest": change_table("rest-table", f"Metrics that {word}", rest, facts.names, largest),
        "summary": f"{len(rest)} that {word}",
        "flags": [(heading, bad, list(map(one_line, told))) for heading, bad, told in flags_by_role(diff)],
        "note": _coverage_note(diff.changes),
        "is_missing": is_missing,
        "legend": " ".join((CHANGE_WORDS, *role_words(moved))),
        "calm": is_calm(facts),
        "beside": _beside_flags(facts),
    }
    title = "What changed" if facts.is_comparable else "Metrics of both sides"
    return PageSection("changes", title, model if moved or rest else None, "diff_changes.html.j2")


def _beside_flags(facts: DiffFacts) -> str:
    """Return what to make of the flags where the time did not get worse, and how many metrics more could be among."""
    if not is_calm(facts):
        return ""
    looked_at = {one.metric for one in facts.diff.changes}
    more = sum(one.verdict == "regressed" and one.metric not in looked_at for one in facts.every)
    said = "No reason to go back: the time did not get worse."
    return (
        f"{said} Of all metrics, below, {more} more {'is' if more == 1 else 'are'} marked regressed." if more else said
    )


def metrics_section(facts: DiffFacts) -> PageSection:
    """Return every metric that a side has, in as little as is enough, for there are thousands."""
    rows = tuple(map(_metric_row, facts.every))
    model = {"sides": facts.names, "rows": rows, "calm": is_calm(facts)} if rows else None
    return PageSection("metrics", "All metrics", model, "diff_metrics.html.j2")


def largest_of(facts: DiffFacts) -> str:
    """Return of what a largest value is; empty where each side has one launch."""
    sides = zip(facts.names, (facts.diff.baseline, facts.diff.candidate), strict=True)
    several = [name for name, side in sides if side.compared > 1]
    return f"the largest of the launches of {' and '.join(several)}" if several else ""


def _metric_row(change: Change) -> tuple[Cell, ...]:
    before, after = values_text(change)
    moved = moved_cell(change)
    text = moved.text if moved != Cell() else ""
    delta = None if change.verdict == "not-comparable" else change.delta
    return (
        Cell(term=change_term(change)),
        Cell(before, _sort_key(change.baseline)),
        Cell(after, _sort_key(change.candidate)),
        Cell(text, _sort_key(delta), tone=moved.tone),
        Cell(change_word(change) if change.verdict == "unchanged" or change.verdict not in NEUTRAL else ""),
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


MOST_CHANGES = 10  # of one pair


def launches_section(facts: DiffFacts) -> PageSection:
    """Return the pairs as a table, each with what changed in it, and what only one side launched.

    There is no model where one call stands against one call, or the runs are not comparable.
    """
    diff = facts.diff
    only = tuple(one_line(line, 2000) for line in only_in_lines(diff, names(diff)))
    single = len(diff.launches) == 1 and not only
    is_about = facts.is_comparable or diff.verdict.reason in ABOUT_LAUNCHES
    model = None
    if not single and (diff.launches or only) and is_about:
        rows = rows_of(diff.launches) if facts.is_comparable else []
        pairs = pair_table(rows, facts.names) if rows else None
        model = {"pairs": pairs, "details": _pair_changes(rows, facts.names), "only": only}
    return PageSection("launches", "Launches", model, "diff_launches.html.j2")


def _pair_changes(rows: list[PairRow], sides: tuple[str, str]) -> list[tuple[str, Table]]:
    """Return what changed in the pairs whose counters were compared, but for one that stands for the whole diff."""
    if len(rows) < 2:
        return []
    found = []
    for place, (row, title) in enumerate(zip(rows, labels_of(rows, KERNEL_LETTERS), strict=True)):
        changes = [one for one in by_importance(row[0].changes) if has_moved(one)][:MOST_CHANGES]
        if changes:
            found.append((title, change_table(f"launch-{place}", f"What changed in {title}", changes, sides)))
    return found


CODE_LETTERS = 300  # letters of a line: it wraps
TIME_TERM = Term("time", meaning="share of the warp samples at the line times the duration under ncu")
EXCESS_TERM = Term(
    "excess", meaning="sectors of global memory and wavefronts of shared memory beyond what was asked for"
)
WAITED_TERM = Term("waited for", meaning="the reason that most warps at the line were stalled for")


def line_tables(facts: DiffFacts, pair: SourcePair) -> dict[str, object] | None:
    """Return the lines that changed, those that are left, and why a side has none; None where they were not read.

    They link into the sources side by side.
    """
    diff, both = facts.diff, facts.names
    if diff.lines is None:
        return None
    said: dict[str, list[str]] = {}
    for name, note in zip(both, diff.lines.notes, strict=True):
        said.setdefault(note, []).append(name)
    notes = tuple(f"{' and '.join(dict.fromkeys(some))}: {one_line(note)}" for note, some in said.items() if note)
    tables = changed_table(diff.lines, both, pair), _left_table(diff.lines, both[1], pair)
    return {"tables": tables, "notes": () if pair.missing else notes}  # what is missing says it too


def changed_table(lines: LineChanges, both: tuple[str, str], pair: SourcePair) -> Table:
    """Return the lines whose cost changed, and those that a side did not read."""
    columns = (
        Column("line", order=""),
        Column(f"time, {both[0]}", "right", ""),
        Column(f"time, {both[1]}", "right", ""),
        *(Column(f"excess, {one}", "right", "", Term(f"excess, {one}", "", EXCESS_TERM.meaning)) for one in both),
        Column("", order=""),
    )
    rows = tuple(_line_row(one, pair) for one in told_changes(lines.changes))
    return Table("changed-lines", "Lines whose cost changed, what explains most first", columns, rows)


def line_link(change: LineChange, pair: SourcePair) -> Link:
    """Return the names of a line on both sides, with the place of its row in the source."""
    before, after = change.baseline, change.candidate
    href = pair.href(after.place, True) if after else ""
    if not href and before:
        href = pair.href(before.place, False)
    if not href and change.sampled:
        href = pair.href(change.sampled, after is not None)
    return Link(one_line(" → ".join(dict.fromkeys(map(_line_name, change.named)))), href)


def _line_row(change: LineChange, pair: SourcePair) -> tuple[Cell, ...]:
    before, after = change.baseline, change.candidate
    worse = change.direction > 0
    excess = _excess_text(before), _excess_text(after)
    link, text = line_link(change, pair), change.text
    if change.kind == "not-read":
        times = (_time_cell(one if one in change.named else None) for one in (before, after))
        unread = Cell(change.became)
        return _line_cell(link, text), *(unread if cell == Cell() else cell for cell in times), Cell(), Cell(), unread
    if change.sampled:
        text = f"{text or ''}  {BARRIER}, {', '.join(sampled_words(change))}".strip()
    elif change.became == "replaced" and before and after:
        text = f"{(before.text or '').strip()}  → {(after.text or '').strip()}"
    return (
        _line_cell(link, text),
        _time_cell(before, with_stall=True),
        _time_cell(after, with_stall=True),
        *(Cell() if excess == ("0", "0") else Cell(text) for text in excess),
        Cell(f"{'▲' if worse else '▼'} {change.became}", tone="bad" if worse else "good"),
    )


def _line_cell(link: Link, text: str | None) -> Cell:
    return Cell(link.text, link=link if link.href else None, note=one_line(text or "", CODE_LETTERS))


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
    excess, at = _excess_text(line), line.waits_at
    waited = stall_words(line.stall, line.text) if line.stall else ""
    if at is not line:
        waited = f"{BARRIER}, {sampled_at(line)}"
    href = pair.href(at.place, True) or pair.href(line.place, True)
    return (
        _line_cell(Link(one_line(_line_name(at)), href), at.text),
        _time_cell(line),
        Cell(share_words(line.share)),
        Cell() if excess == "0" else Cell(excess),
        _stall_cell(line.stall, waited) if line.stall else Cell(),
    )


def _stall_cell(stall: str, words: str) -> Cell:
    known = stall_term(stall)
    return Cell(words, term=replace(known, label=words) if known.meaning else None)


def _time_cell(line: LineCost | None, with_stall: bool = False) -> Cell:
    if line is None:
        return Cell()
    waited = one_line(spoken(line.stall)) if with_stall and line.stall and line.ns else ""
    return Cell("0" if isclose(line.ns, 0) else duration(line.ns), note=waited)


def _excess_text(line: LineCost | None) -> str:
    return quantity(line.excess, "") if line else "0"
