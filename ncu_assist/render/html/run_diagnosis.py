"""What is wrong with a kernel: the first finding with its evidence and lines, the others, launches, NVIDIA's rules."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import PurePath

from ncu_assist.analysis.launches import LaunchGroup, LaunchRow, kernel_groups
from ncu_assist.analysis.run_view import RunView
from ncu_assist.ncu.catalogue.rows import ROWS
from ncu_assist.ncu.catalogue.stalls import BOOKED_AS, STALL_REASONS, spoken
from ncu_assist.ncu.report import NvidiaFinding
from ncu_assist.quantity import digits, duration
from ncu_assist.record import Launch
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.charts import Fact, heat_level
from ncu_assist.render.html.page import PageSection
from ncu_assist.render.html.source_file import FindingLines
from ncu_assist.render.html.source_heat import Heat, percent
from ncu_assist.render.html.source_view import SourceView
from ncu_assist.render.table import Badge, Cell, Column, Link, Table, Term, Tone, number
from ncu_assist.render.words.launches import (
    TO_FLOOR,
    all_of,
    floor_unit,
    kernel_words,
    lacking_word,
    shape_words,
    spread_sentences,
    times_words,
    unexplained_words,
)
from ncu_assist.render.words.terms import term_of
from ncu_assist.render.words.values import evidence_value, to_page, to_profile
from ncu_assist.render.words.verdicts import estimated
from ncu_assist.rules import RULES, Finding
from ncu_assist.rules.model.diagnosis import Ranked, Unanswered
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.of_run import RuleResults
from ncu_assist.rules.model.places import Place
from ncu_assist.rules.model.resources import LATENCY, Bottleneck
from ncu_assist.rules.model.warnings import sections_lacked

MOST_LAUNCHES = 200  # rows
SIGNATURE, ARGUMENTS = 400, 90  # letters
MANY, TALL = 12, 30  # rows from which a filter is of use, and from which the table scrolls
WON = Term("could win", "", "the time that fixing its diagnosis could save, by the rule's own model")
FLOOR = Term("to floor", "", TO_FLOOR.partition(": ")[2])
BOUND_BY = Term("bound by", "", "the unit nearest to its peak; latency: no unit is busy, so warps wait for results")
LAUNCH_COLUMNS = (
    Column("#", "left", "number"),
    Column("time", "right", "number", term_of("duration", "time")),
    Column("of all", "right", "number"),
    Column("diagnosis"),
    Column("kernel"),
    Column("bound by", term=BOUND_BY),
    Column("grid", "right", ""),
    Column("block", "right", ""),
    Column("to floor", "right", "number", FLOOR),
    Column("could win", "right", "number", WON),
)


def launches_table(shown: RunView, alone: Collection[int] = ()) -> Table | None:
    """Return the launches, the longest first, each with what the rules say of it alone; None of a single one.

    Those in ``alone`` have a part of the page to themselves, to which their numbers lead.
    """
    rows = shown.launches_shown
    if len(rows) < 2:
        return None
    whole = sum(row.launch.duration_ns or 0.0 for row in rows)
    rest = len(rows) - MOST_LAUNCHES
    note = f"{rest} shorter launches are left out." if rest > 0 else ""
    if 0 < len(alone) < len(rows):
        note = f"The {len(alone)} longest have a part of this page; another: `{to_page(shown)} --launch N`. {note}"
    note = " · ".join([*filter(None, [note.strip()]), *map(str.strip, spread_sentences(shown))])
    cells = tuple(_launch_row(row, whole, rows[0], row.launch.index in alone) for row in rows[:MOST_LAUNCHES])
    caption = "Launches, the longest first, each judged alone"
    made = Table("launches-table", caption, LAUNCH_COLUMNS, cells, len(cells) > MANY, note, tall=len(cells) > TALL)
    return made.without_empty()


def _launch_row(row: LaunchRow, whole: float, longest: LaunchRow, is_alone: bool) -> tuple[Cell, ...]:
    launch, took = row.launch, row.launch.duration_ns
    link = Link(f"#{launch.index}", f"#launch-{launch.index}") if is_alone else None
    bar = 100 * took / longest.launch.duration_ns if took and longest.launch.duration_ns else None
    times, won = row.floor.times if row.floor else None, row.winnable_ns
    return (
        Cell(f"#{launch.index}", repr(float(launch.index)), link=link),
        replace(number(duration(took), took), bar=bar) if took is not None else Cell(),
        number(percent(took / whole), took / whole) if took is not None and whole else Cell(),
        _diagnosis_cell(row, row),
        _kernel_cell(launch),
        Cell(row.bottleneck.name, note=f"{row.bottleneck.percent:.0f} % busy") if row.bottleneck else Cell(),
        Cell(shape_words(launch.grid)),
        Cell(shape_words(launch.block)),
        replace(number(times_words(times), times), note=floor_unit(row)) if times is not None else Cell(),
        number(duration(won), won) if won else Cell(),
    )


KERNEL_COLUMNS = (
    Column("kernel"),
    Column("of all", "right", "number"),
    Column("diagnosis", term=Term("diagnosis", "", "of its launch with the most to win")),
    Column("could win", "right", "number", WON),
    Column("time", "right", "number", Term("time", "", "of all its launches together, under ncu")),
    Column("launches", "right", "number"),
    Column("mean", "right", "number", Term("mean", "", "time of a launch, under ncu")),
    Column("bound by", term=Term("bound by", "", f"{BOUND_BY.meaning}; of the launches that most of its time goes to")),
)
MOST_KERNELS = 100  # rows


def kernels_table(shown: RunView, alone: Collection[int] = ()) -> Table | None:
    """Return the time by kernel, what takes longest first; None where each was launched once.

    Its launch with the most to win is the link, where that is one of those in ``alone``.
    """
    rows = shown.launches_shown
    groups = kernel_groups(rows)
    if len(groups) == len(rows):
        return None
    whole = sum(group.duration_ns or 0.0 for group in groups)
    rest = len(groups) - MOST_KERNELS
    note = f"{rest} kernels that take less time are left out." if rest > 0 else ""
    cells = tuple(_kernel_row(one, whole, groups[0].duration_ns, alone) for one in groups[:MOST_KERNELS])
    caption = "Time by kernel, the longest first"
    tall = len(cells) > MANY
    return Table("by-kernel-table", caption, KERNEL_COLUMNS, cells, tall, note, tall=tall).without_empty()


def _kernel_row(group: LaunchGroup, whole: float, longest: float | None, alone: Collection[int]) -> tuple[Cell, ...]:
    told, took, won, count = group.told, group.duration_ns, group.winnable_ns, len(group.rows)
    name, bound = _kernel_cell(replace(told.launch, ranges=())), group.bound_by
    link = Link(name.text, f"#launch-{told.launch.index}") if told.launch.index in alone else None
    return (
        replace(name, link=link, term=None if link else name.term),
        number(percent(took / whole), took / whole) if took and whole else Cell(),
        _diagnosis_cell(told, group),
        number(duration(won), won) if won else Cell(),
        replace(number(duration(took), took), bar=100 * took / longest) if took and longest else Cell(),
        number(str(count), count),
        number(duration(took / count), took / count) if took else Cell(),
        Cell(bound[0], note=f"{100 * bound[1]:.0f} % of its time" if bound[1] < WHOLE else "") if bound else Cell(),
    )


WHOLE = 0.995  # of its time: what would print as 100 %


def _diagnosis_cell(row: LaunchRow, of: LaunchRow | LaunchGroup) -> Cell:
    """Return the diagnosis of a launch, with what it could win, or else what it leaves unexplained of all those."""
    if row.launch.interrupted:
        return Cell("interrupted", note="the program ended while it was profiled")
    diagnosis = row.results.diagnosis if row.results else None
    if diagnosis is None or diagnosis.first is None:
        return Cell()
    return (
        Cell("too few counters")
        if diagnosis.lacks_counters
        else Cell(diagnosis.first.finding.rule, note=_gain(diagnosis.first) or unexplained_words(of))
    )


def _kernel_cell(launch: Launch) -> Cell:
    """Return the name of a kernel, its signature on hover, the start of its template arguments, which tell it apart."""
    name, signature = kernel_words(launch, 80), one_line(launch.signature, SIGNATURE)
    inside = one_line("/".join(launch.ranges), ARGUMENTS) if launch.workload is None else ""
    if signature == name:
        return Cell(name, note=inside)
    note = " in ".join(filter(None, (one_line(_arguments(launch), ARGUMENTS), inside)))
    return Cell(name, key=name, term=Term(name, signature), note=note)


def _arguments(launch: Launch) -> str:
    _, found, rest = launch.signature[:SIGNATURE].partition(launch.kernel + "<")
    return f"<{rest}" if found else ""


def _gain(said: Ranked) -> str:
    if said.severity == "info":
        return ""
    return estimated(said.estimated_speedup, said.finding.assumed)


# Which of our rules look at what a rule of NVIDIA's estimates a speed-up of, the plainest reading first.
LOOKS_AT = {
    "TheoreticalOccupancy": ("low-occupancy",),
    "AchievedOccupancy": ("low-occupancy", "workload-imbalance", "tail-effect", "grid-underfill"),
    "SharedMemoryConflicts": ("shared-bank-conflict",),
    "UncoalescedSharedAccess": ("shared-bank-conflict",),
    "UncoalescedGlobalAccess": ("uncoalesced-global-load", "uncoalesced-global-store"),
    "MemoryCacheAccessPattern": (
        "uncoalesced-global-load",
        "uncoalesced-global-store",
        "register-spill",
        "local-array",
    ),
    "ThreadDivergence": ("warp-divergence",),
    "WorkloadImbalance": ("workload-imbalance", "atomic-contention", "tail-effect", "grid-underfill"),
    "LaunchConfiguration": ("tail-effect", "grid-underfill", "launch-bound"),
}


NVIDIA = (
    "Nsight Compute's advice with its own estimates, next to our diagnosis. A global estimate is for the launch, a "
    "local estimate for the part that the rule looks at. They overlap and do not add up."
)


def nvidia_section(shown: RunView) -> PageSection:
    """Return the advice in NVIDIA's order: global estimates first, then local ones.

    With each stands what our rules say of the same, where that is something else.
    """
    model = {
        "findings": [(one, _beside_ours(one, shown)) for one in shown.close.nvidia or ()],
        "launches": len(shown.launches_shown),
        "asked": shown.close.nvidia is not None,
        "why_missing": one_line(shown.close.note, 500),
        "collect": to_profile(shown),
    }
    return PageSection("nvidia", "NVIDIA's rules", model, "run_nvidia.html.j2", NVIDIA)


def _beside_ours(one: NvidiaFinding, shown: RunView) -> str:
    """Return what ours say of the same; of many launches at the longest of the kernel that NVIDIA's speaks of."""
    rows = shown.launches_shown
    if len(rows) < 2:
        return _beside(one, shown.results, shown.counted.bottleneck) if shown.results else ""
    row = next((row for row in rows if row.launch.kernel == one.kernel and row.results), None)
    said = _beside(one, row.results, row.bottleneck) if row and row.results else ""
    return f"Of launch #{row.launch.index}: {said}" if row and said else ""


def _beside(one: NvidiaFinding, results: RuleResults, bound: Bottleneck | None) -> str:
    """Return that our rules on the same matter answer, and have found next to nothing to win; empty where they have.

    Of the waits of warps that NVIDIA names, whether a finding of ours is about them.
    """
    if one.rule == STALL_RULE:
        return _beside_waits(one, results)
    ours = LOOKS_AT.get(one.rule, ())
    silent = {unanswered.rule for unanswered in results.diagnosis.unanswered}
    found = {ranked.finding.rule for ranked in results.diagnosis.findings if ranked.severity != "info"}
    if not one.speedup_pct or not ours or {*ours} & (silent | found):
        return ""
    names = all_of([f"`{name}`" for name in ours])
    first = results.diagnosis.first
    instead = f" The diagnosis here is `{first.finding.rule}`." if first and first.severity != "info" else ""
    looks = "looks at the same and finds" if len(ours) == 1 else "look at the same and find"
    why = _why_no_more_warps(results.facts, bound) if OCCUPANCY in ours else ""
    return f"Here the two differ: our {names} {looks} next to no time to win.{why or _what_binds(bound)}{instead}"


STALL_RULE = "CPIStall"  # titled by the reason: "Wait Stalls"


def _beside_waits(one: NvidiaFinding, results: RuleResults) -> str:
    reason = one.title.removesuffix(" Stalls").lower().replace(" ", "_")
    if reason not in STALL_REASONS:
        return ""
    about = finding_about(reason, results)
    if about is None:
        return f"Here no finding of ours is about {spoken(reason)}."
    won = f"{100 * (1 - 1 / about.estimated_speedup):.0f} % of the time"
    gain = estimated(about.estimated_speedup, about.finding.assumed)
    return f"Our `{about.finding.rule}` is also about this wait. It finds {won} to win: {gain}."


def finding_about(reason: str, results: RuleResults) -> Ranked | None:
    """Return the first finding that a stall reason shows, as ncu or as we name it; None where no finding is."""
    known = STALL_REASONS.get(reason)
    names = {reason, BOOKED_AS.get(reason, reason), known.sampled_as if known else ""}
    ranked = (one for one in diagnosis_first(results) if one.severity != "info")
    return next((one for one in ranked if names & {*one.finding.stalls}), None)


OCCUPANCY = "low-occupancy"


def _why_no_more_warps(facts: Facts, bound: Bottleneck | None) -> str:
    """Return what the warps that there are already do: what more of them would find busy, and how long they wait."""
    warps, memory = facts.get("achieved_warps"), facts.stall("long_scoreboard")
    if not warps or bound is None:
        return ""
    unit = "the busiest unit" if bound.name == LATENCY else bound.name
    said = f"{digits(round(warps, 1))} warps an SM keep {unit} busy for {bound.percent:.0f} % of the time"
    return f" {said}, and wait for memory {memory:.0f} % of theirs."


def _what_binds(bound: Bottleneck | None) -> str:
    if bound is None:
        return ""
    if bound.name == LATENCY:
        return f" No unit is busy for more than {bound.percent:.0f} % of the time: warps wait."
    return f" What binds is {bound.name}, busy for {bound.percent:.0f} % of the time."


TONE_OF: dict[str, Tone] = {"high": "bad", "medium": "unsure", "low": "same", "info": "plain"}
MESSAGE = 1000  # letters
CODE = re.compile(r"`([^`]+)`")
FoundAt = tuple[Link | None, Heat, Place]  # the link to the line, none for code without lines; its share of the waste


@dataclass(frozen=True)
class FindingView:
    """One finding; ``about`` are the paragraphs of its rule, each in pieces: text, then code, by turns."""

    rule: str
    detail: str
    severity: Badge
    gain: str
    message: str
    evidence: tuple[Fact, ...]
    places: tuple[FoundAt, ...]
    about: tuple[tuple[str, ...], ...]


def diagnosis_section(
    shown: RunView,
    lines: FindingLines,
    view: SourceView,
    *,
    with_launches: bool = True,
    explained: Collection[str] = (),
) -> PageSection:
    """Return what the rules say of the launches that the page is about; ``view`` is what lines of findings link to.

    Rules that the page has ``explained`` elsewhere are not explained again.

    ``warnings`` are id and sentence, ``unanswered`` rules with the counters that they lack.
    """
    results = shown.results
    kept = diagnosis_first(results) if results else ()
    where = {rule: tuple(_found_at(place, view) for place in places) for rule, places in lines.items()}
    views = [_finding_view(one, results, where.get(one.finding.rule, ())) for one in kept] if results else []
    views = [replace(one, about=()) if one.rule in explained else one for one in views]
    model = {
        "first": views[0] if views else None,
        "others": views[1:],
        "joint": joint.words if results and (joint := results.joint) else "",
        "warnings": list(results.warnings.items()) if results else [],
        "unanswered": [_silent(one) for one in results.diagnosis.unanswered] if results else [],
        "silence": _silence(results) if results else "",
        "launches": launches_table(shown) if with_launches else None,
        "launched_nothing": shown.run.launched_nothing,
        "has_counters": any(shown.combined.tables),
        "collect": to_profile(shown),
    }
    return PageSection("diagnosis", "Diagnosis", model, "run_diagnosis.html.j2")


def _silence(results: RuleResults) -> str:
    """Return how many rules could not answer, and how many of them for want of whole sections: the warning's count."""
    diagnosis = results.diagnosis
    silent, of_sections = len(diagnosis.unanswered), len(sections_lacked(diagnosis, results.facts))
    said = f"{silent} of {diagnosis.asked} rules could not answer because counters are missing"
    single = f", the other {silent - of_sections} because of single metrics"
    return said + (f": {of_sections} because of whole sections{single}" if 0 < of_sections < silent else "")


def diagnosis_first(results: RuleResults) -> tuple[Ranked, ...]:
    """Return the findings as they are shown, the diagnosis first."""
    diagnosis = results.diagnosis
    return (*(one for one in (diagnosis.first,) if one), *diagnosis.further, *diagnosis.remarks)


def _finding_view(ranked: Ranked, results: RuleResults, where: tuple[FoundAt, ...]) -> FindingView:
    finding, remark = ranked.finding, ranked.severity == "info"
    facts = results.about(finding)
    lacking = lacking_word(results) if ranked is results.diagnosis.first else ""
    known = [(key, value) for key in finding.evidence if (value := facts.get(key)) is not None]
    return FindingView(
        rule=lacking or finding.rule,
        detail=", ".join(finding.detail.values()),
        severity=_severity(ranked),
        gain=estimated(ranked.estimated_speedup, finding.assumed) if not remark else "",
        message=one_line(_message(finding, results), MESSAGE) + (" (assumed)" if remark and finding.assumed else ""),
        evidence=tuple(
            Fact(term_of(key), evidence_value(value, ROWS[key].unit, facts.is_approximate(key))) for key, value in known
        ),
        places=where,
        about=_about(finding.rule) if not lacking else (),
    )


def _message(finding: Finding, results: RuleResults) -> str:
    """Return the message, with the launches that it is of where it is not of all, and what to try."""
    where = f" (in {results.where(finding)})" if results.where(finding) else ""
    part = (
        f"of {results.part.name}, {results.part.launches} of {results.part.of_launches} launches: "
        if results.part
        else ""
    )
    return part + finding.message + where + (f". Try: {finding.full_advice}" if finding.advice else "")


def _severity(ranked: Ranked) -> Badge:
    if ranked.finding.is_done and ranked.finding.assumed:
        return Badge("at a ceiling, assumed", "good", "one that was not measured for just this")
    if ranked.finding.is_done:
        return Badge("done", "good", "at a ceiling of this GPU")
    hint = "the share of the run time that fixing it could save"
    return Badge(ranked.severity, TONE_OF[ranked.severity], hint)


def _found_at(place: Place, view: SourceView) -> FoundAt:
    name = f"{one_line(PurePath(place.file).name)}:{place.line}" if place.file else ""
    at = Link(name, view.href(place.file, place.line)) if name else None
    return at, Heat(f"{100 * place.share:.0f} %", heat_level(place.share)), place


def _about(rule: str) -> tuple[tuple[str, ...], ...]:
    """Return the documentation of a rule; every second piece of a paragraph is code."""
    text = inspect.cleandoc(RULES[rule].__doc__ or "") if rule in RULES else ""
    return tuple(tuple(CODE.split(" ".join(one.split()))) for one in text.split("\n\n") if one)


def _silent(one: Unanswered) -> tuple[str, str]:
    return one.rule, ", ".join(ROWS[key].label for key in one.missing)
