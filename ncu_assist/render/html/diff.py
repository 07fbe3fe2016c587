"""The page of a diff: the verdict, why, and both sides laid over each other in every table and chart."""

from __future__ import annotations

from ncu_assist.analysis.run_view import RunView
from ncu_assist.render.diff_facts import DiffFacts
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.diff_changes import changes_section, launches_section, line_tables, metrics_section
from ncu_assist.render.html.diff_counters import units_bars, warps_section
from ncu_assist.render.html.diff_verdict import sides_section, verdict_section, why_section, workloads_section
from ncu_assist.render.html.memory_chart import memory_chart
from ncu_assist.render.html.page import Head, PageSection, page, provenance
from ncu_assist.render.html.roofline import roofline
from ncu_assist.render.html.source_pair import source_pair
from ncu_assist.render.html.timing_chart import TimingChart, timing_chart
from ncu_assist.render.words.verdicts import names
from ncu_assist.verdict import REASONS


def diff_html(facts: DiffFacts) -> str:
    """Return the page; the same runs give the same bytes."""
    return page(_head(facts), diff_sections(facts))


def diff_sections(facts: DiffFacts) -> tuple[PageSection, ...]:
    """Return the sections; those that have nothing to say have no model."""
    missing, collect = _missing(facts)
    both = facts.has_counters
    sides = facts.candidate, facts.baseline
    absent = {"missing": missing, "collect": collect} if missing else None
    return (
        verdict_section(facts),
        why_section(facts),
        sides_section(facts),
        workloads_section(facts),
        PageSection("timing", "Timing", _timing(facts), "timing_chart.html.j2"),
        PageSection("missing", "What is not shown", absent, "diff_missing.html.j2"),
        PageSection("speed", "Speed of light", units_bars(facts) if both else None, "bars_section.html.j2"),
        changes_section(facts, bool(missing)),
        warps_section(facts),
        PageSection("roofline", "Roofline", roofline(*sides) if both else None, "roofline.html.j2"),
        PageSection("memory", "Memory chart", memory_chart(*sides) if both else None, "memory_chart.html.j2"),
        launches_section(facts),
        PageSection("source", "Source", _source(facts) if both else None, "diff_source.html.j2"),
        metrics_section(facts),
        PageSection("commands", "How the counters were taken", _commands(facts), "diff_commands.html.j2"),
    )


def _source(facts: DiffFacts) -> dict[str, object] | None:
    pair = source_pair(facts.baseline, facts.candidate)
    return {"pair": pair, "lines": line_tables(facts, pair)} if pair else None


def _head(facts: DiffFacts) -> Head:
    diff = facts.diff
    before, after = names(diff)
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


def _lacking(shown: RunView) -> str:
    why = ", which launched no kernel" if shown.run.launched_nothing else ""
    return one_line(shown.reference) + why


def _collect(shown: RunView) -> str:
    if shown.run.launched_nothing:
        return ""
    return one_line(f"ncu-assist profile {shown.run.kernel} {shown.run.version}") if shown.rows else ""


def _commands(facts: DiffFacts) -> list[tuple[str, str]]:
    """Return the command that took the counters of each side, once where it is the same."""
    sides = zip(names(facts.diff), (facts.baseline, facts.candidate), strict=True)
    found = [(name, one.run.profile.command) for name, one in sides if one.run.profile]
    if len(found) == 2 and found[0][1] == found[1][1]:
        return [(" and ".join(dict.fromkeys(side for side, _ in found)), found[0][1])]
    return found
