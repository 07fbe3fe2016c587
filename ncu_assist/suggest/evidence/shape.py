"""How the parent runs: its launches, what binds it, how many of its blocks fit a multiprocessor and why not more."""

from __future__ import annotations

from ncu_assist.frame.resources import BUSY_PERCENT, LATENCY
from ncu_assist.quantity import digits
from ncu_assist.render.facts import LaunchRow, Shown
from ncu_assist.render.words import of_longest
from ncu_assist.rules.low_occupancy import allowed_blocks
from ncu_assist.suggest.evidence.cleaning import Cleaner
from ncu_assist.suggest.evidence.records import LaunchLine, Shape

MOST = 8  # launches, the longest
NAME = 80  # letters of a kernel's name
WORDS = {"shared": "shared memory", "blocks": "places for blocks"}


def shape_of(shown: Shown, clean: Cleaner) -> Shape:
    """Return how the launches of the workload that is shown ran."""
    launches = tuple(_line(row, clean) for row in shown.launches_shown[:MOST])
    return Shape(launches, len(shown.launches_shown), _bound(shown), _occupancy(shown))


def _line(row: LaunchRow, clean: Cleaner) -> LaunchLine:
    first = row.told.diagnosis.first if row.told else None
    one = row.launch
    return LaunchLine(
        kernel=clean.line(one.kernel, NAME),
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
    return ", ".join(f"{WORDS.get(word, word)} {digits(count)}" for word, count in allowed)
