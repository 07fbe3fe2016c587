"""What the rules say of the parent as a prompt shows it, how it runs, and what is unknown."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import PurePath

from ncu_assist.analysis.run_view import LaunchRow, Shown
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.quantity import digits, percent
from ncu_assist.render.words.verdicts import of_longest
from ncu_assist.rules import RULES
from ncu_assist.rules.low_occupancy import allowed_blocks
from ncu_assist.rules.model.diagnosis import Ranked
from ncu_assist.rules.model.of_run import Told
from ncu_assist.rules.model.places import Place
from ncu_assist.rules.model.resources import BUSY_PERCENT, LATENCY
from ncu_assist.suggest.evidence.cleaning import Cleaner
from ncu_assist.suggest.evidence.counters import ids_of
from ncu_assist.suggest.evidence.records import CallShape, EvidenceItem, FindingFacts, LaunchLine

# Paragraphs of a rule's docstring that say how its figure comes about, which helps nobody to write a kernel.
INTERNAL = (
    "How the time", "How it is told", "Thresholds", "What it could save", "What the fix is worth", "The time ",
    "Reported only", "The bytes shown", "Stands behind", "It estimates",
)  # fmt: skip
Items = tuple[EvidenceItem, ...]
MOST_LAUNCHES = 8  # launches, the longest
LONGEST_NAME = 80  # letters of a kernel's name
LIMIT_WORDS = {"shared": "shared memory", "blocks": "places for blocks"}


def findings_of(told: Told, items: Items, clean: Cleaner) -> tuple[FindingFacts | None, tuple[FindingFacts, ...]]:
    """Return the diagnosis and the further findings; the first is None where there are too few counters."""
    diagnosis = told.diagnosis
    first = None if diagnosis.first is None else _finding_facts(diagnosis.first, told, items, clean)
    return first, tuple(_finding_facts(one, told, items, clean) for one in diagnosis.further)


def unknown_of(told: Told, clean: Cleaner) -> tuple[str, ...]:
    """Return what the rules cannot tell, what misleads about the measurement, and what was found but hardly matters."""
    said = [f"{one.id}: {clean.line(one.sentence)}" for one in told.warnings]
    moved, needed = told.facts.get("dram_bytes"), told.facts.algorithmic_bytes
    if moved is not None and needed is not None and moved < needed:
        said.append("DRAM bytes are fewer than the least traffic: what L2 still holds at the end was not written yet")
    remarks = ", ".join(one.finding.rule for one in told.diagnosis.remarks)
    if remarks:
        said.append(f"found, but worth below 2 % of the time: {remarks}")
    if any(one.finding.assumed for one in told.diagnosis.findings):
        said.append("estimates marked assumed rest on a ceiling that was not measured for this GPU and size")
    return tuple(said)


def _finding_facts(ranked: Ranked, told: Told, items: Items, clean: Cleaner) -> FindingFacts:
    finding = ranked.finding
    where = told.where(finding)
    detail = "".join(f" ({value})" for value in finding.detail.values())
    return FindingFacts(
        id=finding.rule + detail,
        severity=ranked.severity,
        gain=ranked.estimated_speedup if ranked.severity != "info" else None,
        message=clean.line(finding.message) + (f" (in {clean.line(where, 120)})" if where else ""),
        advice=clean.line(finding.advice),
        is_done=finding.is_done,
        where=tuple(text for place in ranked.places if (text := _where(place, clean))),
        evidence=ids_of(_of_the_table(finding.evidence, finding.launches, told), items),
        explanation=_explanation(finding.rule),
        assumed=finding.assumed,
    )


def _of_the_table(evidence: tuple[str, ...], launches: tuple[int, ...], told: Told) -> tuple[str, ...]:
    """Return the evidence that the table has: of different kernels it has the ratios of the longest launch only."""
    combined = told.facts.combined
    if not combined.is_of_kernels or combined.longest.launches[0].index in launches:
        return evidence
    return tuple(key for key in evidence if ROWS[key].combine.over_kernels)


def _where(place: Place, clean: Cleaner) -> str:
    if place.file is None:
        return ""  # an instruction of code without lines, which is nobody's to change
    return f"{clean.line(PurePath(place.file).name, 60)}:{place.line} ({percent(place.share)})"


def _explanation(rule: str) -> str:
    """Return what a rule's documentation says of hardware, cost and remedy, a paragraph a line."""
    return "\n".join(_paragraphs(inspect.getdoc(RULES[rule]) or "")) if rule in RULES else ""


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n")[1:]:
        line = " ".join(paragraph.split())
        if line and not line.startswith(INTERNAL):
            yield line


def shape_of(shown: Shown, clean: Cleaner) -> CallShape:
    """Return how the launches of the workload that is shown ran."""
    launches = tuple(_launch_line(row, clean) for row in shown.launches_shown[:MOST_LAUNCHES])
    return CallShape(launches, len(shown.launches_shown), _bound(shown), _occupancy(shown))


def _launch_line(row: LaunchRow, clean: Cleaner) -> LaunchLine:
    first = row.told.diagnosis.first if row.told else None
    one = row.launch
    return LaunchLine(
        kernel=clean.line(one.kernel, LONGEST_NAME),
        duration_ns=one.duration_ns,
        grid="x".join(map(str, one.grid)),
        block="x".join(map(str, one.block)),
        diagnosis=first.finding.rule if first else "",
    )


def _bound(shown: Shown) -> str:
    shown, alone = shown.counted, of_longest(shown)
    bound = shown.bottleneck
    if bound is None:
        return ""
    of = f" ({alone})" if alone else ""
    if bound.name == LATENCY:
        stall = next(iter(shown.combined.stalls), "")
        waits = f"; warps wait most for {stall}" if stall else ""
        busy = f"no unit is busy for {BUSY_PERCENT:.0f} % of the time, the busiest for {bound.percent:.0f} %"
        return f"{bound.name}: {busy}{waits}{of}"
    return f"{bound.name}, busy for {bound.percent:.0f} % of what it could do{of}"


def _occupancy(shown: Shown) -> str:
    """Return how many blocks each limit allows, the scarcest first; empty of several launches."""
    if shown.told is None or len(shown.combined.launches) != 1:
        return ""
    allowed = sorted(allowed_blocks(shown.told.facts).items(), key=lambda one: one[1])
    return ", ".join(f"{LIMIT_WORDS.get(word, word)} {digits(count)}" for word, count in allowed)
