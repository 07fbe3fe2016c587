"""A gate on a terminal: what was checked, then what was not kept, and the overall word last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.analysis.gate import Gate, GateCheck, GateSet, GateWord, NotMeasured
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.style import Style, detected, table, to_text
from ncu_assist.render.words.gate import (
    FIRST,
    MOST_SAID,
    SHORT,
    UNMEASURED,
    by_workload,
    caveats,
    complaints,
    heading,
    limit_words,
    not_measured_summary,
    provenance,
    set_summary,
    summary,
    title,
    why_unmeasured,
    within,
    worst_of,
)
from ncu_assist.versions import short_name

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

COLORS: dict[GateWord, str] = {"pass": "green", "regression": "bold red", "unclear": "bold yellow"}
MARKS: dict[GateWord, str] = {"pass": "", "regression": "✗ ", "unclear": "? "}
MARGINS = 4  # between three columns


def gate_text(gate: Gate | NotMeasured, style: Style | None = None) -> str:
    """Return a gate as text; the reasons stand below the table, what failed last, then the overall word."""
    from rich.text import Text

    if isinstance(gate, NotMeasured):
        return _not_measured(gate, style)
    parts: list[RenderableType] = [
        Text(one_line(heading(gate), MOST_SAID), style="bold"),
        Text(one_line(provenance(gate), MOST_SAID), style="dim"),
        Text(one_line(f"limits: {_limits(gate)}", MOST_SAID)),
        Text(""),
        _checks(gate, (style or detected()).width),
        Text(""),
    ]
    parts += [Text(one_line(line, MOST_SAID)) for line in caveats(gate)]
    for one in complaints(gate):
        message = f"{SHORT[one.outcome]} {title(gate)}: {one.message}"
        parts += [Text(one_line(message, MOST_SAID), style=COLORS[one.outcome])]
        parts += [Text(one_line(f"try: {one.next}", MOST_SAID))] if one.next else []
    return to_text([*parts, Text(summary(gate), style=COLORS[gate.outcome])], style)


def gates_text(some: GateSet, style: Style | None = None) -> str:
    """Return the gates of all versions that changed, one below the other, the overall word last."""
    parts = [gate_text(one, style) for one in some.gates]
    parts += [f"{one_line(name)}: {FIRST}\n" for name in some.first]
    return "\n".join([*parts, f"{one_line(set_summary(some), MOST_SAID)}\n"])


def _not_measured(gate: NotMeasured, style: Style | None) -> str:
    from rich.text import Text

    color = COLORS["unclear"]
    parts = [Text(one_line(title(gate), MOST_SAID), style="bold"), Text("")]
    parts += [Text(one_line(f"note: {note}", MOST_SAID)) for note in gate.notes]
    for side in gate.missing:
        message = f"{UNMEASURED} {side.kernel}/{short_name(side.version)}: {why_unmeasured(side)}"
        parts.append(Text(one_line(message, MOST_SAID), style=color))
    parts += [Text(one_line(f"try: {gate.next}", MOST_SAID)), Text(not_measured_summary(gate), style=color)]
    return to_text(parts, style)


def _limits(gate: Gate) -> str:
    noisy = {one.limit.metric.key for one in gate.checks if one.noise}
    limits = dict.fromkeys(one.limit for one in gate.checks)
    return ", ".join(
        f"{one.metric.key} {limit_words(one)}{' + noise' if one.metric.key in noisy else ''}" for one in limits
    )


def _checks(gate: Gate, width: int) -> Table:
    """Return a row a workload: its worst outcome, and how the metric of each limit moved."""
    from rich.text import Text

    room = width - max(len(workload) for workload in by_workload(gate)) - max(map(len, SHORT.values())) - MARGINS
    change = "change (99 %)" if any(check.low is not None for check in gate.checks) else "change"
    made = table(("workload", "left"), ("", "left"), (change, "left"))
    made.columns[0].no_wrap, made.columns[2].no_wrap = True, False
    made.columns[0].overflow, made.columns[2].overflow = "ellipsis", "fold"
    for workload, checks in by_workload(gate).items():
        word = worst_of(checks)
        made.add_row(Text(one_line(workload)), Text(SHORT[word], COLORS[word]), _lines(list(map(_cell, checks)), room))
    return made


def _lines(parts: list[Text], room: int) -> Text:
    """Return a list that breaks between its parts only."""
    from rich.text import Text

    lines = [parts[0]]
    for part in parts[1:]:
        joined = Text(", ").join([lines[-1], part])
        lines[-1:] = [joined] if len(joined) <= room - 1 else [lines[-1] + Text(","), part]
    return Text("\n").join(lines)


def _cell(check: GateCheck) -> Text:
    """Return a metric and how it moved, marked where its limit was not kept."""
    from rich.text import Text

    text = f"{MARKS[check.outcome]}{one_line(check.limit.metric.key)} {within(check)}"
    return Text(text, "" if check.outcome == "pass" else COLORS[check.outcome])
