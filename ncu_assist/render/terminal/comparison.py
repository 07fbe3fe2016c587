"""A diff on a terminal: the verdict first, then why, then which launches were paired, then the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.diff import Bottleneck, Change, Diff, Side, flags_heading
from ncu_assist.quantity import quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.launches import chain, paired_launches, sides
from ncu_assist.render.terminal.style import Align, Style, detected, table, to_text
from ncu_assist.render.words import names, next_command, of_launches, origin, verdict_line
from ncu_assist.verdict import REASONS

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

COLORS = {"faster": "bold green", "slower": "bold red", "same": "bold", "improved": "green", "regressed": "red"}
UNSURE = "bold yellow"
SIGNIFICANT = ("improved", "regressed", "changed")
PART = "*"  # behind a value that is not of all launches


def diff_text(diff: Diff, style: Style | None = None) -> str:
    """Return a diff as text: verdict, origin and notes, reason if in doubt, bottleneck, changes, flags, differences."""
    from rich.text import Text

    parts: list[RenderableType] = [
        Text(verdict_line(diff), style=COLORS.get(diff.verdict.verdict, UNSURE)),
        Text(_origins(diff), style="dim"),
    ]
    parts += [Text(line) for line in (*_notes(diff), *_doubt(diff), *_bottlenecks(diff))]
    parts += paired_launches(diff, (style or detected()).width)
    if diff.changes:
        parts += [Text(""), _changes(diff)]
    parts += [Text(line) for line in (*_parts(diff), *_flags(diff), *_differences(diff))]
    return to_text(parts, style)


def _origins(diff: Diff) -> str:
    both = [origin(side.source, side) for side in (diff.baseline, diff.candidate)]
    if both[0] == both[1]:
        return both[0]
    return "; ".join(f"{name}: {text}" for name, text in zip(names(diff), both, strict=True))


def _notes(diff: Diff) -> list[str]:
    """Return what is odd about either side; not what two versions have in common, which `show` tells of each."""
    lines = []
    for name, one, other in zip(names(diff), *_both_ways(diff), strict=True):
        told = [note for note in one.notes if None in (one.workload, other.workload) or note not in other.notes]
        lines += [f"note: {name}: {one_line(note)}" for note in told]
    return lines


def _both_ways(diff: Diff) -> tuple[tuple[Side, Side], tuple[Side, Side]]:
    return (diff.baseline, diff.candidate), (diff.candidate, diff.baseline)


def _doubt(diff: Diff) -> list[str]:
    if diff.verdict.verdict not in ("unclear", "not-comparable"):
        return []
    lines = [f"why: {REASONS[diff.verdict.reason].meaning}"] if diff.verdict.verdict == "unclear" else []
    command = next_command(diff)
    return [*lines, f"try: {command}"] if command else lines


def _bottlenecks(diff: Diff) -> list[str]:
    before, now = diff.baseline.bottleneck, diff.candidate.bottleneck
    if before is None or now is None:
        return []
    if not _is_comparable(diff):
        baseline, candidate = names(diff)
        return [f"{baseline} is bound by {_bound(before)}, {candidate} by {_bound(now)}"]
    if before.name == now.name:
        return [f"both bound by {_bound(now, before)}"]
    return [f"was bound by {_bound(before)}, now by {_bound(now)}"]


def _bound(bottleneck: Bottleneck, before: Bottleneck | None = None) -> str:
    percents = f"{before.percent:.0f} %, now {bottleneck.percent:.0f} %" if before else f"{bottleneck.percent:.0f} %"
    return f"{bottleneck.name} ({'busiest unit at ' if bottleneck.name == 'latency' else ''}{percents})"


def _changes(diff: Diff) -> Table:
    from rich.text import Text

    moved: list[tuple[str, Align]] = [("change", "right"), ("", "left")] if _is_comparable(diff) else []
    made = table((_heading(diff), "left"), *((side, "right") for side in sides(diff)), *moved)
    for change in diff.changes:
        style = COLORS.get(change.verdict, "dim" if change.verdict not in SIGNIFICANT else "")
        told = [Text(_delta(change), style), Text(change.verdict, style)] if moved else []
        made.add_row(Text(change.label), *map(Text, _values(change)), *told)
    return made


def _is_comparable(diff: Diff) -> bool:
    return diff.verdict.verdict != "not-comparable"


def _heading(diff: Diff) -> str:
    """Return over which launches the metrics are, e.g. ``metric (25 of 27 launches → 25)``."""
    before, after = (diff.baseline, diff.candidate)
    if (before.compared, after.compared) == (before.launches, after.launches):
        return f"metric ({chain(before.launches, after.launches) or 'under ncu'})"
    return f"metric ({_of_all(before)} launches → {_of_all(after)})"


def _of_all(side: Side) -> str:
    return str(side.launches) if side.compared == side.launches else f"{side.compared} of {side.launches}"


def _values(change: Change) -> list[str]:
    both = (change.baseline, change.baseline_coverage), (change.candidate, change.candidate_coverage)
    return [
        (change.note or "-") if value is None else quantity(value, change.unit) + (PART if coverage else "")
        for value, coverage in both
    ]


def _delta(change: Change) -> str:
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


def _parts(diff: Diff) -> list[str]:
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


def _flags(diff: Diff) -> list[str]:
    if not diff.flags:
        return []
    return ["", f"{flags_heading(diff.verdict)}:", *(f"  {flag.message.rpartition(': ')[0]}" for flag in diff.flags)]


def _differences(diff: Diff) -> list[str]:
    if not diff.differences:
        return []
    lines = ["", "Besides the version these differ:"]
    for one in diff.differences:
        weight = " (forbids a comparison)" if one.hard else ""
        lines.append(f"  {one.what}: {one_line(one.baseline)} against {one_line(one.candidate)}{weight}")
    return lines
