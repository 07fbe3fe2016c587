"""Further ways to know the metrics of the catalogue: how they are written down, and how they come into its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from ncu_assist.ncu.catalogue.formulas import NOT_APPLICABLE, total
from ncu_assist.ncu.catalogue.metric import Metric, Way

Ways = dict[str, tuple[Way, ...]]  # by the key that they tell, the best way first

# Where equivalences come from.
HARDWARE = "CUDA C++ Programming Guide"
DOCUMENTED = "ncu's documentation, Metrics Structure"
SECTION = "ncu's section files"
ATTRIBUTE = "attribute of the device"
COMPARED = "compared in reports that hold both"
RELEASE_2019 = "its name in ncu 2019 on Pascal"


def same(name: str, source: str, *, approximate: bool = False) -> Way:
    """Return that another metric is the same number, or nearly."""
    return Way((name,), _itself, name, source, approximate)


def times(needs: Sequence[str], source: str, *, factor: float = 1.0, approximate: bool = False) -> Way:
    """Return the product of metrics and a factor."""

    def formula(*parts: float) -> float:
        return factor * prod(parts)

    return Way(tuple(needs), formula, _words(needs, (), factor), source, approximate)


def over(
    above: Sequence[str], below: Sequence[str], source: str, *, factor: float = 1.0, approximate: bool = False
) -> Way:
    """Return a product of metrics and a factor over another product."""

    def formula(*parts: float) -> float:
        whole = prod(parts[len(above) :])
        return factor * prod(parts[: len(above)]) / whole if whole > 0 else NOT_APPLICABLE

    return Way((*above, *below), formula, _words(above, below, factor), source, approximate)


def added(needs: Sequence[str], source: str, *, approximate: bool = False) -> Way:
    """Return the sum of metrics."""
    return Way(tuple(needs), total, " + ".join(needs), source, approximate)


def less(whole: str, part: str, source: str, *, approximate: bool = False) -> Way:
    """Return what is left of a metric without another, at least 0."""
    return Way((whole, part), _left, f"{whole} - {part}", source, approximate)


def merged(*tables: Ways) -> Ways:
    """Return several tables as one; ways to one key follow each other in the order of the tables."""
    found: Ways = {}
    for table in tables:
        for key, ways in table.items():
            found[key] = (*found.get(key, ()), *ways)
    return found


def linked(rows: Mapping[str, Metric], ways: Mapping[str, tuple[Way, ...]]) -> dict[str, Metric]:
    """Return the rows with their ways, and in those the rows of the keys that they need.

    Raises ValueError for ways that need each other, and for a key that is none.
    """
    if unknown := ways.keys() - rows.keys():
        raise ValueError(f"ways to keys that the catalogue has not: {', '.join(sorted(unknown))}")
    made: dict[str, Metric] = {}

    def link(key: str, asked: tuple[str, ...]) -> Metric:
        if key in asked:
            raise ValueError(f"ways that need each other: {' -> '.join((*asked, key))}")
        if key not in made:
            below, own = (*asked, key), ways.get(key, ())
            parts = [{need: link(need, below) for need in way.needs if need in rows} for way in own]
            linked_ways = tuple(with_parts(way, known) for way, known in zip(own, parts, strict=True))
            made[key] = replace(rows[key], ways=linked_ways) if own else rows[key]
        return made[key]

    return {key: link(key, ()) for key in rows}


def with_parts(way: Way, rows: Mapping[str, Metric]) -> Way:
    """Return a way with the rows of the keys that it needs."""
    return replace(way, parts=tuple(rows.get(need, need) for need in way.needs))


def _itself(value: float) -> float:
    return value


def _left(whole: float, part: float) -> float:
    return max(0.0, whole - part)


def _words(above: Sequence[str], below: Sequence[str], factor: float) -> str:
    start = [] if factor == 1.0 else [f"{factor:g}"]
    words = " * ".join([*start, *above])
    return f"{words} / {' / '.join(below)}" if below else words
