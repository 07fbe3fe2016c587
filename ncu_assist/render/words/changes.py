"""What changed in words and as tables: a metric with its values and what became of it, launches in pairs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ncu_assist.analysis.diff import PER_LAUNCH, Change, Coverage, Diff, LaunchDiff, flags_heading
from ncu_assist.analysis.diff.changes import TRIFLE
from ncu_assist.analysis.diff.flagging import once_each
from ncu_assist.analysis.diff.noise import BEYOND, WITHIN
from ncu_assist.ncu.catalogue.metric import MAX
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.quantity import duration, number_of, quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.table import ABSENT, Badge, Cell, Column, Table, Term
from ncu_assist.render.words.launches import kernel_words
from ncu_assist.render.words.terms import TONES, term_of
from ncu_assist.versions import short_name

if TYPE_CHECKING:
    from ncu_assist.analysis.diff import DiffSide, Flag
    from ncu_assist.analysis.diff.why import Why
    from ncu_assist.record import Launch

MOST_DEVIATIONS = 100  # standard deviations; of counters that hardly stray it may be thousands
PART = "*"  # behind a value that is not of all launches

ROLES = {
    "explains": Badge("explains", "bad", "it got worse, and would explain a longer time"),
    "limit": Badge("limits it now", "unsure", "what most warps wait for now, and more than before: where to go on"),
    "side-effect": Badge("side effect", "plain", "it got worse, and nothing says that it costs time"),
}
NOISE = Term(
    "noise",
    meaning=f"a difference within it may be none: {BEYOND:.0f} times how far one side strays between runs, "
    f"{WITHIN:.0f} times of what is counted",
)
CHANGE_WORDS = (
    "noise: how far the metric strays between runs of the same code. A difference larger than that is a change: "
    "improved, regressed, or changed where no way is known to be better. One of less than half of it is unchanged; one "
    "between is undecided. exact: it repeats to the last digit, so any difference counts. ▲ ▼ say more and less; "
    "colour and word say whether that is better."
)
NEUTRAL = ("unchanged", "missing", "not-comparable")
MOVED_WORDS = ("improved", "regressed", "changed")
STALL = "stall_"
CHANGE, SCORED = "change", "change, z@n"  # with the standard score over repeats, as ncu writes it
# Reasons of a verdict that are of what either side launched.
ABOUT_LAUNCHES = ("other-kernel", "no-common-launch", "other-size", "other-work", "no-result", "other-passes")


def role_words(changes: Iterable[Change]) -> Iterator[str]:
    """Yield what the roles mean that some of these changes have: a hint by hover is out of reach on a phone."""
    for role in dict.fromkeys(one.role for one in changes if one.role in ROLES):
        yield f"{ROLES[role].text}: {ROLES[role].hint}."


def values_text(change: Change) -> tuple[str, str]:
    """Return the values of both sides; why one is absent, or ``-``."""
    before = _value(change, change.baseline, change.baseline_coverage)
    return before, _value(change, change.candidate, change.candidate_coverage)


def delta_text(change: Change) -> str:
    """Return how far a metric moved, e.g. ``▲ +4.2 %``; with its distance from several baselines: ``…, +3.1@5``."""
    moved = _moved(change)
    return f"{moved}, {score_text(change)}" if moved and change.z is not None else moved


def score_text(change: Change) -> str:
    """Return the standard score over the repeats of the baseline and their number, ``+3.1@5``, as ncu writes it."""
    if change.z is None:
        return ""
    score = (
        f"{change.z:+.1f}"
        if abs(change.z) < MOST_DEVIATIONS
        else f">{MOST_DEVIATIONS}"
        if change.z > 0
        else f"<-{MOST_DEVIATIONS}"
    )
    return f"{score}@{change.repeats}"


def change_word(change: Change) -> str:
    """Return what became of a metric; ``per launch`` where a side has one value a launch and none over all."""
    return "per launch" if change.verdict == "missing" and change.note == PER_LAUNCH else change.verdict


def flags_by_role(diff: Diff) -> list[tuple[str, bool, list[str]]]:
    """Return the flags of each role: the heading, whether they explain a slowdown, and a sentence for each.

    The heading says what the end of each sentence would. That nothing explains a slowdown is told too.
    """
    headings: dict[str, list[Flag]] = {}
    for flag in diff.flags:
        heading = flags_heading(flag.role, diff.verdict, diff.candidate.bottleneck is not None)
        headings.setdefault(heading, []).append(flag)
    found = [
        (heading, some[0].role == "explains", [flag.message.rpartition(": ")[0] for flag in some])
        for heading, some in headings.items()
    ]
    bound, is_explained = diff.candidate.bottleneck, "explains" in [flag.role for flag in diff.flags]
    if bound and diff.changes and diff.verdict.way == "slower" and not (is_explained or diff.verdict.is_of_clock):
        found.insert(0, (flags_heading("explains", diff.verdict), False, [_of_what_binds(diff.why, bound.name)]))
    return found


def _of_what_binds(why: Why | None, name: str) -> str:
    """Return what explains a slowdown where no metric that is always looked at does: its work, else its rate."""
    made = why.on(why.candidate) if why else None
    work, rate = (made.of("work"), made.of("rate")) if made else (None, None)
    if work and 1 / work.gain > 1 + TRIFLE:
        values = f"from {quantity(work.baseline, work.unit)} to {quantity(work.candidate, work.unit)}"
        return f"{work.label[0].upper()}{work.label[1:]} rose {values}"
    lower = ", which ran at a lower rate" if rate and 1 / rate.gain > 1 + INVISIBLE_RATE else ""
    return f"no counter of what binds ({name}{lower})"


def _value(change: Change, value: float | None, coverage: Coverage | None) -> str:
    if value is None:
        return change.note or "-"
    return quantity(value, change.unit) + (PART if coverage else "")


def _moved(change: Change) -> str:
    if change.baseline is None or change.candidate is None:
        return ""
    if change.baseline == change.candidate:
        return "="
    sign = "▲" if change.candidate > change.baseline else "▼"
    if change.delta is None:
        return f"{sign} new"
    amount = f"{change.delta:+.1f} pt" if change.in_points else f"{100 * change.delta:+.1f} %"
    if amount.strip("+- %pt") != "0.0":
        return f"{sign} {amount}"
    return "=" if change.verdict == "unchanged" else f"{sign} < 0.1 {amount.split()[1]}"


KERNELS = 8  # names in a line of what one side alone has
LONGEST_NAME = 1000  # no more of a name is looked at
TO = " → "
INVISIBLE_RATE = 0.005  # one that rounds to 1.00x
INVISIBLE = 0.0005  # a change that prints as 0.0 %
PAIRED_BY = {"nvtx": "range", "exact": "exact", "base-name": "name", "similar": "similar", "order": "order"}
PairRow = list[LaunchDiff]


def rows_of(launches: Iterable[LaunchDiff]) -> list[PairRow]:
    """Return the pairs of the same kernels in the same shapes, each as one row, the largest change of time first."""
    rows: dict[object, PairRow] = {}
    for one in launches:
        sides = _alike(one.pair.baseline), _alike(one.pair.candidate)
        rows.setdefault((sides, one.pair.confidence), []).append(one)
    return sorted(rows.values(), key=_moved_ns, reverse=True)


def times_of(row: PairRow) -> tuple[float | None, float | None]:
    """Return the time of either side: of pairs together, of repeats the median of one launch."""
    return _total(one.baseline_ns for one in row), _total(one.candidate_ns for one in row)


def word_of(row: PairRow) -> str | None:
    """Return what became of the time of a row, where all its pairs agree: faster, slower, same; None if unknown."""
    verdicts = {one.verdict.verdict if one.pair.repeats else one.verdict.likely for one in row}
    return verdicts.pop() if len(verdicts) == 1 else None


def labels_of(rows: Sequence[PairRow], width: int = LONGEST_NAME) -> list[str]:
    """Return what each row is of: how many launches or which, the kernel, or both where they differ, and how often.

    Names are cut so that what differs in them stays.
    """
    sides = {side for row in rows for side in (row[0].pair.baseline, row[0].pair.candidate)}
    every = {_kernel_of(side) for side in sides}
    return [_label(row, width, every) for row in rows]


def _kernel_of(side: Sequence[Launch]) -> str:
    return kernel_words(_longest(side), LONGEST_NAME)


def _longest(side: Sequence[Launch]) -> Launch:
    return max(side, key=lambda one: one.duration_ns or 0.0)


def _label(row: PairRow, width: int, every: Collection[str]) -> str:
    pair = row[0].pair
    before, after = _longest(pair.baseline), _longest(pair.candidate)
    times = _times_over(row)
    counts = "" if pair.repeats else chain(len(pair.baseline), len(pair.candidate))
    names = _kernel_of(pair.baseline), _kernel_of(pair.candidate)
    if counts or names[0] == names[1]:
        start = f"{counts}: " if counts else "" if times else f"{_numbers(before, after)} "
        return f"{start}{_cut(names[1], width - len(start) - len(times), every)}{times}"
    left = width - len(times) - len(TO)
    return f"{_cut(names[0], left // 2, every)}{TO}{_cut(names[1], left - left // 2, every)}{times}"


def change_of(before: float | None, after: float | None) -> str:
    """Return how far a time moved, e.g. ``▲ +4.2 %``; empty where a side is not known."""
    if before is None or after is None:
        return ""
    if before == after or (before and abs(after / before - 1) < INVISIBLE):
        return "="
    sign = "▲" if after > before else "▼"
    return f"{sign} {100 * (after / before - 1):+.1f} %" if before else f"{sign} new"


def chain(baseline: int, candidate: int) -> str:
    """Return how many launches stand against how many, e.g. ``3 launches → 1``; empty for one against one."""
    if baseline == candidate:
        return f"{baseline} launches" if baseline > 1 else ""
    return f"{number_of(baseline, 'launch')} → {candidate}"


def more_of(rows: Sequence[PairRow]) -> str:
    """Return how many pairs are not shown, and their time."""
    pairs = [one for row in rows for one in row]
    count = number_of(len(pairs), "more pair")
    before, after = times_of(pairs)
    return count if before is None or after is None else f"{count}: {quantity(before, 'ns')} → {quantity(after, 'ns')}"


def only_in_lines(diff: Diff, called: tuple[str, str]) -> list[str]:
    """Return what one side alone launched, where the other was counted: else nobody knows what it launches."""
    sides = (diff.baseline, diff.candidate)
    known = [side.launches > 0 or side.is_silent or side.workload is None for side in sides]
    both = zip(called, (diff.only_baseline, diff.only_candidate), reversed(known), strict=True)
    return [only_in(name, launches) for name, launches, is_known in both if launches and is_known]


def only_in(name: str, launches: Sequence[Launch]) -> str:
    """Return what one side alone launched, the longest first, each kernel with its time where there are several.

    E.g. ``only in a.ncu-rep (3 launches, 12.1 µs): sort ×2 10 µs, scan 2.1 µs``.
    """
    kernels: dict[str, list[Launch]] = {}
    for one in launches:
        kernels.setdefault(kernel_words(one, LONGEST_NAME), []).append(one)
    ordered = sorted(kernels.items(), key=lambda item: -sum(one.duration_ns or 0.0 for one in item[1]))
    shown = [_kernel_alone(kernel, own, len(kernels) > 1) for kernel, own in ordered[:KERNELS]]
    text = ", ".join([*shown, "…"] if ordered[KERNELS:] else shown)
    return f"only in {name} ({number_of(len(launches), 'launch')}{_known_time(launches, ', ')}): {text}"


def _kernel_alone(kernel: str, launches: Sequence[Launch], with_time: bool) -> str:
    times = f" ×{len(launches)}" if len(launches) > 1 else ""
    return f"{kernel}{times}{_known_time(launches, ' ') if with_time else ''}"


def _known_time(launches: Sequence[Launch], before: str) -> str:
    time = _total(one.duration_ns for one in launches)
    return "" if time is None else f"{before}{quantity(time, 'ns')}"


def _alike(launches: Sequence[Launch]) -> tuple[object, ...]:
    return tuple((one.signature, one.grid, one.block) for one in launches)


def _moved_ns(row: PairRow) -> float:
    before, after = times_of(row)
    often = len(row[0].pair.candidate) if row[0].pair.repeats else 1
    return -1.0 if before is None or after is None else abs(after - before) * often


def _total(times: Iterable[float | None]) -> float | None:
    """Return the sum; None where a part is not known."""
    known = list(times)
    return None if None in known else sum(time for time in known if time is not None)


def _times_over(row: PairRow) -> str:
    """Return how often the work of a row was done, e.g. ``×4``, or ``×4→9`` where the sides differ in it."""
    pair = row[0].pair
    before, after = (len(pair.baseline), len(pair.candidate)) if pair.repeats else (len(row), len(row))
    return "" if before == after == 1 else f" ×{before}" if before == after else f" ×{before}→{after}"


def _numbers(before: Launch, after: Launch) -> str:
    return f"#{after.index}" if before.index == after.index else f"#{before.index}→{after.index}"


def _cut(name: str, limit: int, every: Collection[str]) -> str:
    """Return a name cut in the middle, as those of libraries differ at both ends; else where it differs from others.

    ``every`` are all names that stand beside it: one that would be cut to the same text shows what is its own.
    """
    own = _middle_cut(name, limit)
    alike = [other for other in every if other != name and _middle_cut(other, limit) == own]
    head = name[: limit // 3]
    for pick in (min, max) if alike else ():
        place = pick(_first_difference(name, other) for other in alike)
        made, *others = (f"{head}…{one_line(one[place:], limit - len(head) - 1)}" for one in (name, *alike))
        if made not in others:
            return made
    return own


def _first_difference(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (left, right) in pairs if left != right), min(len(one), len(other)))


def _middle_cut(text: str, limit: int) -> str:
    line = one_line(text, LONGEST_NAME)
    tail = (limit - 1) // 2
    return line if len(line) <= limit else f"{line[: limit - 1 - tail]}…{line[len(line) - tail :]}"


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
    "exact": "same name and shape, as far as that is known",
    "name": "same function, other shape or template",
    "similar": "their names say the same work",
    "order": "only by their place, in one NVTX range or as the only kernel of each side",
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
    shown = rows[:MOST_ROWS]
    made = tuple(map(_pair_row, shown, labels_of(shown, KERNEL_LETTERS)))
    many = len(made) >= FILTER_FROM
    return Table("launches-table", "Paired launches", columns, made, many, note, tall=many).without_empty()


def _pair_row(row: PairRow, label: str) -> tuple[Cell, ...]:
    before, after = times_of(row)
    word = word_of(row)
    repeats = row[0].pair.repeats
    tone = TONES.get(word or "", "plain")
    moved = after / before - 1 if before and after is not None else None
    text = change_of(before, after)
    badge = Badge(word if repeats else f"likely {word}", tone if repeats else "plain") if word else None
    return (
        Cell(label),
        *(Cell() if ns is None else Cell(duration(ns), repr(float(ns))) for ns in (before, after)),
        Cell(text, "" if moved is None else repr(moved)) if text else Cell(),
        Cell(badge=badge) if badge else Cell(),
        Cell(PAIRED_BY[row[0].pair.confidence]),
    )


MOST_MOVED = 4
MOST_LETTERS = 400  # of a command


def counter_note(diff: Diff) -> str:
    """Return what counters cannot say of the time: why there are none, or that theirs did not change; mostly nothing.

    Under ncu it is one launch, alone, with noise of its own: the bench decides.
    """
    lacking = _without_counters(diff)
    if lacking:
        names = " and ".join(dict.fromkeys(one_line(short_name(side.version)) for side in lacking))
        notes = dict.fromkeys(note for side in lacking for note in side.notes if note.startswith("counters were taken"))
        taken = f" ({'; '.join(map(one_line, notes))})" if notes else ""
        said = f"no counters of {names} on {one_line(diff.workload or '')}, so nothing says why{taken}"
        return f"{said}: {counters_command(diff)}"
    verdict = diff.verdict.likely or diff.verdict.verdict
    time = next((one for one in diff.changes if one.metric == "duration"), None)
    if verdict not in ("faster", "slower") or time is None or time.verdict not in ("unchanged", "undecided"):
        return ""
    is_timed = diff.baseline.timing and diff.candidate.timing
    if not is_timed and diff.verdict.way != "unclear":  # the time under ncu is what the verdict is of
        return ""
    moved = [one.label for one in once_each(diff.changes) if one.verdict in MOVED_WORDS and one.is_material]
    names = ", ".join(map(one_line, moved[:MOST_MOVED])) + (" and others" if len(moved) > MOST_MOVED else "")
    said = f"beyond it moved {names}" if moved else "no counter moved beyond its own either"
    if is_timed:
        launches = "launch" if diff.baseline.compared == diff.candidate.compared == 1 else "call"
        within = "within its noise" if time.verdict == "unchanged" else "not clearly beyond its noise"
        return f"time under ncu is of one {launches} a side, and {within}: the bench decides; {said}"
    return f"time under ncu is no farther apart than identical code has been seen; {said}"


def difference_lines(diff: Diff) -> list[str]:
    """Return a line for each thing beside the version that differs between the runs."""
    weighed = ((one, " (forbids a comparison)" if one.hard else "") for one in diff.differences)
    lines = (f"{one_line(d.what)}: {one_line(d.baseline)} against {one_line(d.candidate)}{w}" for d, w in weighed)
    return list(dict.fromkeys(lines))


def counters_command(diff: Diff) -> str:
    """Return the command that takes the counters of a workload that sides lack; empty where both have theirs."""
    lacking = _without_counters(diff)
    if not lacking:
        return ""
    kernel = lacking[0].kernel
    versions = dict.fromkeys(short_name(one.version) for one in lacking if one.kernel == kernel)
    return one_line(f"ncu-assist profile {kernel} {' '.join(versions)} --workload {diff.workload}", MOST_LETTERS)


def _without_counters(diff: Diff) -> list[DiffSide]:
    """Return the sides that were timed on a workload and not profiled; one that launches no kernel has none to take."""
    if diff.workload is None or diff.verdict.verdict == "not-comparable":
        return []
    return [one for one in (diff.baseline, diff.candidate) if not one.launches and not one.is_silent]
