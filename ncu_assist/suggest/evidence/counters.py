"""What counters and rules say of the parent: the numbered table, the findings, how it runs, and what is unknown."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import PurePath

from ncu_assist.analysis.launches import LaunchRow
from ncu_assist.analysis.run_view import RunView
from ncu_assist.frame import Combined
from ncu_assist.frame.combined import STALL_SHARE
from ncu_assist.ncu.catalogue.metric import Metric
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.pipeline.pages.run import opcodes_of
from ncu_assist.quantity import DURATIONS, SCALES, SHORT, digits, percent
from ncu_assist.render.escape import one_line
from ncu_assist.render.words.occupancy import LIMIT_WORDS, room_words
from ncu_assist.render.words.values import COUNTED, IN_FULL_BELOW
from ncu_assist.render.words.verdicts import of_longest
from ncu_assist.rules import RULES
from ncu_assist.rules.low_occupancy import allowed_blocks
from ncu_assist.rules.model.diagnosis import Diagnosis, Ranked
from ncu_assist.rules.model.of_run import RuleResults
from ncu_assist.rules.model.places import Place
from ncu_assist.rules.model.resources import BUSY_PERCENT, LATENCY, RESOURCES, Bottleneck, refined
from ncu_assist.suggest.evidence.records import CallShape, EvidenceItem, FindingFacts, LaunchLine
from ncu_assist.suggest.evidence.task import Cleaner

MOST_ITEMS = 28  # rows: published loops show 24 raw numbers; a budget drops those at the end first
TOP_STALLS = 4
LEAST_STALL = 5.0  # percent of warp states
OF_A_FINDING = 3  # of each further one
# What the launches say already, or what stall shares say better.
SAID = frozenset(("block_size", "grid_size", "barriers", "sm_count", "achieved_warps"))
# What has no meaning over launches of several kernels.
OF_A_LAUNCH = frozenset(("registers", "shared_memory", "theoretical_occupancy", "waves_per_sm"))
LOWER_BOUNDS = {"bytes_in_flight": " that warps wait for, at least"}  # see rules.low_bytes_in_flight
WARPS = "warps_"  # a key of it and a reason: warps that wait at each issue
# What is asked of every kernel, the most telling first: traffic, room for warps, caches, accesses, instructions.
ALWAYS = (
    "dram_throughput", "dram_bytes", "bytes_in_flight", "achieved_occupancy", "theoretical_occupancy", "registers",
    "shared_memory", "global_sectors_excessive", "shared_wavefronts_excessive", "sectors_per_request_load",
    "sectors_per_request_store",
    "memory_throughput", "sm_throughput", "l1_hit_rate_load", "l2_hit_rate", "l2_sectors_sm", "instructions",
    "issue_slots_busy", "waves_per_sm", "threads_per_instruction", "local_spilling_requests",
)  # fmt: skip
PIPES = ("issue_slots_busy", "pipe_fma", "pipe_fma_heavy", "pipe_alu", "pipe_fp64", "pipe_xu", "pipe_lsu", "pipe_adu",
         "pipe_uniform", "pipe_tensor_cycles")  # fmt: skip
LEAST_BUSY, MOST_OPCODES = 1.0, 10  # percent of a pipe; opcodes by name
PERCENT = "%"
UNIT_WORDS = {"inst": "instructions", "sector": "sectors", "register/thread": "registers/thread", "warp": "warps"}


def items_of(
    combined: Combined, diagnosis: Diagnosis | None, bound: Bottleneck | None, before: Combined | None
) -> tuple[EvidenceItem, ...]:
    """Return the counters of a run by importance; ``before`` are those of the version before, None without."""
    keys = dict.fromkeys(_keys(combined, diagnosis, bound))
    known = [(key, value) for key in keys if (value := _counter_value(_launches_of(key, combined), key)) is not None][
        :MOST_ITEMS
    ]
    return tuple(
        _evidence_item(number, key, value, _before(key, combined, before), _of_launch(key, combined))
        for number, (key, value) in enumerate(known, start=1)
    )


def _launches_of(key: str, combined: Combined) -> Combined:
    """Return the launches that a counter is of: all, but what kernels have each for themselves of the longest."""
    is_of_all = not combined.is_of_kernels or (key in ROWS and ROWS[key].combine.over_kernels)
    return combined if is_of_all else combined.longest


def _before(key: str, combined: Combined, before: Combined | None) -> float | None:
    """Return what the version before had, where the same can be told of it."""
    is_of_all = _launches_of(key, combined) is combined
    return _counter_value(before, key) if before and is_of_all else None


def _of_launch(key: str, combined: Combined) -> str:
    """Return which launch a counter is of where it is not of all."""
    own = _launches_of(key, combined)
    return "" if own is combined else f", launch {own.launches[0].index} alone"


def ids_of(keys: tuple[str, ...], items: tuple[EvidenceItem, ...]) -> tuple[str, ...]:
    """Return the ids of the items that stand for these keys, in their order."""
    ids = {one.name: one.id for one in items}
    return tuple(ids[name_of(key)] for key in keys if name_of(key) in ids)


def _keys(combined: Combined, diagnosis: Diagnosis | None, bound: Bottleneck | None) -> Iterator[str]:
    first = diagnosis.first if diagnosis else None
    yield "duration"
    yield from first.finding.evidence if first else ()
    if bound and bound.name in RESOURCES and RESOURCES[bound.name].busy:
        yield RESOURCES[bound.name].busy
    stalls = [reason for reason, share in _launches_of(STALL_SHARE, combined).stalls.items() if share >= LEAST_STALL]
    yield from (STALL_SHARE + reason for reason in stalls[:TOP_STALLS])
    for one in diagnosis.further if diagnosis else ():
        own = [key for key in one.finding.evidence if key not in SAID and not key.startswith(WARPS)]
        yield from own[:OF_A_FINDING]
    said = {"memory_throughput"} if bound and bound.name in RESOURCES else set()  # the share of what binds is the same
    said |= OF_A_LAUNCH if len(combined.launches) > 1 else set()
    yield from (key for key in ALWAYS if key not in said)


def _counter_value(combined: Combined, key: str) -> float | None:
    if key.startswith(STALL_SHARE):
        return combined.stalls.get(key.removeprefix(STALL_SHARE))
    return combined.values[key]


def _evidence_item(number: int, key: str, value: float, before: float | None, of: str) -> EvidenceItem:
    unit = ROWS[key].unit if key in ROWS else "%"
    label = (ROWS[key].label if key in ROWS else key.replace("_", " ")) + LOWER_BOUNDS.get(key, "") + of
    scale, name = scale_of(value, unit)
    past = None if before is None else as_shown(before, scale, unit)
    return EvidenceItem(f"E{number}", label, name_of(key), as_shown(value, scale, unit), name, past)


def name_of(key: str) -> str:
    """Return what a key is called in the table: by ncu where a report holds it, else by our own catalogue."""
    row = ROWS.get(key)
    return row.names[0] if isinstance(row, Metric) else key


def scale_of(value: float, unit: str) -> tuple[float, str]:
    """Return what a value in ``unit`` (the catalogue's) is divided by to be read easily, and the unit it then has."""
    if unit == PERCENT:
        return 1.0, PERCENT
    if unit == "ns":
        return next(((scale, name) for scale, name in DURATIONS if abs(value) >= scale), (1.0, "ns"))
    shown = SHORT.get(unit, UNIT_WORDS.get(unit, unit))
    if unit in COUNTED and value == int(value) and abs(value) < IN_FULL_BELOW:
        return 1.0, shown
    scale, prefix = next(((s, p) for s, p in SCALES if abs(value) >= s), (1.0, ""))
    return scale, f"{prefix} {shown}".strip() if unit in (*UNIT_WORDS, "") else f"{prefix}{shown}"


def as_shown(value: float, scale: float, unit: str) -> float:
    """Return a value as it is printed: a percentage with one decimal, anything else with three digits."""
    if unit == PERCENT:
        return round(value, 1)
    scaled = value / scale
    return scaled if scaled == int(scaled) and abs(scaled) < IN_FULL_BELOW else float(digits(scaled))


# Paragraphs of a rule's docstring that say how its figure comes about, which helps nobody to write a kernel.
INTERNAL = (
    "How the time", "How it is told", "Thresholds", "What it could save", "What the fix is worth", "The time ",
    "Reported only", "The bytes shown", "Stands behind", "It estimates",
)  # fmt: skip
Items = tuple[EvidenceItem, ...]
MOST_LAUNCHES = 8  # launches, the longest
LONGEST_NAME = 80  # letters of a kernel's name


def findings_of(
    results: RuleResults, items: Items, clean: Cleaner
) -> tuple[FindingFacts | None, tuple[FindingFacts, ...]]:
    """Return the diagnosis and the further findings; the first is None where there are too few counters."""
    diagnosis = results.diagnosis
    first = None if diagnosis.first is None else _finding_facts(diagnosis.first, results, items, clean)
    return first, tuple(_finding_facts(one, results, items, clean) for one in diagnosis.further)


def unknown_of(results: RuleResults, clean: Cleaner) -> tuple[str, ...]:
    """Return what the rules cannot tell, what misleads about the measurement, and what was found but hardly matters."""
    said = [f"{one.id}: {clean.line(one.sentence)}" for one in results.warnings]
    moved, needed = results.facts.get("dram_bytes"), results.facts.algorithmic_bytes
    if moved is not None and needed is not None and moved < needed:
        said.append("DRAM bytes are fewer than the least traffic: what L2 still holds at the end was not written yet")
    remarks = ", ".join(one.finding.rule for one in results.diagnosis.remarks)
    if remarks:
        said.append(f"found, but worth below 2 % of the time: {remarks}")
    if any(one.finding.assumed for one in results.diagnosis.findings):
        said.append("estimates marked assumed rest on a ceiling that was not measured for this GPU and size")
    return tuple(said)


def _finding_facts(ranked: Ranked, results: RuleResults, items: Items, clean: Cleaner) -> FindingFacts:
    finding = ranked.finding
    where = results.where(finding)
    detail = "".join(f" ({value})" for value in finding.detail.values())
    return FindingFacts(
        id=finding.rule + detail,
        severity=ranked.severity,
        gain=ranked.estimated_speedup if ranked.severity != "info" else None,
        message=clean.line(finding.message) + (f" (in {clean.line(where, 120)})" if where else ""),
        advice=clean.line(finding.advice),
        is_done=finding.is_done,
        where=tuple(text for place in ranked.places if (text := _where(place, clean))),
        evidence=ids_of(_of_the_table(finding.evidence, finding.launches, results), items),
        explanation=_explanation(finding.rule),
        assumed=finding.assumed,
    )


def _of_the_table(evidence: tuple[str, ...], launches: tuple[int, ...], results: RuleResults) -> tuple[str, ...]:
    """Return the evidence that the table has: of different kernels it has the ratios of the longest launch only."""
    combined = results.facts.combined
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


def shape_of(shown: RunView, clean: Cleaner) -> CallShape:
    """Return how the launches of the workload that is shown ran."""
    launches = tuple(_launch_line(row, clean) for row in shown.launches_shown[:MOST_LAUNCHES])
    pipes, opcodes = _pipes(shown), _opcodes(shown)
    return CallShape(launches, len(shown.launches_shown), _bound(shown), _occupancy(shown), pipes, opcodes)


def _launch_line(row: LaunchRow, clean: Cleaner) -> LaunchLine:
    first = row.results.diagnosis.first if row.results else None
    one = row.launch
    return LaunchLine(
        kernel=clean.line(one.kernel, LONGEST_NAME),
        duration_ns=one.duration_ns,
        grid="x".join(map(str, one.grid)),
        block="x".join(map(str, one.block)),
        diagnosis=first.finding.rule if first else "",
    )


def _bound(shown: RunView) -> str:
    shown, alone = shown.counted, of_longest(shown)
    bound = shown.bottleneck
    if bound is None:
        return ""
    of = f" ({alone})" if alone else ""
    if bound.name == LATENCY:
        stall = next(iter(shown.combined.stalls), "")
        waits = f"; warps wait most for {stall}" if stall else ""
        nearest = shown.results.facts.busiest() if shown.results else None
        which = f", {refined(nearest[0], shown.combined.values).name}," if nearest else ""
        busy = f"no unit is busy for {BUSY_PERCENT:.0f} % of the time, the busiest{which} for {bound.percent:.0f} %"
        return f"{bound.name}: {busy}{waits}{of}"
    return f"{bound.name}, busy for {bound.percent:.0f} % of what it could do{of}"


def _pipes(shown: RunView) -> str:
    """Return how busy each pipe was that did something, the busiest first; empty where nothing was counted."""
    values = shown.counted.combined.values
    known = [(ROWS[key].label, value) for key in PIPES if (value := values[key]) is not None and value >= LEAST_BUSY]
    return ", ".join(f"{label} {value:.0f} %" for label, value in sorted(known, key=lambda one: -one[1]))


def _opcodes(shown: RunView) -> str:
    """Return the opcodes that warps executed most, with their part of all; empty where the code was not read."""
    found, _ = opcodes_of(shown)
    whole = sum(count for _, count in found)
    return ", ".join(f"{one_line(name, 20)} {percent(count / whole)}" for name, count in found[:MOST_OPCODES])


def _occupancy(shown: RunView) -> str:
    """Return how many blocks each limit allows, the scarcest first; empty of several launches."""
    if shown.results is None or len(shown.combined.launches) != 1:
        return ""
    allowed = sorted(allowed_blocks(shown.results.facts).items(), key=lambda one: one[1])
    limits = ", ".join(f"{LIMIT_WORDS.get(word, word)} {digits(count)}" for word, count in allowed)
    return ". ".join((limits, *(one.removesuffix(".") for one in room_words(shown.results.facts))))
