"""The top of a diff page: the verdict and what it stands on, why the time changed, and both sides by their facts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath

from ncu_assist.analysis.diff import Diff, DiffSide
from ncu_assist.analysis.diff.lines import Place as LinePlace
from ncu_assist.analysis.diff.lines import answering_lines, base_name
from ncu_assist.analysis.diff.why import Factor, Factors, Why
from ncu_assist.analysis.faults_gone import mended_between
from ncu_assist.analysis.run_view import RunView
from ncu_assist.analysis.yardstick import COPY, measure_of
from ncu_assist.ncu.catalogue.rows import OVER_LAUNCHES
from ncu_assist.ncu.catalogue.stalls import spoken
from ncu_assist.ncu.line_sums import LineCost
from ncu_assist.quantity import duration, number_of, quantity
from ncu_assist.record import Run, Timing
from ncu_assist.render.diff_facts import DiffFacts
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.answer import CLAUSES, CODE_LETTERS, COUNTED, AnswerRow
from ncu_assist.render.html.charts import Fact
from ncu_assist.render.html.diff_changes import line_link
from ncu_assist.render.html.page import PageSection
from ncu_assist.render.html.source_pair import SourcePair
from ncu_assist.render.html.timing_chart import middle_half
from ncu_assist.render.markdown import diff_markdown
from ncu_assist.render.table import ABSENT, Badge, Cell, Column, Link, Table, Term, number
from ncu_assist.render.words.changes import counter_note, difference_lines, values_text
from ncu_assist.render.words.floors import copy_words, workload_words
from ncu_assist.render.words.terms import against, term_of, verdict_cell, verdict_tone
from ncu_assist.render.words.verdicts import (
    UNCUT,
    clock_words,
    counted,
    factor,
    interval_words,
    names,
    next_words,
    origins,
    outlier_words,
    part_words,
    verdict_line,
)
from ncu_assist.render.words.why import (
    bound_lines,
    bound_words,
    change_facts,
    left_facts,
    left_word,
    limit_words,
    resource_lines,
)
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.places import Place as RulePlace
from ncu_assist.verdict import REASONS, Verdict

ARROW = " → "


def verdict_section(facts: DiffFacts, pair: SourcePair | None = None) -> PageSection:
    """Return the verdict: its sentence, numbers that stand out, what it stands on, what is to be known of it."""
    diff = facts.diff
    none = diff.verdict.verdict == "not-comparable"
    model = {
        "answer": tuple(_answer(facts, pair or SourcePair())),
        "markdown": diff_markdown(diff),
        "badge": Badge("not comparable", "unsure")
        if none
        else Badge(against(diff.verdict), verdict_tone(diff.verdict)),
        "sentence": verdict_line(diff, UNCUT),
        "tiles": tuple(_tiles(facts)) if facts.is_comparable else (),
        "facts": _grounds(diff),
        "notes": _notes(diff),
        "next": next_words(diff),
        "counted": counted(
            {one_line(name): verdict for name, _, verdict in facts.workloads}
        ),  # on how many workloads it is what
        "workloads": len(facts.workloads),
    }
    return PageSection("verdict", "Verdict", model, "diff_verdict.html.j2")


def _answer(facts: DiffFacts, pair: SourcePair) -> Iterator[AnswerRow]:
    """Yield what is compared on what, and why the time changed: the first words of the sections below."""
    diff = facts.diff
    before, after = names(diff)
    where = f", {one_line(diff.workload)}" if diff.workload else ""
    gpu = facts.candidate.run.device
    yield AnswerRow("What", f"{after} against {before}{where}{f'; {one_line(gpu.name)}' if gpu else ''}")
    for place, line in enumerate(difference_lines(diff)):
        yield AnswerRow("" if place else "Also differs", line)
    bound = [side.bottleneck for side in (diff.baseline, diff.candidate)]
    told = [bound_words(one) if one else None for one in bound]
    if diff.why and facts.is_comparable:
        told = [limit_words(one) if one else None for one in (diff.why.baseline, diff.why.candidate)]
    known = [text for text in told if text]
    if known:
        alone = f"{(before, after)[told[0] is None]}: " if None in told else ""
        yield AnswerRow("Bound by", alone + ARROW.join(dict.fromkeys(known)))
    reasons = list(_reasons(facts, pair)) if facts.is_comparable and diff.why else []
    for place, row in enumerate(reasons):
        yield replace(row, label="" if place else "Why")
    alone, to_compare = outlier_words(diff)
    if alone:
        yield AnswerRow("But", f"{alone}: `{to_compare}`")
    note = counter_note(diff)
    if note:
        yield AnswerRow("Counters", note)
    waits = _waits(diff)
    if facts.is_comparable and waits:
        yield AnswerRow("Warps wait for", waits)


MOST_FAULTS = 2  # that are gone or lessened: they are told the largest first
FAULT_LETTERS = 200


def _reasons(facts: DiffFacts, pair: SourcePair) -> Iterator[AnswerRow]:
    """Yield what one side no longer wastes, what that makes of the units that bind, then the lines of the source."""
    diff = facts.diff
    if diff.why is None:
        return
    changed, left = answering_lines(diff.lines) if diff.lines else ([], [])
    named = [one.place for change in changed for one in (change.baseline, change.candidate) if one]
    yield from _faults(facts, pair, diff.why, named)
    for line in _unit_lines(diff.why, names(diff)):
        yield AnswerRow("", line)
    for change in changed:
        told = change_facts(change)
        worst = change.baseline or change.candidate
        if worst and worst.stall and len(told) > 1 and not change.sampled:  # it often waits for another line
            told = [f"{', '.join(told[:-1])}; warps waited there for {told[-1]} ({one_line(spoken(worst.stall))})"]
        yield _line_row(line_link(change, pair), change.became, change.text, told)
    for one in left[:1]:
        at, told = left_facts(one)
        href = pair.href(at.place, True) or pair.href(one.place, True)
        yield _line_row(Link(_name(at), href), left_word(one, diff.lines), at.text, told)


def _unit_lines(why: Why, sides: tuple[str, str]) -> list[str]:
    """Return the product on what binds, behind what became of the unit that bound before."""
    told = resource_lines(why, sides, WHY_WIDTH)[1:]  # the first says again what binds
    return told[::-1] if why.bound_changed and why.agrees is not False else told


def _faults(facts: DiffFacts, pair: SourcePair, why: Why, told: Collection[LinePlace]) -> Iterator[AnswerRow]:
    """Yield the faults that the faster side does not have, or has less of, with the first evidence that moved so.

    They are told of the slower side, for they explain its time: one of which no evidence moved does not, as it is only
    hidden, or not to be mended any more. Each has its first line, which is often another than the one where warps wait,
    but for those that are ``told``.
    """
    sides = zip(names(facts.diff), (facts.baseline, facts.candidate), strict=True)
    (slow, before), (fast, after) = sides if why.time_ratio >= 1 else reversed(tuple(sides))
    is_candidate = before is facts.candidate
    mended = mended_between(before.results, after.results)
    known = ((one, left_ns, _evidence(one.finding, facts, is_candidate)) for one, left_ns in mended)
    for one, left_ns, evidence in [each for each in known if each[2] is not None][:MOST_FAULTS]:
        message = CLAUSES.split(one.finding.message)[0]
        rest = any(left.finding.rule == one.finding.rule for left in after.results.diagnosis.findings)  # type: ignore[union-attr]
        became = f"{'next to nothing of it' if rest else 'none of it'} in {fast}"
        if left_ns:
            became = f"it could save {duration(one.saved_ns)}, in {fast} {duration(left_ns)}"
        text = f"{slow}: `{one.finding.rule}`, {one_line(message, FAULT_LETTERS)}; {became}{evidence}"
        links = tuple(
            (Link(_name(at), pair.href((at.file, at.line), is_candidate)), _part(at, is_candidate, pair))
            for at in one.places[:1]
            if at.file and at.line and (at.file, at.line) not in told
        )
        yield AnswerRow("", text, links=links)


def _part(place: RulePlace, is_candidate: bool, pair: SourcePair) -> str:
    """Return the part of a fault at a line, and how long warps waited there, which is often little for a store."""
    row = pair.row((place.file or "", place.line or 0), is_candidate)
    line = row.lines[is_candidate] if row else None
    waited = f"; warps waited there for {duration(line.ns)}" if line and line.ns and place.counted != "samples" else ""
    said = f"{100 * place.share:.0f} % of its {COUNTED[place.counted]}{waited}"
    return f"`{one_line(place.text.strip(), CODE_LETTERS)}` {said}" if place.text and place.text.strip() else said


def _evidence(finding: Finding, facts: DiffFacts, is_candidate: bool) -> str | None:
    """Return the first number that a finding rests on and that moved its way, on both sides; None where none did.

    ``is_candidate``: the finding is of that side. Empty where the other side has none of the numbers.
    """
    better = "regressed" if is_candidate else "improved"
    changes = {one.metric: one for one in facts.every}
    known = [
        one
        for key in finding.evidence
        if (one := changes.get(key)) and None not in (one.baseline, one.candidate) and not one.is_raw
    ]
    moved = next((one for one in known if one.verdict == better), None)
    if moved is None and not any(OVER_LAUNCHES[one.metric].better for one in known if one.metric in OVER_LAUNCHES):
        moved = next((one for one in known[:1] if one.verdict == "changed"), None)  # it is the finding's own number
    if moved is None:
        return None if known else ""
    both = list(zip(names(facts.diff), values_text(moved), strict=True))
    return f". {moved.label}: {', '.join(f'{value} in {name}' for name, value in both[:: -1 if is_candidate else 1])}"


def _line_row(link: Link, word: str, text: str | None, told: Sequence[str]) -> AnswerRow:
    code = f" `{one_line(text.strip(), CODE_LETTERS)}`" if text and text.strip() else ""
    return AnswerRow("", "", links=((link, f"{word}:{code} {', '.join(told)}"),))


def _name(at: LineCost | RulePlace) -> str:
    return one_line(f"{base_name(at.file or '')}:{at.line}")


def _waits(diff: Diff) -> str:
    """Return what latency is on both sides, each reason with what it means; empty where neither is bound by it."""
    limits = (diff.why.baseline, diff.why.candidate) if diff.why else ()
    told: dict[str, list[str]] = {}
    for name, limit in zip(names(diff), limits, strict=False):
        if limit and limit.stall:
            told.setdefault(limit.stall, []).append(f"{name} {limit.stalls[limit.stall]:.0f} %")
    return "; ".join(
        f"{one_line(spoken(reason))} ({', '.join(sides)}): {term_of(reason).meaning.partition('waits for ')[2]}".rstrip(
            ": "
        )
        for reason, sides in told.items()
    )


def workloads_section(facts: DiffFacts) -> PageSection:
    """Return the verdict on each workload, where there are several."""
    made = _verdict_table(facts) if len(facts.workloads) > 1 else None
    on_each = "Medians of both sides, and the verdict on each workload on which both were timed."
    return PageSection("verdicts", "Every workload", made, "compare.html.j2", on_each)


def _verdict_table(facts: DiffFacts) -> Table:
    """Return the verdict on each workload, that of the page among them."""
    before, after = facts.names
    columns = (
        Column("workload"),
        Column(f"{after} is", "left", "number"),
        Column(before, "right", "number"),
        Column(after, "right", "number"),
        Column("99 % interval", "right", ""),
    )
    rows = tuple(_verdict_row(*one, one[0] == facts.diff.workload) for one in facts.workloads)
    return Table("verdicts-table", "The verdict on every workload", columns, rows)


def _verdict_row(workload: str, medians_ns: tuple[float, float], verdict: Verdict, is_shown: bool) -> tuple[Cell, ...]:
    return (
        Cell(one_line(workload), note="this page" if is_shown else ""),
        verdict_cell(verdict),
        *(number(duration(ns), ns) for ns in medians_ns),
        Cell(interval_words(verdict) or ABSENT),
    )


def _tiles(facts: DiffFacts) -> Iterator[Fact]:
    diff = facts.diff
    before, after = diff.baseline, diff.candidate
    if before.timing and after.timing:
        spread = f"middle half {middle_half(before.timing)}{ARROW}{middle_half(after.timing)}"
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
        busy = f"{before.bottleneck.percent:.0f} %{ARROW}{after.bottleneck.percent:.0f} % at the busiest unit"
        one, other = before.bottleneck.name, after.bottleneck.name
        yield Fact(Term("Bound by"), other, busy, was="" if one == other else one)
    counts = _counts(diff)
    times = facts.baseline.combined.duration_ns, facts.candidate.combined.duration_ns
    if None not in times:
        yield _tile(term_of("duration", "Under ncu"), times, "ns", counts)
    moved = facts.baseline.combined.values["dram_bytes"], facts.candidate.combined.values["dram_bytes"]
    if facts.has_counters and None not in moved:
        rates = [one.combined.values["dram_bandwidth"] for one in (facts.baseline, facts.candidate)]
        note = ARROW.join(quantity(rate, "byte/s") for rate in rates if rate is not None) if None not in rates else ""
        told = note if before.compared == after.compared == 1 else "; ".join(filter(None, [counts, note]))
        yield _tile(term_of("dram_bytes", "DRAM traffic"), moved, "byte", told)


def _counts(diff: Diff) -> str:
    """Return of how many launches the counters are that are compared, e.g. ``4 launches → 4 of 41 launches``."""
    told = [
        number_of(side.launches, "launch")
        if side.compared == side.launches
        else f"{side.compared} of {number_of(side.launches, 'launch')}"
        for side in (diff.baseline, diff.candidate)
    ]
    return ARROW.join(dict.fromkeys(told))


def _tile(term: Term, both: Sequence[float | None], unit: str, note: str) -> Fact:
    was, now = (quantity(value or 0.0, unit) for value in both)
    return Fact(term, now, note, was=was)


def _grounds(diff: Diff) -> list[tuple[str, str]]:
    verdict = diff.verdict
    found = [("stands on", verdict.meaning)]
    if verdict.samples:
        found.append(("samples", ", ".join(map("{} of {}".format, verdict.samples, names(diff)))))
    return [*found, ("measured", origins(diff))]


def _notes(diff: Diff) -> list[str]:
    """Return what is odd about the comparison or about one side; what both have in common is said once."""
    notes = [f"forced in spite of: {REASONS[diff.forced].meaning}"] if diff.forced else []
    notes += ["both sides are the same run"] if diff.is_one_run else []
    notes += part_words(diff)
    clocks = clock_words(diff, names(diff))
    notes += [clocks] if clocks else []
    said: dict[str, list[str]] = {}
    for name, side in zip(names(diff), (diff.baseline, diff.candidate), strict=True):
        unknown = bool(side.launches) and not side.has_settings
        told = (*side.notes, *(("the clocks and caches under which it was profiled are not known",) if unknown else ()))
        for note in dict.fromkeys(told):
            said.setdefault(one_line(note), []).append(name)
    return [*notes, *(f"{' and '.join(dict.fromkeys(sides))}: {note}" for note, sides in said.items())]


WHY_WIDTH = 400  # of a line of why: it wraps
NEUTRAL = 0.005  # a factor nearer to 1 is no gain and no loss


OF_SEVERAL = (
    "Resources work at the same time, so each table explains the whole change. The first is about what {before} was "
    "bound by, and how much less or more work it has. With less work it also runs at a lower rate, which is no loss. "
    "The second is about what binds {after}."
)


def why_section(facts: DiffFacts) -> PageSection:
    """Return why the time changed: what binds, the other lines, then the product on each resource.

    Of runs that cannot be compared it is only what binds each.
    """
    diff, why = facts.diff, facts.diff.why
    if not facts.is_comparable:
        bound = {"first": "", "lines": bound_lines(diff), "products": (), "note": ""}
        return PageSection("why", "What binds each", bound if bound["lines"] else None, "diff_why.html.j2")
    first = next(iter(resource_lines(why, names(diff), WHY_WIDTH)), "") if why else ""
    products = (
        [
            _product_table(one, why, facts.names, place, diff.baseline.compared)
            for place, one in enumerate(_products(why))
        ]
        if why
        else []
    )
    note = "The factors of a table multiply to the change of the time under ncu."
    if len(products) > 1:
        before, after = facts.names
        note += f" {OF_SEVERAL.format(before=before, after=after)}"
    model = {"first": first, "lines": [], "products": products, "note": note}  # the answer has the others
    return PageSection("why", "Why", model if first or products else None, "diff_why.html.j2")


def _products(why: Why) -> list[Factors]:
    """Return the product on what bound the baseline, then on what binds the candidate."""
    return list(dict.fromkeys(one for limit in (why.baseline, why.candidate) if (one := why.on(limit))))


def _product_table(made: Factors, why: Why, sides: tuple[str, str], place: int, launches: int) -> Table:
    """Return the factors of the time on a resource, which multiply to the whole change under ncu.

    Where there are several ``launches`` of a side, work is of one of them.
    """
    before, after = sides
    was, binds = (limit and limit.bottleneck.name == made.resource for limit in (why.baseline, why.candidate))
    role = "" if was and binds else f", which binds {after}" if binds else f", which bound {before}"
    columns = (
        Column(f"on {made.resource}{role}", order=""),
        Column(before, "right", ""),
        Column(after, "right", ""),
        Column("makes it", "right", ""),
    )
    each = " a launch" if made.of("launches") or launches > 1 else ""
    rows = [_factor_row(part, each if part.kind == "work" else "", is_bound=bool(binds)) for part in made.parts]
    whole = (Cell("together, under ncu"), Cell(""), Cell(""), _gain_cell(why.time_ratio))
    return Table(f"product-{place}", f"The change of time as a product on {made.resource}", columns, (*rows, whole))


def _factor_row(part: Factor, each: str, is_bound: bool) -> tuple[Cell, ...]:
    ends = (_amount(value, part.unit) for value in (part.baseline, part.candidate))
    cell = _gain_cell(part.gain)
    if cell.tone == "bad" and not is_bound and part.kind != "work":
        cell = replace(cell, tone="")  # what no longer binds is asked for less
    return (Cell(f"{part.label}{each}"), *(Cell(text) for text in ends), cell)


def _amount(value: float, unit: str) -> str:
    amount, per, _ = unit.partition("/cycle")
    return quantity(value, "" if amount in ("1", "cycle") else amount) + (" a cycle" if per else "")


def _gain_cell(gain: float) -> Cell:
    if abs(gain - 1) < NEUTRAL:
        return number("= 1.00x", gain)
    word, tone = ("faster", "good") if gain > 1 else ("slower", "bad")
    cell = number(f"{'▲' if gain > 1 else '▼'} {factor(max(gain, 1 / gain))} {word}", gain)
    return Cell(cell.text, cell.key, tone=tone)


DIFFERS = Badge("≠ differs", "plain")
FORBIDS = Badge("≠ forbids a comparison", "bad")
HASH_DIGITS = 12  # of a hash
APART = ("median", "middle half", "under ncu", "bound by", "check")  # of each side, also where they are the same
SideText = Callable[[RunView, DiffSide], str]


def sides_section(facts: DiffFacts) -> PageSection:
    """Return what differs between the sides, aligned, and what is the same, once.

    Of each fact that the diff compares it says whether it differs and forbids to compare.
    """
    diff = facts.diff
    both = (facts.baseline, diff.baseline), (facts.candidate, diff.candidate)
    answers = [(name, answer(*both[0]), answer(*both[1])) for name, answer in SIDE_FACTS]
    hard = {one.what for one in diff.differences if one.hard}
    rows = [
        (Cell(name), Cell(one), Cell(other), _differs_cell(one, other, COMPARED_FACTS.get(name, ""), hard))
        for name, one, other in answers
        if one != other or (name in APART and one != ABSENT)
    ]
    alike = [(name, one) for name, one, other in answers if one == other != ABSENT and name not in APART]
    columns = (Column("", order=""), *(Column(name, order="") for name in facts.names), Column("", order=""))
    runs = (Cell("run"), *_run_cells(facts), Cell(""))
    apart = Table("sides-table", "What both sides are", columns, (runs, *rows))
    return PageSection("sides", "Both sides", {"apart": apart, "alike": alike}, "diff_sides.html.j2")


def _differs_cell(before: str, after: str, asked: str, hard: set[str]) -> Cell:
    differs = asked and ABSENT not in (before, after) and before != after
    return Cell(badge=FORBIDS if asked in hard else DIFFERS) if differs else Cell("")


def _run_cells(facts: DiffFacts) -> Iterator[Cell]:
    for side, href in zip((facts.diff.baseline, facts.diff.candidate), facts.links, strict=True):
        name = one_line(side.reference if side.run_id else PurePath(side.reference).name)
        yield Cell(name, link=Link(name, href) if href else None)


def _of_timing(write: Callable[[Timing], str | None]) -> SideText:
    return lambda _, side: (write(side.timing) if side.timing else None) or ABSENT


def _of_run(write: Callable[[Run], object]) -> SideText:
    return lambda shown, _: _said(write(shown.run))


def _profiled(name: str) -> SideText:
    return _of_run(lambda run: getattr(run.profile, name) if run.profile else None)


def _said(value: object) -> str:
    return ABSENT if value is None or value == "" else one_line(str(value))


def _workload_text(shown: RunView, side: DiffSide) -> str:
    row = next((row for row in shown.rows if row.workload.name == side.workload), None)
    if row is None:
        return ABSENT
    return one_line(f"{row.workload.name}: {workload_words(row.workload)}")


def _check_words(shown: RunView, side: DiffSide) -> str:
    row = next((row for row in shown.rows if row.workload.name == side.workload), None)
    if row is None or row.check is None:
        return ABSENT
    return "passed" if row.check.passed else one_line(f"FAILED: {row.check.reason}")


def _ncu_words(shown: RunView, side: DiffSide) -> str:
    if not side.launches:
        return "launched no kernel" if shown.run.launched_nothing else "no counters"
    count = number_of(side.launches, "launch")
    if side.compared != side.launches:
        count = f"{count}, {side.compared} compared"
    return f"{duration(side.duration_ns)}, {count}" if side.duration_ns is not None else count


def _gpu_words(shown: RunView, side: DiffSide) -> str:
    device = shown.run.device
    if device is None:
        return ABSENT
    count = f", {device.sm_count} SMs" if device.sm_count else ""
    return one_line(f"{device.name}, compute capability {device.compute_capability}{count}")


def _sample_words(timing: Timing) -> str:
    dropped = f", {timing.dropped} late ones dropped" if timing.dropped else ""
    clock = f", at {timing.sm_clock_mhz:.0f} MHz" if timing.sm_clock_mhz else ""
    return f"{timing.samples}{dropped}{clock}"


# What the diff calls the facts that it compares.
COMPARED_FACTS = {
    **{name: name for name in ("workload", "driver", "CUDA", "ncu", "nvcc", "torch", "section set", "replay mode")},
    **{name: name for name in ("nvcc options", "clock control", "cache control")},
    "GPU": "GPU model",
}
# What a fact is called, and how a side answers it: ``ABSENT`` where it is not known.
SIDE_FACTS: tuple[tuple[str, SideText], ...] = (
    ("version", lambda _, side: one_line(f"{side.kernel}/{side.version}")),
    ("median", _of_timing(lambda timing: duration(timing.median_ns))),
    ("middle half", _of_timing(middle_half)),
    ("samples", _of_timing(_sample_words)),
    ("copy", _of_timing(lambda timing: f"{duration(timing.copy_ns)} for the same bytes" if timing.copy_ns else None)),
    ("copy engine", _of_timing(lambda timing: duration(timing.link_ns) if timing.link_ns else None)),
    ("under ncu", _ncu_words),
    ("bound by", lambda _, side: bound_words(side.bottleneck) if side.bottleneck else ABSENT),
    ("check", _check_words),
    ("workload", _workload_text),
    ("GPU", _gpu_words),
    ("driver", _of_run(lambda run: run.device.driver if run.device else None)),
    ("CUDA", _of_run(lambda run: run.toolchain.cuda)),
    ("ncu", _of_run(lambda run: run.toolchain.ncu)),
    ("nvcc", _of_run(lambda run: run.toolchain.nvcc)),
    ("nvcc options", _of_run(lambda run: run.toolchain.nvcc_options)),
    ("torch", _of_run(lambda run: run.toolchain.torch)),
    ("section set", _profiled("section_set")),
    ("clock control", _profiled("clock_control")),
    ("cache control", _profiled("cache_control")),
    ("replay mode", _profiled("replay_mode")),
    ("created", lambda _, side: _said(side.created[:19].replace("T", " "))),
    ("source", lambda _, side: side.source),
    ("source hash", _of_run(lambda run: (run.source_sha256 or "")[:HASH_DIGITS])),
)
