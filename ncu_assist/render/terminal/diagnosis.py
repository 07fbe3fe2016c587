"""What is wrong with a kernel on a terminal: the first finding with its evidence, the others in a line each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.quantity import percent
from ncu_assist.render.escape import one_line
from ncu_assist.render.evidence_words import evidence_value
from ncu_assist.render.terminal.style import NARROWEST
from ncu_assist.render.words import estimated
from ncu_assist.rules.model.diagnosis import Ranked
from ncu_assist.rules.model.of_run import Told
from ncu_assist.rules.model.places import Place

MOST = 4  # further findings
MESSAGE = 300  # letters
PLACE_WIDTH = 30  # columns for the name of a file
GUESS = "(guess) "  # before the text of a line: code of a library, and the report does not say who calls it


def diagnosis_lines(told: Told, width: int = NARROWEST) -> list[str]:
    """Return the diagnosis with its source lines, further findings, what could not be answered and what misleads."""
    diagnosis = told.diagnosis
    if diagnosis.first is None:
        return []
    further = diagnosis.further
    lines = [f"Diagnosis{_of(told)}: {_title(told)}", *_first(diagnosis.first, told, width)]
    for one in further[:MOST]:
        lines += [f"also {_heading(one)}: {_message(one, told)}", *(_where(place, width) for place in one.places[:1])]
    if len(further) > MOST:
        lines.append(f"and {len(further) - MOST} more findings above info: --json has them")
    remarks = ", ".join(_name(one) for one in diagnosis.remarks)
    lines += [f"remarks: {remarks}"] if remarks else []
    return [*lines, *(f"warning {one.id}: {one_line(one.sentence, 1000)}" for one in told.warnings)]


def _of(told: Told) -> str:
    """Return the kernel that a diagnosis is of, with its part of the time, where it is not of all launches."""
    part = told.part
    if part is None:
        return ""
    share = "" if part.share is None else f", {percent(part.share)} of the time"
    return f" of {one_line(part.name, 60)} ({part.launches} of {part.of_launches} launches{share})"


def _title(told: Told) -> str:
    first = told.diagnosis.first
    if first is None or told.diagnosis.lacks_counters:
        return "none, for lack of counters"
    return _heading(first)


def _first(first: Ranked, told: Told, width: int) -> Iterator[str]:
    yield f"  {_message(first, told)}"
    yield from (f"  {text}" for text in _evidence(first, told))
    yield from (_where(place, width) for place in first.places)
    if first.finding.advice:
        yield f"  try: {one_line(first.finding.advice, MESSAGE)}"
    if not told.diagnosis.lacks_counters:
        yield f"  more on it: ncu-assist explain {first.finding.rule}"


def _message(ranked: Ranked, told: Told) -> str:
    where = told.where(ranked.finding)
    return one_line(ranked.finding.message, MESSAGE) + (f" (in {one_line(where, 100)})" if where else "")


def _heading(ranked: Ranked) -> str:
    is_assumed = ranked.finding.assumed
    if ranked.severity == "info":
        return f"{_name(ranked)}, {ranked.severity}{', assumed' if is_assumed else ''}"
    return f"{_name(ranked)}, {ranked.severity}, {estimated(ranked.estimated_speedup, is_assumed)}"


def _name(ranked: Ranked) -> str:
    return ranked.finding.rule + "".join(f" ({value})" for value in ranked.finding.detail.values())


def _where(place: Place, width: int) -> str:
    name = f"{one_line(PurePath(place.file).name, PLACE_WIDTH)}:{place.line}  " if place.file else ""
    guess = GUESS if place.is_guess else ""
    start = f"  {name}{percent(place.share)}  {guess}"
    return (start + one_line((place.text or "").strip(), max(1, width - len(start)))).rstrip()


def _evidence(ranked: Ranked, told: Told) -> list[str]:
    facts = told.about(ranked.finding)
    known = [(key, value) for key in ranked.finding.evidence if (value := facts.get(key)) is not None]
    return [
        f"{ROWS[key].label} {evidence_value(value, ROWS[key].unit, facts.is_approximate(key))}" for key, value in known
    ]
