"""The page of a diff: the verdict, why, and both sides laid over each other in every table and chart."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.analysis.run_view import Shown
from ncu_assist.render.diff_facts import DiffFacts
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.diff_changes import (
    ChangesPart,
    LaunchesPart,
    LinesPart,
    changes_part,
    launches_part,
    lines_part,
)
from ncu_assist.render.html.diff_counters import CounterPart, counter_part
from ncu_assist.render.html.diff_verdict import DiffVerdict, SidesPart, WhyPart, diff_verdict, sides_part, why_part
from ncu_assist.render.html.memory_chart import MemoryChart, memory_chart
from ncu_assist.render.html.page import Head, PageSection, page, provenance
from ncu_assist.render.html.roofline import Roofline, roofline
from ncu_assist.render.html.source_pair import SourcePair, source_pair
from ncu_assist.render.html.timing_chart import TimingChart, timing_chart
from ncu_assist.render.words.verdicts import names
from ncu_assist.verdict import REASONS


@dataclass(frozen=True)
class Commands:
    """How the counters of a side were taken."""

    side: str
    command: str


@dataclass(frozen=True)
class DiffPage:
    """The content of a diff page; None where there is nothing of it, and ``missing`` says why counters are not."""

    names: tuple[str, str]
    verdict: DiffVerdict
    why: WhyPart
    sides: SidesPart
    counters: CounterPart | None
    timing: TimingChart | None
    roofline: Roofline | None
    memory: MemoryChart | None
    lines: LinesPart | None
    source: SourcePair | None
    missing: str
    collect: str
    changes: ChangesPart
    launches: LaunchesPart | None
    commands: tuple[Commands, ...]


def diff_html(facts: DiffFacts) -> str:
    """Return the page; the same runs give the same bytes."""
    made = diff_page(facts)
    return page(_head(facts, made), diff_sections(made), diff=made)


def diff_page(facts: DiffFacts) -> DiffPage:
    """Return what the page says."""
    missing, collect = _missing(facts)
    both = facts.has_counters
    source = source_pair(facts.baseline, facts.candidate) if both else None
    return DiffPage(
        names=names(facts.diff),
        verdict=diff_verdict(facts),
        why=why_part(facts),
        sides=sides_part(facts),
        counters=counter_part(facts) if both else None,
        timing=_timing(facts),
        roofline=roofline(facts.candidate, facts.baseline) if both else None,
        memory=memory_chart(facts.candidate, facts.baseline) if both else None,
        lines=lines_part(facts, source) if source else None,
        source=source,
        missing=missing,
        collect=collect,
        changes=changes_part(facts),
        launches=launches_part(facts),
        commands=tuple(_commands(facts)),
    )


def _head(facts: DiffFacts, made: DiffPage) -> Head:
    diff = facts.diff
    before, after = made.names
    kernel = one_line(diff.candidate.kernel)
    where = f" on {one_line(diff.workload)}" if diff.workload else ""
    same = diff.baseline.kernel == diff.candidate.kernel
    what = kernel if same else f"{one_line(diff.baseline.kernel)} and {kernel}"
    return Head(
        title=f"{before} → {after}",
        subtitle=f"{what}{where}: {one_line(diff.candidate.version)} against {one_line(diff.baseline.version)}",
        crumbs=facts.around.crumbs,
        provenance=provenance(facts.made_of),
        recorded="on another machine; this page was made of the stored runs." if diff.source == "recorded" else "",
        warnings=(f"forced in spite of: {REASONS[diff.forced].meaning}",) if diff.forced else (),
    )


def diff_sections(made: DiffPage) -> tuple[PageSection, ...]:
    """Return the sections that have anything to say."""
    counters, changes = made.counters, made.changes
    on_each = "Medians of both sides and the verdict on each workload that both were timed on."
    has_warps = counters is not None and (counters.stalls or counters.occupancy)
    has_changes = changes.moved.rows or changes.rest.rows
    sections = (
        (True, PageSection("verdict", "Verdict", made.verdict, "diff_verdict.html.j2")),
        (made.why.first or made.why.lines, PageSection("why", made.why.title, made.why, "diff_why.html.j2")),
        (True, PageSection("sides", "Both sides", made.sides, "diff_sides.html.j2")),
        (
            made.verdict.workloads,
            PageSection("verdicts", "Every workload", made.verdict.workloads, "compare.html.j2", on_each),
        ),
        (made.timing, PageSection("timing", "Timing", made.timing, "timing_chart.html.j2")),
        (made.missing, PageSection("missing", "What is not shown", made.missing, "diff_missing.html.j2")),
        (
            counters and counters.units,
            PageSection("speed", "Speed of light", counters and counters.units, "bars_section.html.j2"),
        ),
        (has_changes, PageSection("changes", changes.title, changes, "diff_changes.html.j2")),
        (has_warps, PageSection("warps", "Warp states and occupancy", counters, "diff_warps.html.j2")),
        (made.roofline, PageSection("roofline", "Roofline", made.roofline, "roofline.html.j2")),
        (made.memory, PageSection("memory", "Memory chart", made.memory, "memory_chart.html.j2")),
        (made.launches, PageSection("launches", "Launches", made.launches, "diff_launches.html.j2")),
        (made.source, PageSection("source", "Source", made.source, "diff_source.html.j2")),
        (changes.every, PageSection("metrics", "All metrics", changes, "diff_metrics.html.j2")),
        (made.commands, PageSection("commands", "How the counters were taken", made.commands, "diff_commands.html.j2")),
    )
    return tuple(section for says, section in sections if says)


def _timing(facts: DiffFacts) -> TimingChart | None:
    """Return all samples of both sides; None where one has none, as under ncu alone, or nothing compares."""
    before, after = facts.samples
    if not facts.is_comparable or before is None or after is None:
        return None
    return timing_chart(after, None if facts.diff.is_one_run else before)


def _missing(facts: DiffFacts) -> tuple[str, str]:
    """Return why counters of both sides are not laid over each other, and the command that collects what is absent."""
    if not facts.is_comparable:
        reason = REASONS[facts.diff.verdict.reason].meaning
        return f"Changes, and charts of both sides: {reason}. What each side has stands below, no change between.", ""
    lacking = [one for one in (facts.baseline, facts.candidate) if not any(one.combined.tables)]
    if not lacking:
        return "", ""
    sides = " and ".join(_lacking(one) for one in lacking)
    return f"Counters of {sides}", next(filter(None, map(_collect, lacking)), "")


def _lacking(shown: Shown) -> str:
    why = ", which launched no kernel" if shown.run.launched_nothing else ""
    return one_line(shown.reference) + why


def _collect(shown: Shown) -> str:
    if shown.run.launched_nothing:
        return ""
    return one_line(f"ncu-assist profile {shown.run.kernel} {shown.run.version}") if shown.rows else ""


def _commands(facts: DiffFacts) -> list[Commands]:
    sides = zip(names(facts.diff), (facts.baseline, facts.candidate), strict=True)
    found = [Commands(name, one.run.profile.command) for name, one in sides if one.run.profile]
    if len(found) == 2 and found[0].command == found[1].command:
        return [Commands(" and ".join(dict.fromkeys(one.side for one in found)), found[0].command)]
    return found
