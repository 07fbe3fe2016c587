"""What is wrong with a kernel on a terminal: the first finding with its evidence, the others in a line each."""

from __future__ import annotations

from pathlib import PurePath

from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.ncu.code import Code
from ncu_assist.quantity import quantity
from ncu_assist.render.escape import one_line
from ncu_assist.render.terminal.style import NARROWEST
from ncu_assist.render.words import factor
from ncu_assist.rules.diagnosis import Ranked
from ncu_assist.rules.of_run import Told
from ncu_assist.rules.places import Place, places

MOST = 4  # further findings
PLACE_WIDTH = 30  # columns for the name of a file


def diagnosis_lines(told: Told, code: Code | None = None, width: int = NARROWEST) -> list[str]:
    """Return the diagnosis with its source lines, further findings, what could not be answered and what misleads."""
    findings = told.diagnosis.findings
    if not findings:
        return []
    first, *others = (one for one in findings if one.finding.rule != "unexplained" or len(findings) == 1)
    lines = [f"Diagnosis: {_heading(first)}", f"  {one_line(first.finding.message, 300)}"]
    lines += [f"  {text}" for text in _evidence(first, told)]
    lines += [_where(place, width) for place in _places(first, told, code)]
    lines += [f"also {_heading(one)}: {one_line(one.finding.message, 300)}" for one in others[:MOST]]
    lines += [f"warning {one.id}: {one.sentence}" for one in told.warnings]
    silent = ", ".join(one.rule for one in told.diagnosis.unanswered)
    return [*lines, *([f"not answered for lack of counters, which --set full has: {silent}"] if silent else [])]


def _heading(ranked: Ranked) -> str:
    detail = "".join(f" ({value})" for value in ranked.finding.detail.values())
    assumed = ", assumed" if ranked.finding.assumed else ""
    gain = f", up to {factor(ranked.estimated_speedup)}" if ranked.severity != "info" else ""
    return f"{ranked.finding.rule}{detail}, {ranked.severity}{gain}{assumed}"


def _places(ranked: Ranked, told: Told, code: Code | None) -> tuple[Place, ...]:
    own = code.of([one.index for one in told.facts.combined.launches]) if code else None
    return places(ranked.finding, own) if own else ()


def _where(place: Place, width: int) -> str:
    name = f"{one_line(PurePath(place.file).name, PLACE_WIDTH)}:{place.line}  " if place.file else ""
    start = f"  {name}{100 * place.share:.0f} %  "
    return (start + one_line((place.text or "").strip(), max(1, width - len(start)))).rstrip()


def _evidence(ranked: Ranked, told: Told) -> list[str]:
    known = [(key, value) for key in ranked.finding.evidence if (value := told.facts.get(key)) is not None]
    return [f"{ROWS[key].label} {quantity(value, ROWS[key].unit)}" for key, value in known]
