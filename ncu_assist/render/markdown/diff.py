"""A diff for the comment of a pull request: verdict and why in the open, the tables folded."""

from __future__ import annotations

from collections.abc import Sequence

from ncu_assist.analysis.diff import Change, Diff, LaunchDiff, flags_heading
from ncu_assist.quantity import quantity
from ncu_assist.render.markdown.text import code, escaped, folded, paragraph, table
from ncu_assist.render.words.changes import candidate_text, change_word, delta_text, values_text
from ncu_assist.render.words.verdicts import kernels_and_origins, names, next_command, verdict_line
from ncu_assist.render.words.why import why_lines
from ncu_assist.verdict import REASONS, clock_note

SIGNS = {"faster": "🟢", "slower": "🔴", "same": "⚪", "unclear": "🟡", "not-comparable": "⛔"}
MOVED = ("improved", "regressed", "changed", "undecided")
WIDTH = 120
ROWS = 200  # GitHub cuts a comment at 65,536 characters


def diff_markdown(diff: Diff) -> str:
    """Return a diff in GitHub's Markdown; what changed and what did not stand behind a click each."""
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
    return "".join(code(piece) if place % 2 else escaped(piece, 2 * WIDTH) for place, piece in enumerate(pieces))


def _metrics(count: int) -> str:
    return "1 metric" if count == 1 else f"{count} metrics"


def _flags(diff: Diff) -> list[str]:
    lines: list[str] = []
    for role in dict.fromkeys(flag.role for flag in diff.flags):
        told = [flag.message.rpartition(": ")[0] for flag in diff.flags if flag.role == role]
        lines += [f"**{flags_heading(role, diff.verdict)}**", "", *(f"- {escaped(message)}" for message in told), ""]
    return lines


def _changes(diff: Diff, changes: list[Change]) -> list[str]:
    """Return a table in ncu's notation: the candidate's value with its change, standard score and repeats behind it."""
    before, after = names(diff)
    columns = [("metric", "left"), (before, "right"), (f"{after} (change, z@n)", "right"), ("", "left")]
    shown = changes[:ROWS]
    rows = [(change.label, values_text(change)[0], _notation(change), change_word(change)) for change in shown]
    more = [f"{len(changes) - ROWS} more: `--all` in the terminal"] if len(changes) > ROWS else []
    return [*table(columns, rows), *more]


def _notation(change: Change) -> str:
    delta = delta_text(change)
    return f"{candidate_text(change)} ({delta})" if delta else candidate_text(change)


def _launches(diff: Diff) -> list[str]:
    before, after = names(diff)
    columns = [("launch", "left"), (before, "right"), (after, "right"), ("verdict", "left"), ("paired by", "left")]
    return table(columns, (_launch(one) for one in diff.launches[:ROWS]))


def _launch(one: LaunchDiff) -> Sequence[str]:
    times = ["-" if ns is None else quantity(ns, "ns") for ns in (one.baseline_ns, one.candidate_ns)]
    likely = f", likely {one.verdict.likely}" if one.verdict.likely else ""
    return [one.kernel, *times, f"{one.verdict.verdict}{likely}", one.pairing]


def _differences(diff: Diff) -> list[str]:
    columns = [("what", "left"), *((side, "left") for side in names(diff)), ("", "left")]
    return table(columns, ([d.what, d.baseline, d.candidate, "forbids" if d.hard else ""] for d in diff.differences))
