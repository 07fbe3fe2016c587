"""Which counters of two sides are worth showing beside each other: units of the GPU, stall reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ncu_assist.rules.model.resources import Resource

LEAST_BUSY, MOST_UNITS = 5.0, 6  # percent: a unit less busy on both sides is no news
LEAST_STALL, MOST_STALLS = 1.0, 10  # percent of warp states
Values = Mapping[str, float | None]
Shares = tuple[float, float]  # of baseline and candidate, in percent


def busy_units(resources: Iterable[Resource], baseline: Values, candidate: Values) -> list[tuple[Resource, Shares]]:
    """Return the busiest units, each once, by its first counter that both sides have, the busiest on either first."""
    known: dict[str, tuple[Resource, Shares]] = {}
    for one in resources:
        before, after = one.share(baseline), one.share(candidate)
        if before is not None and after is not None:
            known.setdefault(one.name, (one, (before, after)))
    busy = [(one, shares) for one, shares in known.values() if max(shares) >= LEAST_BUSY]
    return sorted(busy, key=lambda each: -max(each[1]))[:MOST_UNITS]


def stalls_of_both(baseline: Mapping[str, float], candidate: Mapping[str, float]) -> dict[str, Shares]:
    """Return the reasons that warps of either side were stalled for most; empty where one side was not sampled."""
    if not baseline or not candidate:
        return {}
    shares = {reason: (baseline.get(reason, 0.0), candidate.get(reason, 0.0)) for reason in (*candidate, *baseline)}
    ranked = sorted(shares, key=lambda reason: (-max(shares[reason]), reason))[:MOST_STALLS]
    return {reason: shares[reason] for reason in ranked if max(shares[reason]) >= LEAST_STALL}
