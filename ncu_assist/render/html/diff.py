"""The page of a diff: the verdict, why, and both sides laid over each other in every table and chart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ncu_assist.analysis.diff import Change
from ncu_assist.analysis.diff.comparing import CounterValues, busy_units, stalls_of_both
from ncu_assist.analysis.run_view import RunView
from ncu_assist.quantity import digits, duration, noun_of, quantity
from ncu_assist.render.diff_facts import DiffFacts
from ncu_assist.render.escape import one_line
from ncu_assist.render.html.charts import Bar, Bars, BarTone, ChartSection
from ncu_assist.render.html.diff_changes import (
    changes_section,
    is_calm,
    largest_of,
    launches_section,
    line_tables,
    metrics_section,
)
from ncu_assist.render.html.diff_verdict import sides_section, verdict_section, why_section, workloads_section
from ncu_assist.render.html.memory_chart import memory_chart
from ncu_assist.render.html.page import Head, PageSection, page, provenance
from ncu_assist.render.html.roofline import roofline
from ncu_assist.render.html.source_heat import stall_term
from ncu_assist.render.html.source_pair import SourcePair, source_pair
from ncu_assist.render.html.timing_chart import timing_chart
from ncu_assist.render.table import ABSENT, Cell, Column, Table, Term
from ncu_assist.render.words.changes import counters_command, delta_text, is_largest
from ncu_assist.render.words.launches import block_limits
from ncu_assist.render.words.terms import term_of
from ncu_assist.render.words.verdicts import names
from ncu_assist.rules.model.resources import LINK, PARTS, SM_PARTS, Resource
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
    pair = source_pair(facts.baseline, facts.candidate) if both else None
    return (
        verdict_section(facts, pair),
        why_section(facts),
        sides_section(facts),
        workloads_section(facts),
        PageSection("timing", "Timing", _timing(facts), "chart_section.html.j2"),
        PageSection("missing", "What is not shown", absent, "diff_missing.html.j2"),
        PageSection("speed", "Speed of light", units_bars(facts) if both else None, "bars_section.html.j2"),
        changes_section(facts, bool(missing)),
        warps_section(facts),
        PageSection(
            "roofline", "Roofline", roofline(*sides, sides=facts.names) if both else None, "chart_section.html.j2"
        ),
        PageSection(
            "memory", "Memory chart", memory_chart(*sides, facts.names[0]) if both else None, "chart_section.html.j2"
        ),
        launches_section(facts),
        PageSection("source", "Source", _source(facts, pair) if pair else None, "diff_source.html.j2"),
        metrics_section(facts),
        PageSection("commands", "How the counters were taken", _commands(facts), "diff_commands.html.j2"),
    )


def _source(facts: DiffFacts, pair: SourcePair) -> dict[str, object]:
    return {"pair": pair, "lines": line_tables(facts, pair), "calm": is_calm(facts)}


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
        crumbs=facts.crumbs,
        provenance=provenance(facts.made_of),
        recorded="on another machine; this page was made of the stored runs." if diff.source == "recorded" else "",
        warnings=(f"forced in spite of: {REASONS[diff.forced].meaning}",) if diff.forced else (),
    )


def _timing(facts: DiffFacts) -> ChartSection | None:
    """Return all samples of both sides; None where one has none, as under ncu alone, or nothing compares."""
    before, after = facts.samples
    if not facts.is_comparable or before is None or after is None:
        return None
    return timing_chart(after, None if facts.diff.is_one_run else before, before_is=facts.names[0])


def _missing(facts: DiffFacts) -> tuple[str, str]:
    """Return why counters of both sides are not laid over each other, and the command that collects what is absent."""
    if not facts.is_comparable:
        reason = facts.diff.verdict.meaning
        return f"Changes, and charts of both sides: {reason}. The values of each side are below, without changes.", ""
    lacking = [one for one in (facts.baseline, facts.candidate) if not any(one.combined.tables)]
    if not lacking:
        return "", ""
    sides = " and ".join(_lacking(one) for one in lacking)
    return f"Counters of {sides}", counters_command(facts.diff)


def _lacking(shown: RunView) -> str:
    why = ", which launched no kernel" if shown.run.launched_nothing else ""
    return one_line(shown.reference) + why


def _commands(facts: DiffFacts) -> list[tuple[str, str]]:
    """Return the command that took the counters of each side, once where it is the same."""
    sides = zip(names(facts.diff), (facts.baseline, facts.candidate), strict=True)
    found = [(name, one.run.profile.command) for name, one in sides if one.run.profile]
    if len(found) == 2 and found[0][1] == found[1][1]:
        return [(" and ".join(dict.fromkeys(side for side, _ in found)), found[0][1])]
    return found


MEMORY = ("memory_throughput", PARTS)
COMPUTE = ("sm_throughput", SM_PARTS)
FULL = 100.0
SHORT = 10  # letters of a name above a column in half a page
LIMITS = {"shared": "shared memory", "blocks": "places for blocks"}
OCCUPANCY = (
    "theoretical_occupancy", "achieved_occupancy", "registers", "shared_memory", "block_size", "grid_size",
    "waves_per_sm",
)  # fmt: skip
IN_FULL = ("grid_size", "block_size")
TONES: dict[str, BarTone] = {"improved": "good", "regressed": "bad"}


def warps_section(facts: DiffFacts) -> PageSection:
    """Return stall reasons, occupancy and what limits it, of two sides that can be compared."""
    said: dict[str, list[str]] = {}
    for name, one in zip(facts.names, (facts.baseline, facts.candidate), strict=True):
        said.setdefault(_limits(one), []).append(name)
    limits = tuple((" and ".join(dict.fromkeys(some)), text) for text, some in said.items() if text != ABSENT)
    stalls, occupancy = (_stalls(facts), _occupancy(facts)) if facts.has_counters else (None, None)
    model = {"stalls": stalls, "occupancy": occupancy, "limits": limits} if stalls or occupancy else None
    return PageSection("warps", "Warp states and occupancy", model, "diff_warps.html.j2")


def units_bars(facts: DiffFacts) -> Bars | None:
    """Return how busy each unit was on both sides; None without such counters."""
    both = facts.baseline.combined.values, facts.candidate.combined.values
    bound = facts.candidate.bottleneck.name if facts.candidate.bottleneck else ""
    found: list[Bar] = []
    for whole, parts in (MEMORY, COMPUTE):
        values = both[0][whole], both[1][whole]
        if None in values:
            continue
        found += [_bar(term_of(whole), values, ""), *_parts(parts, both, bound)]
    if not found:
        return None
    found += _parts((LINK,), both, bound, inner=False)
    marked = bound if any(bar.tone == "limit" for bar in found) else ""
    scale = f"{_legend(facts, marked)} ▲ busier, ▼ less busy: neither is better or worse in itself."
    return Bars("Units of the GPU, in percent of the peak of each", tuple(found), scale)


def _parts(
    parts: Iterable[Resource], both: tuple[CounterValues, CounterValues], bound: str, *, inner: bool = True
) -> Iterator[Bar]:
    """Yield the busiest units of a kind, marked where one is what binds."""
    for one, shares in busy_units(parts, *both):
        yield _bar(_term(one), shares, "limit" if one.name == bound else "", inner=inner)


def _term(resource: Resource) -> Term:
    """Return a unit as the page of a run calls its counter; of one in percent of all time that is another number."""
    known = term_of(resource.busy)
    return Term(resource.name, known.name, known.meaning) if resource.while_active else known


def _bar(label: Term, values: tuple[float | None, float | None], tone: BarTone, inner: bool = False) -> Bar:
    before, after = (value or 0.0 for value in values)
    return Bar(label, after / FULL, _text(before, after), before / FULL, tone=tone, inner=inner)


def _text(before: float, after: float) -> str:
    """Return both percentages with the sign of the change, e.g. ``▲ 15.2 → 80.9 %``."""
    shown = f"{before:.1f}", f"{after:.1f}"
    sign = "=" if shown[0] == shown[1] else "▲" if after > before else "▼"
    return f"{sign} {shown[0]} → {shown[1]} %"


def _legend(facts: DiffFacts, bound: str = "") -> str:
    before, after = facts.names
    binds = f"; orange is what binds {after}, {bound}" if bound else ""
    return f"Thin grey bar above: {before}; wide bar: {after}{binds}."


def _stalls(facts: DiffFacts) -> Bars | None:
    shares = stalls_of_both(facts.baseline.stalls, facts.candidate.stalls)
    if not shares:
        return None
    times = [one.combined.duration_ns or 0.0 for one in (facts.baseline, facts.candidate)]
    words = {change.metric: change.verdict for change in (*facts.every, *facts.diff.changes)}
    tones = {"improved": TONES["improved"]} if is_calm(facts) else TONES
    bars = [
        Bar(
            stall_term(reason),
            after / FULL,
            _text(before, after),
            before / FULL,
            note=_in_time((before, after), times),
            tone=tones.get(words.get(f"stall_{reason}", ""), ""),
        )
        for reason, (before, after) in shares.items()
    ]
    found = {bar.tone for bar in bars}
    coloured = [words for tone, words in (("good", "green: improved"), ("bad", "red: regressed")) if tone in found]
    colours = f" Wide bars, {', '.join(coloured)}, blue: neither." if coloured else ""
    of_time = " Below a share: that share of the time under ncu, on both sides." if all(times) else ""
    scale = f"{_legend(facts)}{colours} Full width: {FULL:.0f} % of all warp states.{of_time}"
    return Bars("What warps waited for, in percent of all warp states", tuple(bars), scale)


def _in_time(shares: tuple[float, float], times_ns: Sequence[float]) -> str:
    """Return two shares as parts of the time of each side, e.g. ``194 → 31.2 µs``; empty where one is not known."""
    if not all(times_ns):
        return ""
    before, after = (duration(share / FULL * ns) for share, ns in zip(shares, times_ns, strict=True))
    number, _, unit = before.partition(" ")
    return f"{number if after.endswith(f' {unit}') else before} → {after}"


def _occupancy(facts: DiffFacts) -> Table | None:
    changes = {change.metric: change for change in facts.every}
    rows = [_metric_row(key, changes, largest_of(facts)) for key in OCCUPANCY]
    known = [row for row in rows if row is not None]
    if not known:
        return None
    is_short = max(map(len, facts.names)) <= SHORT
    before, after = facts.names if is_short else ("before", "after")
    columns = Column("", order=""), *(Column(title, "right", "") for title in (before, after, "change"))
    return Table("occupancy-table", "Occupancy and what it depends on", columns, tuple(known))


def _metric_row(key: str, changes: Mapping[str, Change], largest: str) -> tuple[Cell, ...] | None:
    change = changes.get(key)
    if change is None or change.baseline is None or change.candidate is None:
        return None
    before, after = (_amount(value, change) for value in (change.baseline, change.candidate))
    note = largest if is_largest(key) else ""
    return Cell(term=term_of(key), note=note), Cell(before), Cell(after), Cell(delta_text(change))


def _amount(value: float, change: Change) -> str:
    """Return a value with its unit; what is counted a block the label says, and the grid in full."""
    if change.metric in IN_FULL:
        return f"{value:,.0f}"
    return quantity(value, change.unit.removesuffix("/block"))


def _limits(shown: RunView) -> str:
    """Return what allows the fewest blocks on an SM, and how many; of several launches together nothing is."""
    allowed = block_limits(shown)
    if not allowed:
        return ABSENT
    fewest = min(allowed.values())
    tight = [LIMITS.get(word, word) for word, count in allowed.items() if count == fewest]
    return f"{' and '.join(tight)}: {digits(fewest)} {noun_of(fewest, 'block')} fit an SM"
