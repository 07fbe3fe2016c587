"""A diff for the comment of a pull request: verdict and why in the open, the tables folded."""

from __future__ import annotations

from ncu_assist.analysis.diff import Change, Diff
from ncu_assist.analysis.diff.flagging import waits_apart
from ncu_assist.render.markdown.text import code, escaped, folded, paragraph, printed, table
from ncu_assist.render.words.changes import flags_by_role, rows_of
from ncu_assist.render.words.diff_tables import pair_table, short_change_table
from ncu_assist.render.words.verdicts import kernels_and_origins, names, next_command, verdict_line
from ncu_assist.render.words.why import why_lines
from ncu_assist.verdict import REASONS, clock_note

SIGNS = {"faster": "🟢", "slower": "🔴", "same": "⚪", "unclear": "🟡", "not-comparable": "⛔"}
MOVED = ("improved", "regressed", "changed", "undecided")
WIDTH = 120
ROWS = 200  # GitHub cuts a comment at 65,536 characters


def diff_markdown(diff: Diff) -> str:
    """Return a diff in GitHub's Markdown; what changed and what did not stand behind a click each."""
    diff = waits_apart(diff)
    sign = SIGNS["same" if diff.verdict.by_clock else diff.verdict.verdict]
    lines = [f"{sign} **{escaped(verdict_line(diff))}**", "", paragraph(kernels_and_origins(diff)), ""]
    lines += _reason(diff)
    lines += _why(diff)
    lines += _flags(diff)
    moved = [change for change in diff.changes if change.verdict in MOVED]
    rest = [change for change in diff.changes if change.verdict not in MOVED]
    if len(diff.launches) > 1:
        lines += [*folded(f"{len(diff.launches)} launches, the largest change of time first", _launches(diff)), ""]
    if moved:
        lines += [*folded(f"{_metrics(len(moved))} changed", _changes(diff, moved)), ""]
    if rest:
        lines += [*folded(f"{_metrics(len(rest))} did not change, or lack a value", _changes(diff, rest)), ""]
    if diff.differences:
        lines += folded(f"{len(diff.differences)} other differences", _differences(diff))
    return "\n".join(lines).rstrip() + "\n"


def _reason(diff: Diff) -> list[str]:
    lines = [paragraph(f"why: {REASONS[diff.verdict.reason].meaning}", 500)]
    if diff.forced:
        lines.insert(0, f"**forced** in spite of: {escaped(REASONS[diff.forced].meaning)}")
    command, clocks = next_command(diff), clock_note(diff.verdict)
    lines += [f"try: {code(command)}"] if command else []
    notes = dict.fromkeys(escaped(note) for side in (diff.baseline, diff.candidate) for note in side.notes)
    return ["  \n".join([*lines, *([clocks] if clocks else []), *(f"note: {note}" for note in notes)]), ""]


def _why(diff: Diff) -> list[str]:
    told = why_lines(diff.why, diff.lines, names(diff), WIDTH)
    return [*(f"- {_with_code(line)}" for line in told), ""] if told else []


def _with_code(line: str) -> str:
    """Return a line whose source text stands between backticks, as code."""
    pieces = line.split("`")
    if len(pieces) % 2 == 0:  # a backtick in the source itself
        return escaped(line, 2 * WIDTH)
    made = (code(piece) if place % 2 else escaped(piece, 2 * WIDTH) for place, piece in enumerate(pieces))
    return " ".join(piece for piece in made if piece)


def _metrics(count: int) -> str:
    return "1 metric" if count == 1 else f"{count} metrics"


def _flags(diff: Diff) -> list[str]:
    lines: list[str] = []
    for heading, _, messages in flags_by_role(diff):
        lines += [f"**{heading}**", "", *(f"- {escaped(message)}" for message in messages), ""]
    return lines


def _changes(diff: Diff, changes: list[Change]) -> list[str]:
    more = [f"{len(changes) - ROWS} more: `--all` in the terminal"] if len(changes) > ROWS else []
    return [*printed(short_change_table(changes[:ROWS], names(diff))), *more]


def _launches(diff: Diff) -> list[str]:
    made = pair_table(rows_of(diff.launches), names(diff))
    return [*printed(made), *(["", paragraph(made.note)] if made.note else [])]


def _differences(diff: Diff) -> list[str]:
    columns = [("what", "left"), *((side, "left") for side in names(diff)), ("", "left")]
    return table(columns, ([d.what, d.baseline, d.candidate, "forbids" if d.hard else ""] for d in diff.differences))
