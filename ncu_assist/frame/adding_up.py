"""How the values of several launches add up to one, each metric in its own way."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from ncu_assist.columns import Values, names_in
from ncu_assist.ncu.catalogue.metric import Combine
from ncu_assist.ncu.catalogue.metrics import STALL

ISSUED = "selected"  # the state of a warp that issues: part of all warp states, but no stall


def how_to_combine(name: str) -> Combine:
    """Return how a metric that no catalogue knows is put together over launches, from ncu's rollup in its name."""
    if name.startswith(("launch__", "device__")):
        return "max"
    rollup = name.rpartition(".")[2]
    return "max" if rollup in ("max", "min") else "sum" if rollup == "sum" else "time-mean"


def number(value: float | None) -> float | None:
    """Return a value; None for one that says nothing: NaN, or infinite, as a ratio over nothing is."""
    return None if value is None or not isfinite(value) else value


def added_up(how: Combine, values: Sequence[float | None], times: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    if how == "sum":
        return total(values)
    if how == "time-mean":
        return time_mean(values, times)
    return max(known) if how == "max" else known[0]


def total(values: Sequence[float | None]) -> float | None:
    """Return the sum; None when one part is missing, for the rest of a sum is no sum."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def time_mean(values: Sequence[float | None], times: Sequence[float | None]) -> float | None:
    """Return the mean weighted by duration over the launches that have a value; equal values need no duration."""
    pairs = [(value, time) for value, time in zip(values, times, strict=True) if value is not None]
    if not pairs:
        return None
    if len({value for value, _ in pairs}) == 1:
        return pairs[0][0]
    weighted = [(value, time) for value, time in pairs if time is not None]
    total = sum(time for _, time in weighted)
    if len(weighted) < len(pairs) or total <= 0:
        return None
    return sum(value * time for value, time in weighted) / total


def stall_shares(tables: Sequence[Values], times: Sequence[float | None]) -> dict[str, float]:
    names = {match.group(1): name for name in sorted(names_in(tables)) if (match := STALL.fullmatch(name))}
    combined = {reason: time_mean([table.get(name) for table in tables], times) for reason, name in names.items()}
    known = {reason: value for reason, value in combined.items() if value is not None}
    total = sum(known.values())
    if total <= 0:
        return {}
    shares = {reason: 100.0 * value / total for reason, value in known.items() if reason != ISSUED}
    return dict(sorted(shares.items(), key=lambda item: (-item[1], item[0])))
