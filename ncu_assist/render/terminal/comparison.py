"""A diff on a terminal: the verdict first, then why, then which launches were paired, then the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.diff import Bottleneck, Change, Diff, Flag
from ncu_assist.quantity import quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.launches import chain, paired_launches
from ncu_assist.render.terminal.style import Style, detected, table, to_text
from ncu_assist.render.words import names, next_command, origin, verdict_line
from ncu_assist.verdict import REASONS

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

COLORS = {"faster": "bold green", "slower": "bold red", "same": "bold", "improved": "green", "regressed": "red"}
UNSURE = "bold yellow"
SIGNIFICANT = ("improved", "regressed", "changed")
ROLE_TITLES = {"explains": "What got worse and explains the slowdown", "side-effect": "What got worse as a side effect"}


def diff_text(diff: Diff, style: Style | None = None) -> str:
    """Return a diff as text: verdict, origin, reason if there is doubt, bottleneck, changes, flags, differences."""
    from rich.text import Text

    parts: list[RenderableType] = [
        Text(verdict_line(diff), style=COLORS.get(diff.verdict.verdict, UNSURE)),
        Text(_origins(diff), style="dim"),
    ]
    parts += [Text(line) for line in (*_doubt(diff), *_bottlenecks(diff))]
    parts += paired_launches(diff, (style or detected()).width)
    if diff.changes:
        parts += [Text(""), _changes(diff)]
    parts += [Text(line) for line in (*_flags(diff.flags), *_differences(diff))]
    return to_text(parts, style)


def _origins(diff: Diff) -> str:
    sides = [origin(side.source, side) for side in (diff.baseline, diff.candidate)]
    if sides[0] == sides[1]:
        return sides[0]
    return "; ".join(f"{name}: {text}" for name, text in zip(names(diff), sides, strict=True))


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
    if before.name == now.name:
        return [f"both bound by {_bound(now, before)}"]
    return [f"was bound by {_bound(before)}, now by {_bound(now)}"]


def _bound(bottleneck: Bottleneck, before: Bottleneck | None = None) -> str:
    percents = f"{before.percent:.0f} %, now {bottleneck.percent:.0f} %" if before else f"{bottleneck.percent:.0f} %"
    return f"{bottleneck.name} ({'busiest unit at ' if bottleneck.name == 'latency' else ''}{percents})"


def _changes(diff: Diff) -> Table:
    from rich.text import Text

    heading = f"metric ({chain(diff.baseline.launches, diff.candidate.launches) or 'under ncu'})"
    sides = [one_line(side, 14) for side in names(diff)]
    made = table((heading, "left"), *((side, "right") for side in sides), ("change", "right"), ("", "left"))
    for change in diff.changes:
        style = COLORS.get(change.verdict, "dim" if change.verdict not in SIGNIFICANT else "")
        values = [_value(change, value) for value in (change.baseline, change.candidate)]
        made.add_row(Text(change.label), *map(Text, values), Text(_delta(change), style), Text(change.verdict, style))
    return made


def _value(change: Change, value: float | None) -> str:
    return (change.note or "-") if value is None else quantity(value, change.unit)


def _delta(change: Change) -> str:
    if change.baseline is None or change.candidate is None:
        return ""
    if change.baseline == change.candidate:
        return "="
    sign = "▲" if change.candidate > change.baseline else "▼"
    if change.delta is None:
        return f"{sign} new"
    amount = f"{change.delta:+.1f} pt" if change.in_points else f"{100 * change.delta:+.1f} %"
    return f"{sign} {amount}"


def _flags(flags: tuple[Flag, ...]) -> list[str]:
    lines = []
    for role, title in ROLE_TITLES.items():
        chosen = [flag for flag in flags if flag.role == role]
        if chosen:
            lines += ["", f"{title}:", *(f"  {flag.message.rpartition(': ')[0]}" for flag in chosen)]
    return lines


def _differences(diff: Diff) -> list[str]:
    if not diff.differences:
        return []
    lines = ["", "Besides the version these differ:"]
    for one in diff.differences:
        weight = " (forbids a comparison)" if one.hard else ""
        lines.append(f"  {one.what}: {one_line(one.baseline)} against {one_line(one.candidate)}{weight}")
    return lines
