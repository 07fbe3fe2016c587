"""The top of a diff page: the verdict, numbers of both sides that stand out, what it stands on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ncu_assist.analysis.diff import Diff
from ncu_assist.analysis.yardstick import COPY, measure_of
from ncu_assist.quantity import duration, quantity
from ncu_assist.record import Timing
from ncu_assist.render.diff_facts import DiffFacts, OnWorkload
from ncu_assist.render.escape import one_line
from ncu_assist.render.history_words import against
from ncu_assist.render.html.badge import Badge, verdict_badge, verdict_tone
from ncu_assist.render.html.table import Cell, Column, Table, number
from ncu_assist.render.html.term import Term, term_of
from ncu_assist.render.l2_words import copy_words
from ncu_assist.render.words import UNCUT, between, counted, names, next_command, origins, verdict_line
from ncu_assist.verdict import REASONS, clock_note

FAR = " → "


@dataclass(frozen=True)
class PairTile:
    """A number of both sides that stands out, with what it is: ``was`` of the baseline; ``note`` is a line below."""

    term: Term
    was: str
    text: str
    note: str = ""


@dataclass(frozen=True)
class VerdictPart:
    """The verdict: its sentence, numbers that stand out, what it stands on, what is to be known of it."""

    badge: Badge
    sentence: str
    tiles: tuple[PairTile, ...]
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    next: str
    counted: str  # on how many workloads it is what
    workloads: Table | None  # where there are several


def verdict_part(facts: DiffFacts) -> VerdictPart:
    """Return the verdict and all that it stands on."""
    diff = facts.diff
    none = diff.verdict.verdict == "not-comparable"
    return VerdictPart(
        Badge("not comparable", "unsure") if none else Badge(against(diff.verdict), verdict_tone(diff.verdict)),
        verdict_line(diff, UNCUT),
        tuple(_tiles(facts)) if facts.is_comparable else (),
        tuple(_facts(diff)),
        tuple(_notes(diff)),
        next_command(diff),
        counted(one.verdict for one in facts.workloads),
        _workloads(facts) if len(facts.workloads) > 1 else None,
    )


def _workloads(facts: DiffFacts) -> Table:
    """Return the verdict on each workload, that of the page among them."""
    before, after = facts.names
    columns = (
        Column("workload"),
        Column(before, "right", "number"),
        Column(after, "right", "number"),
        Column(f"{after} is", "left", "number"),
        Column("99 % interval", "right", ""),
    )
    rows = tuple(_on_workload(one, one.workload == facts.diff.workload) for one in facts.workloads)
    return Table("verdicts-table", "The verdict on every workload", columns, rows)


def _on_workload(one: OnWorkload, is_shown: bool) -> tuple[Cell, ...]:
    verdict, badge = one.verdict, verdict_badge(one.verdict)
    ends = (verdict.low, verdict.high) if verdict.low and verdict.high else None
    if ends and verdict.verdict == "slower":  # as the badge says it
        ends = (1 / ends[1], 1 / ends[0])
    return (
        Cell(one_line(one.workload), note="this page" if is_shown else ""),
        *(number(duration(ns), ns) for ns in one.medians_ns),
        Cell(badge.text, repr(verdict.speedup) if verdict.speedup else "", badge=badge) if badge else Cell(),
        Cell(between(*ends)) if ends else Cell(),
    )


def _tiles(facts: DiffFacts) -> Iterator[PairTile]:
    diff = facts.diff
    before, after = diff.baseline, diff.candidate
    if before.timing and after.timing:
        spread = f"middle half {_middle_half(before.timing)}{FAR}{_middle_half(after.timing)}"
        yield _tile(Term("Median time"), (before.timing.median_ns, after.timing.median_ns), "ns", spread)
    rows = [row for side in (facts.baseline, facts.candidate) if (row := side.row)]
    measure = measure_of(rows)
    reached = [row.share_of(measure) for row in rows]
    if len(rows) == 2 and None not in reached:
        both = tuple(100 * (one or 0.0) for one in reached)
        term = Term(measure.title.capitalize(), measure.formula, measure.meaning)
        kept = copy_words(rows[-1].in_l2) if measure is COPY else ""
        yield _tile(term, both, "%", f"{measure.what} is 100 %{f'; {kept}' if kept else ''}")
    if before.bottleneck and after.bottleneck:
        busy = f"{before.bottleneck.percent:.0f} %{FAR}{after.bottleneck.percent:.0f} % at the busiest unit"
        one, other = before.bottleneck.name, after.bottleneck.name
        yield PairTile(Term("Bound by"), "" if one == other else one, other, busy)
    if before.duration_ns is not None and after.duration_ns is not None:
        counts = [f"{side.launches} launch{'es' * (side.launches != 1)}" for side in (before, after)]
        note = counts[0] if counts[0] == counts[1] else FAR.join(counts)
        yield _tile(term_of("duration", "Under ncu"), (before.duration_ns, after.duration_ns), "ns", note)
    moved = facts.baseline.combined.values["dram_bytes"], facts.candidate.combined.values["dram_bytes"]
    if facts.has_counters and None not in moved:
        rates = [one.combined.values["dram_bandwidth"] for one in (facts.baseline, facts.candidate)]
        note = FAR.join(quantity(rate, "byte/s") for rate in rates if rate is not None) if None not in rates else ""
        yield _tile(term_of("dram_bytes", "DRAM traffic"), moved, "byte", note)


def _tile(term: Term, both: Sequence[float | None], unit: str, note: str) -> PairTile:
    was, now = (quantity(value or 0.0, unit) for value in both)
    return PairTile(term, was, now, note)


def _middle_half(timing: Timing) -> str:
    return f"{duration(timing.q1_ns).split()[0]} to {duration(timing.q3_ns)}"


def _facts(diff: Diff) -> list[tuple[str, str]]:
    verdict = diff.verdict
    found = [("stands on", REASONS[verdict.reason].meaning)]
    if verdict.samples:
        found.append(("samples", "{} of {}, {} of {}".format(*_of_both(verdict.samples, names(diff)))))
    return [*found, ("measured", origins(diff))]


def _of_both(counts: tuple[int, int], sides: tuple[str, str]) -> tuple[object, ...]:
    return counts[0], sides[0], counts[1], sides[1]


def _notes(diff: Diff) -> list[str]:
    """Return what is odd about the comparison or about one side; what both have in common is said once."""
    notes = [f"forced in spite of: {REASONS[diff.forced].meaning}"] if diff.forced else []
    notes += ["both sides are the same run"] if diff.is_one_run else []
    clocks = clock_note(diff.verdict)
    notes += [f"{clocks}: part of the difference may be theirs"] if clocks else []
    said: dict[str, list[str]] = {}
    for name, side in zip(names(diff), (diff.baseline, diff.candidate), strict=True):
        unknown = bool(side.launches) and not side.has_settings
        told = (*side.notes, *(("with which clocks and caches it was profiled is not known",) if unknown else ()))
        for note in dict.fromkeys(told):
            said.setdefault(one_line(note), []).append(name)
    return [*notes, *(f"{' and '.join(dict.fromkeys(sides))}: {note}" for note, sides in said.items())]
