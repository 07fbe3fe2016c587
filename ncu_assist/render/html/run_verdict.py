"""How fast a version is: the verdict against the version before, the numbers that stand out, every workload.

And as a box, which a notebook shows of a run, a diff, versions, a history and a trend: the answer of the page.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from ncu_assist.analysis.diff import Diff
from ncu_assist.analysis.history import History
from ncu_assist.analysis.ladder import KernelOutcome, LadderCell
from ncu_assist.analysis.launches import LaunchGroup, LaunchRow, shared
from ncu_assist.analysis.run_view import RunView, WorkloadRow, gigabytes_per_second
from ncu_assist.analysis.trend import Trend
from ncu_assist.analysis.yardstick import COPY, LINK, OPERATIONS, Yardstick, measure_of
from ncu_assist.quantity import duration, number_of, quantity
from ncu_assist.record import Launch
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.answer import AnswerRow, Href, answer_markdown, answer_rows, what_words
from ncu_assist.render.html.charts import Fact
from ncu_assist.render.html.page import PageSection, fragment
from ncu_assist.render.html.run_counters import RunRecord
from ncu_assist.render.table import Badge, Cell, Column, Link, Table, Term, number
from ncu_assist.render.words.changes import flags_by_role
from ncu_assist.render.words.floors import (
    IN_L2,
    copy_words,
    floor_words,
    l2_words,
    library_sentence,
    no_rates,
    operations_words,
)
from ncu_assist.render.words.history import MOST_SAID, bound_by, history_title, time_of
from ncu_assist.render.words.launches import (
    LEAST_TOLD,
    diagnosis_word,
    kernel_words,
    payoff_sentence,
    selection_words,
    share_words,
    to_win,
    unexplained_words,
    unjudged_words,
    worth_telling,
)
from ncu_assist.render.words.terms import against, share_term, term_of, verdict_badge, verdict_cell
from ncu_assist.render.words.trend import (
    DIGITS,
    TOO_SHORT,
    changes,
    found_words,
    name_of,
    trend_provenance,
    trend_title,
)
from ncu_assist.render.words.values import to_compare, to_time
from ncu_assist.render.words.verdicts import (
    UNCUT,
    counted,
    factor,
    failed_checks,
    kernels_and_origins,
    names,
    verdict_line,
    verdict_sentence,
)
from ncu_assist.render.words.why import why_sentences
from ncu_assist.rules.model.diagnosis import UNEXPLAINED
from ncu_assist.verdict import Verdict, clock_note
from ncu_assist.versions import short_name

BANDWIDTH_TILE = Term(
    "Effective bandwidth", "bytes of kernel.toml / median", "each input read once, each output written once"
)
LINK_TILE = Term(
    "From the host",
    "[host] bytes of kernel.toml / median",
    "the bytes that must cross the host link, divided by the median",
)
FLOP_TILE = Term(
    "Operations", "flops of kernel.toml / median", "the operations that the work needs, divided by the median"
)
LESS = 0.995  # of what must move: above, it is printed as 1.00x


def tiles(shown: RunView) -> tuple[Fact, ...]:
    """Return what is known of them, measured times first, then what the counters say."""
    return (*(_timed(shown.row) if shown.row else ()), *_counted(shown))


def _timed(row: WorkloadRow) -> Iterator[Fact]:
    timing, moved, of_it = row.timing, row.workload.algorithmic_bytes, row.share
    if timing:
        spread = f"{duration(timing.q1_ns)} to {duration(timing.q3_ns)}, {timing.samples} samples"
        yield Fact(Term("Median time"), duration(timing.median_ns), spread)
    crossed = row.workload.host_bytes
    if timing and crossed:
        rate = quantity(crossed / (timing.median_ns * 1e-9), "byte/s")
        yield Fact(LINK_TILE, rate, f"of {quantity(crossed, 'byte')} that must cross")
    elif row.bytes_per_second and moved:
        yield Fact(
            BANDWIDTH_TILE, quantity(row.bytes_per_second, "byte/s"), f"of {quantity(moved, 'byte')} that must move"
        )
    elif timing and row.in_l2:
        yield Fact(BANDWIDTH_TILE, IN_L2[row.in_l2], l2_words(row))
    if row.measure is OPERATIONS and row.flops_per_second:
        needed = f"of {quantity(row.workload.flops or 0, 'flop')} that the work needs"
        yield Fact(FLOP_TILE, quantity(row.flops_per_second, "flop/s"), needed)
    if of_it:
        measure = row.measure
        kept = copy_words(row.in_l2) if measure is not OPERATIONS else ""
        term = replace(share_term(measure), label=measure.title.capitalize())
        yield Fact(term, f"{100 * of_it:.0f} %", f"{measure.what} is 100 %{f'; {kept}' if kept else ''}")


def _counted(shown: RunView) -> Iterator[Fact]:
    under, moved, bound = shown.combined.duration_ns, shown.combined.values["dram_bytes"], shown.counted.bottleneck
    if bound:
        of = "" if shown.counted is shown else f" of launch {shown.counted.combined.launches[0].index} alone"
        yield Fact(Term("Bound by"), bound.name, f"{bound.percent:.0f} % at the busiest unit{of}")
    if under is not None:
        count = len(shown.combined.launches)
        yield Fact(term_of("duration", "Under ncu"), duration(under), number_of(count, "launch"))
    if moved is not None:
        yield Fact(term_of("dram_bytes", "DRAM traffic"), quantity(moved, "byte"), _of_needed(shown.row, moved))


def _of_needed(row: WorkloadRow | None, moved: float) -> str:
    needed = row.workload.algorithmic_bytes if row else None
    if not needed:
        return ""
    less = "; less, because the last writes are still in L2 at the end" if moved < LESS * needed else ""
    return f"{moved / needed:.2f}x of what must move{less}"


RATE = Term("GB/s", "bytes of kernel.toml / median", "each input read once, each output written once")
LINK_RATE = Term("GB/s", "[host] bytes of kernel.toml / median", "the bytes that must cross the host link")
FLOPS = Term("TFLOP/s", "flops of kernel.toml / median", "the operations that the work needs")
RATES = {COPY.title: RATE, LINK.title: LINK_RATE, OPERATIONS.title: FLOPS}
ERROR = Term("worst error", "||out - ref|| / ||ref||", "largest of all outputs and seeds")
WORKLOAD_COLUMNS = (
    Column("workload"),
    Column("dtype"),
    Column("median", "right", "number"),
    Column("against"),  # the version before, by name
    Column("q1 to q3", "right", ""),
    Column("GB/s", "right", "number", RATE),
    Column(COPY.title, "right", "number", share_term(COPY)),
    Column("check"),
    Column("worst error", "right", "number", ERROR),
)


def workloads_table(shown: RunView, verdicts: Mapping[str, Verdict]) -> Table:
    """Return the workloads in the order of the run; ``verdicts`` are those that both versions were timed on."""
    several = len({row.workload.dtype for row in shown.rows}) > 1  # else the title of the page says it
    measure = measure_of(shown.rows)
    rows = tuple(_workload_row(row, verdicts.get(row.workload.name), several, measure) for row in shown.rows)
    note = "; ".join(no_rates(shown.rows))
    return Table(
        "workloads-table", "Time of every workload", _workload_columns(shown, measure), rows, note=note
    ).without_empty()


def _workload_row(row: WorkloadRow, verdict: Verdict | None, several: bool, measure: Yardstick) -> tuple[Cell, ...]:
    timing, check = row.timing, row.check
    of_it = row.share_of(measure)
    error = check.norm_error if check else None
    return (
        Cell(one_line(row.workload.name)),
        Cell(one_line(row.workload.dtype)) if several else Cell(),
        number(duration(timing.median_ns), timing.median_ns) if timing else Cell(),
        verdict_cell(verdict),
        Cell(f"{duration(timing.q1_ns)} to {duration(timing.q3_ns)}") if timing else Cell(),
        _rate_cell(row, measure),
        number(f"{100 * of_it:.0f} %", of_it) if of_it is not None else Cell(),
        _check_cell(row),
        number(f"{error:.2g}", error) if error is not None else Cell(),
    )


def _rate_cell(row: WorkloadRow, measure: Yardstick) -> Cell:
    if measure is OPERATIONS:
        flops = row.flops_per_second
        return number(f"{flops / 1e12:.1f}", flops) if flops is not None else Cell()
    if row.bytes_per_second is not None:
        return number(gigabytes_per_second(row), row.bytes_per_second)
    return Cell(IN_L2[row.in_l2], tone="dim") if row.in_l2 and row.timing else Cell()


def _workload_columns(shown: RunView, measure: Yardstick) -> tuple[Column, ...]:
    before = short_name(one_line(shown.before.version)) if shown.before else ""
    titled = {
        "against": Column(f"against {before}", "left", "number"),
        COPY.title: Column(measure.title, "right", "number", share_term(measure)),
        "GB/s": Column(RATES[measure.title].label, "right", "number", RATES[measure.title]),
    }
    return tuple(titled.get(column.title, column) for column in WORKLOAD_COLUMNS)


def _check_cell(row: WorkloadRow) -> Cell:
    if row.check is None:
        return Cell()
    if row.check.passed:
        return Cell("passed", badge=Badge("✓ passed", "good"))
    return Cell("FAILED", badge=Badge("✗ FAILED", "bad"), note=one_line(row.check.reason))


def verdict_section(
    record: RunRecord, href: Href = lambda file, line: "", hottest: tuple[Link, str] | None = None
) -> PageSection:
    """Return the answer, first against the version before, then tiles and all workloads; others as answer_rows'."""
    shown, verdicts = record.shown, dict(record.verdicts)
    before = shown.before
    sentence, rows = answer_sentence(shown), answer_rows(shown, href, hottest)
    since = f"All that changed since {one_line(before.version)}" if before else ""
    model = {
        "badge": verdict_badge(before.verdict) if before else None,
        "sentence": sentence,
        "answer": rows,
        "markdown": answer_markdown(one_line(shown.reference), sentence, rows),
        "notes": _verdict_notes(shown, verdicts),
        "operations": operations_words(shown),  # needed and counted, empty where bytes set the floor
        "to_see_more": _command(shown),
        "failed": failed_checks(shown.rows),
        "tiles": tiles(shown),
        "workloads": workloads_table(shown, verdicts) if shown.rows else None,
        "diff": Link(since, record.diff) if since and record.diff else None,
    }
    return PageSection("verdict", "Verdict", model, "run_verdict.html.j2")


MOST_PAYING = 4  # changes


def across_section(record: RunRecord) -> PageSection:
    """Return the answer for a report of many launches: how long they take, and what would pay across them."""
    shown = record.shown
    alone = {one.shown.combined.launches[0].index for one in record.alone}
    rows = (
        AnswerRow("What", what_words(shown)),
        *_longest(shown),
        *_to_do_across(shown, alone),
        *_not_worth_work(shown),
        *_short_ones(shown),
        *((AnswerRow("Not judged", unjudged_words(shown)),) if unjudged_words(shown) else ()),
    )
    sentence = answer_sentence(shown)
    model = {
        "badge": None, "sentence": sentence, "answer": rows, "notes": (), "operations": "", "to_see_more": "",
        "markdown": answer_markdown(one_line(shown.reference), sentence, rows), "failed": (), "tiles": (),
        "workloads": None, "diff": None,
    }  # fmt: skip
    return PageSection("verdict", "Verdict", model, "run_verdict.html.j2")


def _to_do_across(shown: RunView, alone: Collection[int]) -> Iterator[AnswerRow]:
    """Yield what would pay, the most first, each with the launch of it that has most to win, where the page has it."""
    for place, payoff in enumerate(worth_telling(shown)[:MOST_PAYING]):
        launch = payoff.worst.launch
        link = Link(f"#{launch.index} {kernel_words(launch, 80)}", f"#launch-{launch.index}")
        links = ((link, to_win(payoff)),) if launch.index in alone else ()
        yield AnswerRow("What to do" if not place else "", payoff_sentence(payoff), links=links)


def _not_worth_work(shown: RunView) -> Iterator[AnswerRow]:
    """Yield the launches that no change is for which wins enough of all time to be told, or that there are none.

    Those of which nobody can say what they could win stand apart, unless all their time is too little to be told.
    What was not judged has a row of its own.
    """
    told = {index for payoff in worth_telling(shown) for index in payoff.launches}
    idle = {row.launch.index for group in shown.groups for row in group.rows if not row.judged}
    rest = [row for row in shown.launches_shown if row.launch.index not in told | idle]
    unknown = [row for row in rest if row.lacks_cause]
    share = shared(unknown)
    if share is not None and share < LEAST_TOLD:
        unknown = []
    known = [row for row in rest if row not in unknown]
    count = len(shown.launches_shown)
    if len(told) == count:
        yield AnswerRow("Not worth work", f"none: the advice covers all {count} launches")
    if known:
        least = f"no change that was found saves {100 * LEAST_TOLD:g} % of the total time there"
        yield AnswerRow("Not worth work", f"{_some(known, count)}: {least}")
    if unknown:
        why = f"what would help is not known: {_why_unknown(unknown)}"
        yield AnswerRow("Not known", f"{_some(unknown, count)}: {why}")


def _some(rows: Sequence[LaunchRow], count: int) -> str:
    """Return which of ``count`` launches these are, and which part of the time they take, where that is known."""
    share = shared(rows)
    taken = f" take {share_words(share)} of the time" if share is not None else ""
    return f"{len(rows)} of {count} launches{_numbers(rows)}{taken}"


def _numbers(rows: Sequence[LaunchRow]) -> str:
    numbers = sorted(row.launch.index for row in rows)
    return f" ({', '.join(f'#{one}' for one in numbers)})" if len(numbers) <= MOST_NUMBERED else ""


def _why_unknown(rows: Sequence[LaunchRow]) -> str:
    """Return why nobody can say what would help: counters that are missing, or time above the floor without a cause."""
    above = unexplained_words(LaunchGroup(tuple(rows)))
    words = dict.fromkeys(diagnosis_word(row) for row in rows if not row.unexplained_ns)
    said = [{"-": "no counters", UNEXPLAINED: "cause unknown"}.get(word, word) for word in words]
    return "; ".join([*said, *([above] if above else [])])


def _short_ones(shown: RunView) -> Iterator[AnswerRow]:
    """Yield how little time the shortest launches take together, where that is next to nothing."""
    rows = shown.launches_shown
    times = [row.launch.duration_ns or 0.0 for row in rows]
    whole, short = sum(times), list[float]()
    if not whole:
        return
    for time in reversed(times):
        if sum(short) + time > LITTLE * whole:
            break
        short.append(time)
    if len(short) >= SEVERAL:
        yield AnswerRow(
            "Short launches",
            f"the {len(short)} shortest{_numbers(rows[-len(short) :])} take {duration(sum(short))} together, "
            f"{share_words(sum(short) / whole)} of the time: hardly worth a look",
        )


LITTLE, SEVERAL = 0.02, 4  # of the time; launches
MOST_NUMBERED = 12  # launches, in a line


def _longest(shown: RunView) -> Iterator[AnswerRow]:
    """Yield the longest launch; none where no times are known."""
    whole = shown.combined.duration_ns
    row = max(shown.launches_shown, key=lambda one: one.launch.duration_ns or 0.0, default=None)
    if row is None or not row.launch.duration_ns or not whole:
        return
    share = 100 * row.launch.duration_ns / whole
    name = f"#{row.launch.index} {kernel_words(row.launch, 80)}"
    said = f"{duration(row.launch.duration_ns)}, {share:.0f} % of the time"
    yield AnswerRow("Longest launch", "", links=((Link(name, f"#launch-{row.launch.index}"), said),))


def answer_sentence(shown: RunView) -> str:
    """Return the answer in a sentence: against the version before, else the time, else why there is none."""
    if shown.before is not None:
        name, verdict = shown.before.version, shown.before.verdict
        return verdict_sentence(shown.run.version, name, shown.combined.workload, verdict, UNCUT)
    if shown.row and shown.row.timing:
        return f"{short_name(one_line(shown.run.version))} takes {duration(shown.row.timing.median_ns)} on " + (
            f"{one_line(shown.row.workload.name)}; it is compared with no other version"
        )
    under = shown.combined.duration_ns
    if under is not None:
        count = len(shown.combined.launches)
        what = "its launch takes" if count == 1 else f"its {count} launches take"
        return f"{what[:1].upper()}{what[1:]} {duration(under)} under ncu; not timed without it"
    return _capital(_untimed(shown)) or "Not timed, and without counters"


def _untimed(shown: RunView) -> str:
    """Return why the workload shown has no time though it was timed; empty where it has one, or nobody timed it."""
    return one_line(shown.run.untimed.get(shown.row.workload.name, ""), REASON) if shown.row else ""


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _command(shown: RunView) -> str:
    if shown.before is not None:
        return to_compare(shown, shown.before.version)
    return "" if shown.row and (shown.row.timing or _untimed(shown)) else to_time(shown)


def _verdict_notes(shown: RunView, verdicts: Mapping[str, Verdict]) -> tuple[str, ...]:
    """Return which workloads have no time and why, unless that is the answer; then of a verdict on how many workloads
    it is what, why it is in doubt, and whether the clocks were the same.
    """
    why = [_capital(one_line(note, REASON)) for note in dict.fromkeys(shown.run.untimed.values())]
    untimed = tuple(one for one in why if one != answer_sentence(shown))
    if shown.before is None:
        return untimed
    verdict, before = shown.before.verdict, short_name(one_line(shown.before.version))
    several = f"On all {len(verdicts)} workloads against {before}: {counted(verdicts)}"
    doubt = f"Why {verdict.verdict.replace('-', ' ')}: {verdict.meaning}"
    clocks = clock_note(verdict, (before, short_name(one_line(shown.run.version))))
    lines = (
        several if len(verdicts) > 1 else "",
        doubt if verdict.verdict in ("unclear", "not-comparable") else "",
        clocks,
    )
    return (*untimed, *(line for line in lines if line))


WIDTH, FLAGS, REASON = 120, 3, 300


def run_box(whole: RunView, launches: Sequence[Launch]) -> str:
    """Return the answer of a run, or of the launch that details are of, as HTML for a notebook; what it is of first.

    ``launches`` are those that were chosen.
    """
    shown = whole.detail
    words = [selection_words(launches, whole.profiled)] if launches and whole.profiled > 1 else []
    if len(shown.launches_shown) == 1 < len(launches):
        words.append(f"this is of launch {shown.launches_shown[0].launch.index}")
    title = f"{one_line(shown.reference)}{', ' if words else ''}{'; '.join(words)}"
    return _box(title, answer_sentence(shown), answer_rows(shown, lambda file, line: ""))


def diff_box(diff: Diff) -> str:
    """Return which of two runs is faster, and why, as HTML for a notebook."""
    both = names(diff)
    reasons = why_sentences(diff.why, diff.lines, both, WIDTH)
    flags = [AnswerRow(heading, "; ".join(said[:FLAGS])) for heading, _, said in flags_by_role(diff) if said]
    rows = [
        AnswerRow("Compared", kernels_and_origins(diff)),
        AnswerRow("Decided by", diff.verdict.meaning),
        *(AnswerRow("" if place else "Why", line.strip()) for place, line in enumerate(reasons)),
        *flags,
    ]
    return _box(" against ".join(reversed(both)), verdict_line(diff, WIDTH), tuple(rows))


def outcome_box(outcome: KernelOutcome) -> str:
    """Return what each version of a kernel came to, as HTML for a notebook: a row a version and workload."""
    rows, several = [], len(outcome.workloads) > 1
    for version in outcome.versions:
        cells = [cell for cell in outcome.cells(version) if cell.row and cell.row.timing]
        for place, cell in enumerate(cells):
            words = [f"{one_line(cell.workload)}:"] if several else []
            rows.append(AnswerRow("" if place else one_line(version.version), " ".join([*words, _cell(cell)])))
        if version.failure or not cells:
            why = version.failure or version.skipped or outcome.status(version)
            rows.append(AnswerRow("" if cells else one_line(version.version), one_line(why, REASON)))
    said = "; ".join(verdict_line(diff, WIDTH) for diff in outcome.diffs[:FLAGS])
    newest = f" on {one_line(outcome.newest.gpu or '')}" if outcome.newest and outcome.newest.gpu else ""
    recorded = ", recorded: nothing was measured here" if outcome.source == "recorded" else ""
    return _box(f"{one_line(outcome.kernel)}{newest}{recorded}", said, tuple(rows))


def history_box(history: History) -> str:
    """Return how a kernel got faster, as HTML for a notebook: a row a version, on the workload shown."""
    rows = []
    for row in history.rows:
        cell = history.cell(row)
        words = [time_of(row, cell)]
        if cell.verdict and cell.before:
            words.append(f"{against(cell.verdict)} against {short_name(one_line(cell.before))}")
        if cell.bottleneck:
            words.append(f"bound by {bound_by(cell)}")
        rows.append(AnswerRow(one_line(row.version), ", ".join(words)))
    on = next((one for one in history.against_library if one.workload == history.shown), None)
    said = library_sentence(on) or number_of(len(history.rows), "version")
    rows += [AnswerRow("Also on", one_line(", ".join(one.gpu for one in history.others)))] if history.others else []
    title = ", ".join([history_title(history), *history.gpus])
    return _box(one_line(title), said, tuple(rows))


def trend_box(trend: Trend) -> str:
    """Return how a kernel's times moved over its runs, as HTML for a notebook: a row a series, then what changed."""
    rows = []
    for series in trend.series:
        times = [duration(one.timing.median_ns, DIGITS) for one in (series.points[0], series.best, series.points[-1])]
        words = [number_of(len(series.points), "run"), times[0]]
        if len(series.points) > 1:
            words[1:] = [f"first {times[0]}", f"best {times[1]}", f"last {times[2]}"]
        words.append(found_words(series))
        rows.append(AnswerRow(one_line(name_of(series)), ", ".join(words)))
    said = list(changes(trend))
    for place, (change, text, details) in enumerate(said[:FLAGS]):
        sign = "▼" if change.is_slower else "▲"
        rows.append(AnswerRow("" if place else "Changes", f"{sign} {one_line(text, MOST_SAID)}"))
        rows += [AnswerRow("", one_line(detail, MOST_SAID)) for detail in details]
    count = number_of(len(said), "change") if any(one.is_long_enough for one in trend.series) else TOO_SHORT
    return _box(one_line(f"{trend_title(trend)}, {trend_provenance(trend)}"), count, tuple(rows))


def _cell(cell: LadderCell) -> str:
    row = cell.row
    assert row is not None
    assert row.timing is not None
    words = [duration(row.timing.median_ns)]
    if cell.speedup is not None:
        words.append(f"{factor(cell.speedup)} against v0{'' if cell.is_paired else ', medians of two benches'}")
    floor = floor_words(row)
    if floor:
        words.append(f"floor: {floor}")
    return ", ".join(words)


def _box(title: str, sentence: str, rows: tuple[AnswerRow, ...]) -> str:
    return fragment("notebook.html.j2", title=title, sentence=sentence, rows=rows)
