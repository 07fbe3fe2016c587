"""A diff and a gate on a terminal: the outcome first, then why, then the tables."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import TYPE_CHECKING

from ncu_assist.analysis.diff.changes import IN_PERCENT
from ncu_assist.analysis.gate import Gate, GateCheck, GateSet, GateWord, NotMeasured, worst
from ncu_assist.quantity import noun_of, quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.style import Style, detected, printed, styled, table, to_text
from ncu_assist.render.words.changes import (
    ABOUT_LAUNCHES,
    PAIRED_BY,
    PART,
    PairRow,
    chain,
    change_of,
    change_word,
    counter_note,
    delta_text,
    difference_lines,
    flags_by_role,
    labels_of,
    more_of,
    only_in_lines,
    rows_of,
    short_change_table,
    times_of,
    values_text,
    word_of,
)
from ncu_assist.render.words.gate import (
    GATE_LETTERS,
    SHORT,
    UNMEASURED,
    by_workload,
    caveats,
    complaints,
    gate_heading,
    gate_provenance,
    gate_title,
    limit_words,
    not_measured_summary,
    set_summary,
    summary,
    unjudged,
    why_unmeasured,
    within,
)
from ncu_assist.render.words.verdicts import (
    clock_words,
    in_doubt_beside,
    kernels_and_origins,
    names,
    next_command,
    of_launches,
    outlier_words,
    part_words,
    verdict_line,
)
from ncu_assist.render.words.why import bound_lines, every_line, why_lines
from ncu_assist.verdict import REASONS
from ncu_assist.versions import short_name

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from ncu_assist.analysis.diff import Change, Diff, DiffSide
    from ncu_assist.render.table import Align

MOST_PAIRS = 8  # with the heading and three lines below, a dozen
ALONE_LINES = 4  # of what one side alone has, where there are few pairs
LABEL_LESS = 55  # columns that the others take: two times, the change, the verdict, by what
SIDE_WIDTH = 10
LAUNCH_COLORS: dict[str | None, str] = {"faster": "green", "slower": "red"}

OUTCOME_COLORS: dict[GateWord, str] = {"pass": "green", "regression": "bold red", "unclear": "bold yellow"}
MARKS: dict[GateWord, str] = {"pass": "", "regression": "✗ ", "unclear": "? "}
MARGINS = 4  # between three columns


def paired_launches(diff: Diff, width: int) -> list[RenderableType]:
    """Return the pairs, the largest change of time first; nothing where one range holds all, as a version's call does.

    Of runs that cannot be compared there are none, but what one side alone launched where launches are what forbids it.
    Pairs of the same kernels in the same shapes stand in one row. Cells are cut to ``width``, never wrapped.
    """
    alone = len(diff.launches) == 1 and diff.launches[0].pair.confidence == "nvtx"
    rest = only_in_lines(diff, sides(diff))
    if not rest and (alone or not diff.launches):
        return []
    comparable = diff.verdict.verdict != "not-comparable"
    if not comparable and diff.verdict.reason not in ABOUT_LAUNCHES:
        return []
    rows = rows_of(diff.launches) if comparable else []
    if not rows and not rest:
        return []
    longest = width if len(rows) > MOST_PAIRS else ALONE_LINES * width
    more = [more_of(rows[MOST_PAIRS:])] if rows[MOST_PAIRS:] else []
    parts: list[RenderableType] = [styled("")]
    if rows:
        before, after = sides(diff)
        times: list[tuple[str, Align]] = [(before, "right"), (after, "right"), ("change", "right")]
        made = table(("launch", "left"), *times, ("", "left"), ("by", "left"))
        shown = rows[:MOST_PAIRS]
        for row, label in zip(shown, labels_of(shown, width - LABEL_LESS), strict=True):
            made.add_row(*_launch_cells(row, label))
        parts.append(made)
    return [*parts, *(styled(one_line(line, longest)) for line in (*more, *rest))]


def sides(diff: Diff) -> tuple[str, str]:
    """Return what the columns are called: the sides by name, unless they are alike in what can be shown of them."""
    short = [one_line(side, SIDE_WIDTH) for side in names(diff)]
    return (short[0], short[1]) if short[0] != short[1] else ("baseline", "candidate")


def _launch_cells(row: PairRow, label: str) -> list[RenderableType]:
    before, after = times_of(row)
    word = word_of(row)
    color = LAUNCH_COLORS.get(word, "")
    times = [styled("-" if ns is None else quantity(ns, "ns")) for ns in (before, after)]
    return [
        styled(label),
        *times,
        styled(change_of(before, after), color),
        styled((word or "") if row[0].pair.repeats else "", color),
        styled(PAIRED_BY[row[0].pair.confidence]),
    ]


COLORS = {"faster": "bold green", "slower": "bold red", "same": "bold"}
UNSURE = "bold yellow"
LINE_TIMES = "time of a line: its share of the warp samples times the duration under ncu; without a word: within noise"
ABSENT = "-"


def diff_text(diff: Diff, style: Style | None = None, explain: bool = False, with_lines: bool = False) -> str:
    """Return a diff as text: verdict, origin, what it hides, notes, reason, why in five lines, changes, flags.

    The reason stands there if in doubt, or if asked to ``explain`` it; ``with_lines`` adds the lines that were kept.
    """
    width = (style or detected()).width
    parts: list[RenderableType] = [
        styled(verdict_line(diff), COLORS.get("same" if diff.verdict.by_clock else diff.verdict.verdict, UNSURE)),
        styled(kernels_and_origins(diff), "dim"),
    ]
    alone = outlier_words(diff, by_path=True)
    parts += [styled(": ".join(alone), UNSURE)] if alone[0] else []
    parts += [styled(line) for line in (*_notes(diff), *_reason(diff, explain), *_why(diff, width))]
    parts += [styled(line) for line in (counter_note(diff),) if line]
    parts += paired_launches(diff, width)
    if diff.changes:
        lacking = _lacking(diff)
        known = [change for change in diff.changes if not change.is_raw and change.label not in lacking]
        parts += [styled(""), *([_changes(diff, known)] if known else [])]
        parts += [styled(f"in neither report: {'; '.join(lacking)}", "dim")] if lacking else []
    below = *_flag_lines(diff, width), *_differences(diff, width)
    parts += [styled(line) for line in (*_strays(diff), *_coverage_lines(diff), *below)]
    if with_lines and diff.lines and diff.lines.changes:
        parts += [styled(""), *map(styled, every_line(diff.lines, sides(diff), width)), styled(LINE_TIMES, "dim")]
    return to_text(parts, style) + _other_metrics(diff)


def _notes(diff: Diff) -> list[str]:
    """Return what is odd about either side; not what two versions have in common, which `show` tells of each."""
    lines = ["note: both sides are the same run"] if diff.is_one_run else []
    lines += [f"note: {line}" for line in part_words(diff)]
    both = diff.baseline, diff.candidate
    for name, one, other in zip(names(diff), both, both[::-1], strict=True):
        if diff.is_one_run and one is diff.candidate:
            continue
        told = [note for note in one.notes if None in (one.workload, other.workload) or note not in other.notes]
        lines += [f"note: {name}: {one_line(note)}" for note in told]
        if one.launches and not one.has_settings:
            lines.append(f"note: {name}: the clocks and caches under which it was profiled are not known")
    return lines


def _reason(diff: Diff, explain: bool) -> list[str]:
    if diff.forced:
        more = [f"why: {diff.verdict.meaning}"] if in_doubt_beside(diff) else []
        return [f"FORCED in spite of: {REASONS[diff.forced].meaning}", *more, *_clocks(diff)]
    doubt = diff.verdict.verdict in ("unclear", "not-comparable")
    if not (doubt or explain):
        return _clocks(diff)
    code = f" [{diff.verdict.reason}]" if explain else ""
    lines = [f"why: {diff.verdict.meaning}{code}"] if explain or diff.verdict.verdict == "unclear" else []
    command = next_command(diff)
    return [*lines, *([f"try: {command}"] if command else []), *_clocks(diff)]


def _clocks(diff: Diff) -> list[str]:
    note = clock_words(diff)
    return [f"note: {note}"] if note else []


def _why(diff: Diff, width: int) -> list[str]:
    """Return why the time changed; of runs that cannot be compared what each is bound by."""
    if diff.verdict.verdict != "not-comparable":
        return why_lines(diff.why, diff.lines, sides(diff), width)
    return bound_lines(diff)


def _changes(diff: Diff, known: list[Change]) -> Table:
    return printed(short_change_table(known, sides(diff), _heading(diff)))


def _lacking(diff: Diff) -> list[str]:
    """Return what neither side has, for one line instead of empty rows; what is not applicable is no lack."""
    shown = [change for change in diff.changes if not change.is_raw]
    return [change.label for change in shown if values_text(change) == (ABSENT, ABSENT)]


def _other_metrics(diff: Diff) -> str:
    """Return ncu's own metrics one a line, however long their names: they are there to be searched."""
    lines = []
    for change in (change for change in diff.changes if change.is_raw):
        before, after = values_text(change)
        lines.append(
            f"{one_line(change.metric)}  {before} → {after}  {delta_text(change)}  {change_word(change)}".rstrip()
        )
    return "\n".join(["", f"ncu's other metrics, {' → '.join(names(diff))}", *lines, ""]) if lines else ""


def _heading(diff: Diff) -> str:
    """Return over which launches the metrics are, e.g. ``metric (25 of 27 launches → 25)``."""
    before, after = (diff.baseline, diff.candidate)
    if (before.compared, after.compared) == (before.launches, after.launches):
        return f"metric ({chain(before.launches, after.launches) or 'under ncu'})"
    return f"metric ({_of_all(before)} {noun_of(before.launches, 'launch')} → {_of_all(after)})"


def _of_all(side: DiffSide) -> str:
    return str(side.launches) if side.compared == side.launches else f"{side.compared} of {side.launches}"


LARGE = 0.05, 1.0  # a relative change, points: who reads *unchanged* beside more than that asks why


def _strays(diff: Diff) -> list[str]:
    """Return why a change that looks large is none, with the largest of them; nothing where there is none."""
    calm = [one for one in diff.changes if one.verdict == "unchanged" and one.delta and one.beyond and not one.is_raw]
    large = [one for one in calm if abs(one.delta or 0) >= LARGE[one.in_points]]
    if not large:
        return []
    most = max(large, key=lambda one: abs(one.delta or 0) / LARGE[one.in_points])
    amount = f"{most.beyond:.1f} pt" if most.in_points else f"{100 * (most.beyond or 0):.0f} %"
    peak = IN_PERCENT.get(most.metric, ("",))[0]  # the same number, and the one that is judged
    points = next((one.beyond for one in diff.changes if one.metric == peak), None)
    amount = f"{points:.1f} pt of its peak" if points else amount
    strays = f"{one_line(most.label, LABEL_LESS)} by up to {amount}"
    return [f"unchanged: no further than the metric strays between repeats of one kernel, as {strays}"]


def _coverage_lines(diff: Diff) -> list[str]:
    """Return of how many launches the marked values are, and why the others have none."""
    labels: dict[str, list[str]] = {}
    for change in diff.changes:
        both = zip(sides(diff), (change.baseline_coverage, change.candidate_coverage), strict=True)
        of = {name: f"{of_launches(part)} (else {', '.join(part.reasons)})" for name, part in both if part}
        if of:
            alike = len(of) == 2 and len(set(of.values())) == 1
            text = f"each of {next(iter(of.values()))}" if alike else "; ".join(f"{n} of {o}" for n, o in of.items())
            labels.setdefault(text, []).append(change.label)
    return [f"{PART} {text}: {'; '.join(metrics)}" for text, metrics in labels.items()]


def _flag_lines(diff: Diff, width: int) -> list[str]:
    """Return the flags of each role below its heading."""
    lines: list[str] = []
    for heading, _, messages in flags_by_role(diff):
        lines += ["", f"{heading}:", *_indented(messages, width)]
    return lines


def _differences(diff: Diff, width: int) -> list[str]:
    if not diff.differences:
        return []
    return ["", "Besides the version these differ:", *_indented(difference_lines(diff), width)]


def _indented(lines: Iterable[str], width: int) -> list[str]:
    """Return lines below a heading, what does not fit into one indented further."""
    return [part for line in lines for part in wrap(line, width, initial_indent="  ", subsequent_indent="    ")]


def gate_text(gate: Gate | NotMeasured, style: Style | None = None) -> str:
    """Return a gate as text; the reasons stand below the table, what failed last, then the overall word."""
    if isinstance(gate, NotMeasured):
        return _not_measured(gate, style)
    parts: list[RenderableType] = [
        styled(one_line(gate_heading(gate), GATE_LETTERS), "bold"),
        styled(one_line(gate_provenance(gate), GATE_LETTERS), "dim"),
        styled(one_line(f"limits: {_limits(gate)}", GATE_LETTERS)),
        styled(""),
        _checks(gate, (style or detected()).width),
        styled(""),
    ]
    parts += [styled(one_line(line, GATE_LETTERS)) for line in caveats(gate)]
    for outcome, said, command in complaints(gate):
        message = f"{SHORT[outcome]} {gate_title(gate)}: {said}"
        parts += [styled(one_line(message, GATE_LETTERS), OUTCOME_COLORS[outcome])]
        parts += [styled(one_line(f"try: {command}", GATE_LETTERS))] if command else []
    return to_text([*parts, styled(summary(gate), OUTCOME_COLORS[gate.outcome])], style)


def gates_text(some: GateSet) -> str:
    """Return the gates of all versions that changed, one below the other, the overall word last."""
    parts = [gate_text(one) for one in some.gates]
    parts += [f"{one_line(line, GATE_LETTERS)}\n" for line in unjudged(some)]
    return "\n".join([*parts, f"{one_line(set_summary(some), GATE_LETTERS)}\n"])


def _not_measured(gate: NotMeasured, style: Style | None) -> str:
    color = OUTCOME_COLORS["unclear"]
    parts = [styled(one_line(gate_title(gate), GATE_LETTERS), "bold"), styled("")]
    parts += [styled(one_line(f"note: {note}", GATE_LETTERS)) for note in gate.notes]
    for side in gate.missing:
        message = f"{UNMEASURED} {side.kernel}/{short_name(side.version)}: {why_unmeasured(side)}"
        parts.append(styled(one_line(message, GATE_LETTERS), color))
    parts += [styled(one_line(f"try: {gate.next}", GATE_LETTERS)), styled(not_measured_summary(gate), color)]
    return to_text(parts, style)


def _limits(gate: Gate) -> str:
    noisy = {one.limit.metric.key for one in gate.checks if one.noise}
    limits = dict.fromkeys(one.limit for one in gate.checks)
    return ", ".join(
        f"{one.metric.key} {limit_words(one)}{' + noise' if one.metric.key in noisy else ''}" for one in limits
    )


def _checks(gate: Gate, width: int) -> Table:
    """Return a row a workload: its worst outcome, and how the metric of each limit moved."""
    room = width - max(len(workload) for workload in by_workload(gate)) - max(map(len, SHORT.values())) - MARGINS
    change = "change (99 %)" if any(check.low is not None for check in gate.checks) else "change"
    made = table(("workload", "left"), ("", "left"), (change, "left"))
    made.columns[0].no_wrap, made.columns[2].no_wrap = True, False
    made.columns[0].overflow, made.columns[2].overflow = "ellipsis", "fold"
    for workload, checks in by_workload(gate).items():
        word = worst(check.outcome for check in checks)
        made.add_row(
            styled(one_line(workload)),
            styled(SHORT[word], OUTCOME_COLORS[word]),
            _wrapped(list(map(_check_cell, checks)), room),
        )
    return made


def _wrapped(parts: list[Text], room: int) -> Text:
    """Return a list that breaks between its parts only."""
    lines = [parts[0]]
    for part in parts[1:]:
        joined = styled(", ").join([lines[-1], part])
        lines[-1:] = [joined] if len(joined) <= room - 1 else [lines[-1] + styled(","), part]
    return styled("\n").join(lines)


def _check_cell(check: GateCheck) -> Text:
    """Return a metric and how it moved, marked where its limit was not kept."""
    text = f"{MARKS[check.outcome]}{one_line(check.limit.metric.key)} {within(check)}"
    return styled(text, "" if check.outcome == "pass" else OUTCOME_COLORS[check.outcome])
