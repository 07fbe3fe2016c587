"""Results as GitHub's Markdown, for the comment of a pull request: details folded, text from outside made harmless."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ncu_assist.analysis.diff import Change, Diff
from ncu_assist.analysis.gate import Gate, GateCheck, GateSet, GateWord, NotMeasured
from ncu_assist.quantity import number_of, quantity
from ncu_assist.render.escape import one_line, plain
from ncu_assist.render.table import Table
from ncu_assist.render.words.changes import counter_note, flags_by_role, pair_table, rows_of, short_change_table
from ncu_assist.render.words.gate import (
    GATE_LETTERS,
    SHORT,
    UNMEASURED,
    caveats,
    complaints,
    gate_heading,
    gate_provenance,
    gate_title,
    limit_words,
    not_measured_summary,
    set_summary,
    sides,
    summary,
    unjudged,
    values,
    why_unmeasured,
    within,
    workload_words,
)
from ncu_assist.render.words.values import query_cell
from ncu_assist.render.words.verdicts import (
    clock_words,
    kernels_and_origins,
    names,
    next_words,
    outlier_words,
    part_words,
    verdict_line,
)
from ncu_assist.render.words.why import why_sentences
from ncu_assist.verdict import REASONS

if TYPE_CHECKING:
    from ncu_assist.analysis.archive import QueryResult
    from ncu_assist.environment import BugReport, LastError

APART = "&#8203;"  # a space without width: what stands on both sides is no longer one mention or link
BY_NUMBER = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;"}  # a dollar would start a formula, also behind \
SPECIAL = str.maketrans({**BY_NUMBER, **{character: f"\\{character}" for character in "\\`*[]|~#"}})
UNDERSCORE = re.compile(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")  # within a word it is no emphasis, and stays readable
# In v7@20261121T0854 the @ mentions nobody and is no address, so a reference can be copied.
MENTION = re.compile(r"(?<![A-Za-z0-9])@(?=\w)|@(?=[\w-]+\.)|(?<!&)#(?=\w)|\bGH-(?=\d)", re.IGNORECASE)
LINK = re.compile(r":(?=//)|\bwww(?=\.)", re.IGNORECASE)
START_OF_BLOCK = re.compile(r"(?=[-+=])|\d+(?=[.)])")  # of what the rest can be, nothing is left: # and > are escaped

SIGNS = {"faster": "🟢", "slower": "🔴", "same": "⚪", "unclear": "🟡", "not-comparable": "⛔"}
MOVED = ("improved", "regressed", "changed", "undecided")
WIDTH = 120
MOST_ROWS = 200  # GitHub cuts a comment at 65,536 characters


def escaped(text: str, limit: int = 200) -> str:
    """Return ``text`` on one line, cut after ``limit`` characters, fit for a cell of a table or the rest of a line.

    What would be Markdown, HTML, a formula, a mention (@name, #12) or a link is spelled so that it shows and does
    nothing; control characters are spelled out, as on a terminal.
    """
    return _unlinked(UNDERSCORE.sub(r"\\_", one_line(text, limit).translate(SPECIAL)))


def paragraph(text: str, limit: int = 200) -> str:
    """Return what ``escaped`` does, fit for the beginning of a line too: no list, heading or rule starts there."""
    line = escaped(text, limit)
    start = START_OF_BLOCK.match(line)
    return f"{start.group()}\\{line[start.end() :]}" if start else line


def code(text: str, limit: int = 500) -> str:
    """Return ``text`` as code within a line, where nothing means anything but the backtick that ends it."""
    return f"`{one_line(text, limit).replace('`', chr(39))}`"


def in_html(text: str) -> str:
    """Return ``text`` for between two tags on one line, where Markdown means nothing and HTML does."""
    return _unlinked(html.escape(one_line(text)))


def _unlinked(line: str) -> str:
    return LINK.sub(lambda found: found.group() + APART, MENTION.sub(lambda found: found.group() + APART, line))


BELOW_HEADING = {"left": "---", "right": "--:"}


def table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table; ``columns`` are headings with ``left`` or ``right``, cells are escaped here."""
    head = [escaped(heading) for heading, _ in columns]
    body = ([escaped(cell) for cell in row] for row in rows)
    return [_line(head), _line([BELOW_HEADING[align] for _, align in columns]), *map(_line, body)]


def printed(made: Table) -> list[str]:
    """Return the lines of a table: GitHub's Markdown has no links in it, as a comment is read elsewhere."""
    columns = [(column.title, column.align) for column in made.columns]
    return table(columns, ([cell.words for cell in row] for row in made.rows))


def folded(summary: str, lines: Iterable[str]) -> list[str]:
    """Return lines behind a summary that opens on a click."""
    return ["<details>", f"<summary>{in_html(summary)}</summary>", "", *lines, "", "</details>"]


def query_markdown(found: QueryResult) -> str:
    """Return the rows of a query as a table."""
    numbers = [
        all(isinstance(row[place], int | float | None) for row in found.rows) for place in range(len(found.columns))
    ]
    columns = [(name, "right" if is_number else "left") for name, is_number in zip(found.columns, numbers, strict=True)]
    rows = [[query_cell(value) for value in row] for row in found.rows]
    return "\n".join(table(columns, rows))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def diff_markdown(diff: Diff) -> str:
    """Return a diff in GitHub's Markdown; what changed and what did not stand behind a click each."""
    sign = SIGNS["same" if diff.verdict.by_clock else diff.verdict.verdict]
    lines = [f"{sign} **{escaped(verdict_line(diff))}**", "", paragraph(kernels_and_origins(diff)), ""]
    lines += _reason_lines(diff)
    lines += _why_lines(diff)
    lines += _flag_lines(diff)
    moved = [change for change in diff.changes if change.verdict in MOVED]
    rest = [change for change in diff.changes if change.verdict not in MOVED]
    if len(diff.launches) > 1:
        lines += [
            *folded(f"{len(diff.launches)} launches, the largest change of time first", _launches_table(diff)),
            "",
        ]
    if moved:
        lines += [*folded(f"{_count_of_metrics(len(moved))} changed", _changes_table(diff, moved)), ""]
    if rest:
        lines += [
            *folded(f"{_count_of_metrics(len(rest))} did not change, or lack a value", _changes_table(diff, rest)),
            "",
        ]
    if diff.differences:
        lines += folded(number_of(len(diff.differences), "other difference"), _differences_table(diff))
    return "\n".join(lines).rstrip() + "\n"


def _reason_lines(diff: Diff) -> list[str]:
    alone, to_compare = outlier_words(diff)
    lines = [f"{escaped(alone)}: {code(to_compare)}"] if alone else []
    if not diff.forced or diff.verdict.reason != diff.forced:
        lines += [paragraph(f"why: {diff.verdict.meaning}", 500)]
    if diff.forced:
        lines.insert(0, f"**forced** in spite of: {escaped(REASONS[diff.forced].meaning)}")
    command, clocks = next_words(diff), clock_words(diff)
    lines += [f"try: {_with_code(command)}"] if command else []
    own = (note for side in (diff.baseline, diff.candidate) for note in side.notes)
    notes = dict.fromkeys(map(escaped, (*part_words(diff), *own)))
    return ["  \n".join([*lines, *([clocks] if clocks else []), *(f"note: {note}" for note in notes)]), ""]


def _why_lines(diff: Diff) -> list[str]:
    told = [_with_code(line) for line in why_sentences(diff.why, diff.lines, names(diff), WIDTH)]
    note = counter_note(diff)
    told += [escaped(note, 4 * WIDTH)] if note else []
    return [*(f"- {line}" for line in told), ""] if told else []


def _with_code(line: str) -> str:
    """Return a line whose source text stands between backticks, as code."""
    pieces = line.split("`")
    if len(pieces) % 2 == 0:  # a backtick in the source itself
        return escaped(line, 4 * WIDTH)
    made = (code(piece) if place % 2 else escaped(piece, 4 * WIDTH) for place, piece in enumerate(pieces))
    return " ".join(piece for piece in made if piece)


def _count_of_metrics(count: int) -> str:
    return number_of(count, "metric")


def _flag_lines(diff: Diff) -> list[str]:
    lines: list[str] = []
    for heading, _, messages in flags_by_role(diff):
        lines += [f"**{heading}**", "", *(f"- {escaped(message)}" for message in messages), ""]
    return lines


def _changes_table(diff: Diff, changes: list[Change]) -> list[str]:
    more = [f"{len(changes) - MOST_ROWS} more: `--all` in the terminal"] if len(changes) > MOST_ROWS else []
    return [*printed(short_change_table(changes[:MOST_ROWS], names(diff))), *more]


def _launches_table(diff: Diff) -> list[str]:
    made = pair_table(rows_of(diff.launches), names(diff))
    return [*printed(made), *(["", paragraph(made.note)] if made.note else [])]


def _differences_table(diff: Diff) -> list[str]:
    columns = [("what", "left"), *((side, "left") for side in names(diff)), ("", "left")]
    return table(columns, ([d.what, d.baseline, d.candidate, "forbids" if d.hard else ""] for d in diff.differences))


def gate_markdown(gate: Gate | NotMeasured) -> str:
    """Return a gate as Markdown that fits the comment of a pull request."""
    if isinstance(gate, NotMeasured):
        return _not_measured(gate)
    lines = [f"### Gate: {escaped(gate_heading(gate))}", "", f"**{escaped(summary(gate))}**", ""]
    lines += [f"- {_complaint(*one)}" for one in complaints(gate)]
    lines += [f"- {paragraph(line, GATE_LETTERS)}" for line in caveats(gate)]
    lines += ["", paragraph(gate_provenance(gate), GATE_LETTERS), ""]
    return "\n".join([*lines, *folded(f"All checks ({len(gate.checks)})", _checks_table(gate))]) + "\n"


def gates_markdown(some: GateSet) -> str:
    """Return the gates of all versions that changed as one comment."""
    parts = [f"## {escaped(set_summary(some), GATE_LETTERS)}\n", *map(gate_markdown, some.gates)]
    parts += [f"- {escaped(line, GATE_LETTERS)}\n" for line in unjudged(some)]
    return "\n".join(parts)


def _not_measured(gate: NotMeasured) -> str:
    lines = [f"### Gate: {escaped(gate_title(gate))}", "", f"**{escaped(not_measured_summary(gate))}**", ""]
    for side in gate.missing:
        reason = escaped(why_unmeasured(side), GATE_LETTERS)
        lines.append(f"- **{UNMEASURED}** {escaped(f'{side.kernel}/{side.version}')}: {reason}")
    lines += [
        f"- Try: {escaped(gate.next, GATE_LETTERS)}",
        *(f"- note: {paragraph(one, GATE_LETTERS)}" for one in gate.notes),
    ]
    return "\n".join(lines) + "\n"


def _complaint(outcome: GateWord, message: str, command: str) -> str:
    hint = f". Try: {escaped(command, GATE_LETTERS)}" if command else ""
    return f"**{SHORT[outcome]}** {escaped(message, GATE_LETTERS)}{hint}"


def _checks_table(gate: Gate) -> list[str]:
    columns = [("workload", "left"), ("metric", "left"), ("limit", "right"), *((name, "right") for name in sides(gate))]
    return table([*columns, ("change (99 %)", "right"), ("outcome", "left")], map(list, map(_check_row, gate.checks)))


def _check_row(check: GateCheck) -> Iterator[str]:
    unit = check.limit.metric.unit
    yield workload_words(check)
    yield check.limit.metric.key
    yield limit_words(check.limit)
    yield from ("-" if value is None else quantity(value, unit) for value in (check.baseline, check.candidate))
    told = within(check)
    yield "-" if told == values(check) else told  # columns of their own have the values
    yield SHORT[check.outcome]


def bug_report_markdown(found: BugReport) -> str:
    """Return versions, the last error and what doctor says; what to add stands first."""
    return "\n".join(_bug_report_lines(found)) + "\n"


def _bug_report_lines(found: BugReport) -> Iterator[str]:
    from ncu_assist.render.terminal.machine import doctor_text
    from ncu_assist.render.terminal.style import Style

    yield "## What happened"
    yield ""
    yield "(what you did, what you expected, what came)"
    yield ""
    yield "## Versions"
    yield ""
    yield f"- ncu-assist {found.version}, Python {found.python}, {one_line(found.platform)}"
    yield f"- {', '.join(f'{name} {version}' for name, version in found.packages.items())}"
    yield ""
    yield "## Last error"
    yield ""
    yield from _error_lines(found.last_error) if found.last_error else ("none is known",)
    yield ""
    yield "## Machine"
    yield ""
    yield from _block(doctor_text(found.examination, Style()))


def _error_lines(last: LastError) -> Iterator[str]:
    yield f"{last.when}, ncu-assist {last.version}, exit code {last.exit_code}"
    yield ""
    hint = f"  try: {last.hint}" if last.hint else ""
    yield from _block("\n".join(filter(None, (f"$ {last.command}", f"error: {last.message}", hint, last.traceback))))


def _block(text: str) -> Iterator[str]:
    """Yield text as a block of code, whose fence is longer than any in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    yield fence
    yield from plain(text.rstrip("\n")).split("\n")
    yield fence
