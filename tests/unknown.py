"""What a launch must lack so that a key of the catalogue is unknown: its names, and those of the ways to know it."""

from __future__ import annotations

from collections.abc import Mapping

from ncu_assist.ncu.catalogue.metric import Metric
from ncu_assist.ncu.catalogue.metrics import CATALOGUE


def unknown(key: str, values: Mapping[str, float]) -> frozenset[str]:
    """Return the names that must go; of what a way needs only the first, so that little else is unknown with it."""
    gone = set(CATALOGUE[key].names)
    kept = {name: value for name, value in values.items() if name not in gone}
    while (way := CATALOGUE[key].way(kept)) is not None:
        more = _first(way.parts[0], kept)
        gone |= more
        kept = {name: value for name, value in kept.items() if name not in more}
    return frozenset(gone)


def lacking(key: str, values: Mapping[str, float]) -> dict[str, float]:
    """Return the values of a launch without what tells a key."""
    gone = unknown(key, values)
    return {name: value for name, value in values.items() if name not in gone}


def _first(part: str | Metric, values: Mapping[str, float]) -> frozenset[str]:
    return frozenset((part,)) if isinstance(part, str) else unknown(part.key, values)
