"""Counters of both sides as bars with the baseline as a ghost: units of the GPU, stall reasons; and occupancy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ncu_assist.analysis.diff import Change
from ncu_assist.analysis.run_view import RunView
from ncu_assist.quantity import digits, quantity
from ncu_assist.render.diff_facts import DiffFacts
from ncu_assist.render.html.charts import Bar, Bars, BarTone
from ncu_assist.render.html.diff_changes import largest_of
from ncu_assist.render.html.page import PageSection
from ncu_assist.render.table import ABSENT, Cell, Column, Table, Term
from ncu_assist.render.words.changes import delta_text
from ncu_assist.render.words.diff_tables import is_largest
from ncu_assist.render.words.terms import term_of
from ncu_assist.rules.low_occupancy import allowed_blocks
from ncu_assist.rules.model.resources import LINK, PARTS, SM_PARTS, Resource

MEMORY = ("memory_throughput", PARTS)
COMPUTE = ("sm_throughput", SM_PARTS)
FULL = 100.0
LEAST = 5.0  # percent: a unit less busy on both sides is no news
MOST_UNITS = 6
LEAST_STALL, MOST_STALLS = 1.0, 10
STEP = 10.0  # to which the scale of the stall bars is rounded up
SHORT = 10  # letters of a name above a column in half a page
LIMITS = {"shared": "shared memory", "blocks": "places for blocks"}
OCCUPANCY = (
    "theoretical_occupancy", "achieved_occupancy", "registers", "shared_memory", "block_size", "grid_size",
    "waves_per_sm",
)  # fmt: skip
IN_FULL = ("grid_size", "block_size")
TONES: dict[str, BarTone] = {"improved": "good", "regressed": "bad"}
Values = Mapping[str, float | None]


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
    return Bars("Units of the GPU, in percent of what each could do", tuple(found), _legend(facts, bound))


def _parts(parts: Iterable[Resource], both: tuple[Values, Values], bound: str, inner: bool = True) -> list[Bar]:
    """Return the busiest units of a kind, each by its first counter that both sides have."""
    known: dict[str, tuple[Resource, float, float]] = {}
    for one in parts:
        before, after = (one.share(values) for values in both)
        if before is not None and after is not None:
            known.setdefault(one.name, (one, before, after))
    busy = [(one, before, after) for one, before, after in known.values() if max(before, after) >= LEAST]
    busy.sort(key=lambda each: -max(each[1:]))
    return [
        _bar(_term(one), (before, after), "limit" if one.name == bound else "", inner=inner)
        for one, before, after in busy[:MOST_UNITS]
    ]


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
    before, after = facts.baseline.combined.stalls, facts.candidate.combined.stalls
    if not before or not after:
        return None
    shares = {reason: (before.get(reason, 0.0), after.get(reason, 0.0)) for reason in (*after, *before)}
    shown = sorted(shares, key=lambda reason: (-max(shares[reason]), reason))[:MOST_STALLS]
    shown = [reason for reason in shown if max(shares[reason]) >= LEAST_STALL]
    if not shown:
        return None
    full = STEP * -(-max(shares[shown[0]]) // STEP)
    words = {change.metric: change.verdict for change in facts.every}
    bars = [
        Bar(
            _stall_term(reason),
            shares[reason][1] / full,
            _text(*shares[reason]),
            shares[reason][0] / full,
            tone=TONES.get(words.get(f"stall_{reason}", ""), ""),
        )
        for reason in shown
    ]
    tones = {bar.tone for bar in bars}
    coloured = [words for tone, words in (("good", "green: improved"), ("bad", "red: regressed")) if tone in tones]
    colours = f" Wide bars, {', '.join(coloured)}, blue: neither." if coloured else ""
    scale = f"{_legend(facts)}{colours} Full width: {full:.0f} % of the states of all warps."
    return Bars("What warps waited for, in percent of their states", tuple(bars), scale)


def _stall_term(reason: str) -> Term:
    known = term_of(reason)
    return Term(reason.replace("_", " "), known.name, known.meaning)


def _occupancy(facts: DiffFacts) -> Table | None:
    changes = {change.metric: change for change in facts.every}
    rows = [_metric_row(key, changes, largest_of(facts)) for key in OCCUPANCY]
    known = [row for row in rows if row is not None]
    if not known:
        return None
    is_short = max(map(len, facts.names)) <= SHORT
    before, after = facts.names if is_short else ("baseline", "candidate")
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
    allowed = allowed_blocks(shown.results.facts) if shown.results and len(shown.combined.launches) == 1 else {}
    if not allowed:
        return ABSENT
    fewest = min(allowed.values())
    tight = [LIMITS.get(word, word) for word, count in allowed.items() if count == fewest]
    return f"{' and '.join(tight)}: {digits(fewest)} block{'s' * (fewest != 1)} fit an SM"
