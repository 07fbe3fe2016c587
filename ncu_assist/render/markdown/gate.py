"""A gate in Markdown: the outcome and its reasons, and all checks folded below."""

from __future__ import annotations

from collections.abc import Iterator

from ncu_assist.analysis.gate import Gate, GateCheck, GateSet, NotMeasured
from ncu_assist.quantity import quantity
from ncu_assist.render.markdown.text import escaped, folded, paragraph, table
from ncu_assist.render.words.gate import (
    FIRST,
    MOST_SAID,
    SHORT,
    UNMEASURED,
    Complaint,
    caveats,
    complaints,
    heading,
    limit_words,
    not_measured_summary,
    provenance,
    set_summary,
    sides,
    summary,
    title,
    why_unmeasured,
    within,
    workload_words,
)


def gate_markdown(gate: Gate | NotMeasured) -> str:
    """Return a gate as Markdown that fits the comment of a pull request."""
    if isinstance(gate, NotMeasured):
        return _not_measured(gate)
    lines = [f"### Gate: {escaped(heading(gate))}", "", f"**{escaped(summary(gate))}**", ""]
    lines += [f"- {_complaint(one)}" for one in complaints(gate)]
    lines += [f"- {paragraph(line, MOST_SAID)}" for line in caveats(gate)]
    lines += ["", paragraph(provenance(gate), MOST_SAID), ""]
    return "\n".join([*lines, *folded(f"All checks ({len(gate.checks)})", _checks(gate))]) + "\n"


def gates_markdown(some: GateSet) -> str:
    """Return the gates of all versions that changed as one comment."""
    parts = [f"## {escaped(set_summary(some), MOST_SAID)}\n", *map(gate_markdown, some.gates)]
    parts += [f"- {escaped(name)}: {FIRST}\n" for name in some.first]
    return "\n".join(parts)


def _not_measured(gate: NotMeasured) -> str:
    lines = [f"### Gate: {escaped(title(gate))}", "", f"**{escaped(not_measured_summary(gate))}**", ""]
    for side in gate.missing:
        reason = escaped(why_unmeasured(side), MOST_SAID)
        lines.append(f"- **{UNMEASURED}** {escaped(f'{side.kernel}/{side.version}')}: {reason}")
    lines += [
        f"- Try: {escaped(gate.next, MOST_SAID)}",
        *(f"- note: {paragraph(one, MOST_SAID)}" for one in gate.notes),
    ]
    return "\n".join(lines) + "\n"


def _complaint(one: Complaint) -> str:
    command = f". Try: {escaped(one.next, MOST_SAID)}" if one.next else ""
    return f"**{SHORT[one.outcome]}** {escaped(one.message, MOST_SAID)}{command}"


def _checks(gate: Gate) -> list[str]:
    columns = [("workload", "left"), ("metric", "left"), ("limit", "right"), *((name, "right") for name in sides(gate))]
    return table([*columns, ("change (99 %)", "right"), ("outcome", "left")], map(list, map(_row, gate.checks)))


def _row(check: GateCheck) -> Iterator[str]:
    unit = check.limit.metric.unit
    yield workload_words(check)
    yield check.limit.metric.key
    yield limit_words(check.limit)
    yield from ("-" if value is None else quantity(value, unit) for value in (check.baseline, check.candidate))
    yield within(check)
    yield SHORT[check.outcome]
