"""What the catalogue says of one metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from ncu_assist.ncu.catalogue.combining import Combining

Better = Literal["higher", "lower"]

# What the rows of the catalogue are made of.
LOWER: Final[Better] = "lower"
HIGHER: Final[Better] = "higher"
EXACT, NOISY = True, False

# ncu's own names of its sections.
SPEED = "GPU Speed Of Light Throughput"
COMPUTE = "Compute Workload Analysis"
MEMORY = "Memory Workload Analysis"
CHART = "Memory Workload Analysis Chart"
TABLES = "Memory Workload Analysis Tables"
SCHEDULER = "Scheduler Statistics"
WARP_STATE = "Warp State Statistics"
INSTRUCTIONS = "Instruction Statistics"
LAUNCH = "Launch Statistics"
OCCUPANCY = "Occupancy"
DISTRIBUTION = "GPU and Memory Workload Distribution"
SOURCE = "Source Counters"
NOWHERE = ""  # in the report, but no section shows it under a label

# Chips that lack a metric, as the lists in data/ have it; a test holds every row against them.
BEFORE_AMPERE = ("tu102",)
BEFORE_HOPPER = ("tu102", "ga100", "ga102", "ad102")
BLACKWELL = ("gb100", "gb202")
ALL_BUT_HOPPER = (*BEFORE_HOPPER, *BLACKWELL)


@dataclass(frozen=True)
class Way:
    """A way to know a metric of a launch that has none of its names: from others of the same launch.

    ``needs`` are ncu's names and keys of the catalogue, in the order of the arguments of ``formula``; ``parts`` the
    same with the row of each key, which ``ways.linked`` puts there. ``words``: the formula, for people. ``source``:
    where the equivalence comes from. ``approximate``: not the same number, but near; ``benchmarks/ladder_agreement.py``
    compares them.
    """

    needs: tuple[str, ...]
    formula: Callable[..., float]
    words: str
    source: str
    approximate: bool = False
    parts: tuple[str | Metric, ...] = field(default=(), repr=False)

    def value(self, values: Mapping[str, float]) -> float | None:
        """Return the metric from values by ncu's name; None where one that it needs is absent, or nothing follows."""
        known: list[float] = []
        for part in self.parts:
            one = _finite(values.get(part)) if isinstance(part, str) else part.value(values)
            if one is None:
                return None
            known.append(one)
        return _finite(self.formula(*known))

    def is_approximate(self, values: Mapping[str, float]) -> bool:
        """Tell whether it, or what it needs, is only near what was asked for."""
        rows = (part for part in self.parts if not isinstance(part, str))
        return self.approximate or any(row.is_approximate(values) for row in rows)

    @property
    def every_name(self) -> frozenset[str]:
        """Return every name of ncu that the value may come from."""
        return frozenset().union(*((part,) if isinstance(part, str) else part.every_name for part in self.parts))

    def names(self, has: Callable[[str], bool]) -> tuple[str, ...]:
        """Return ncu's names that the value comes from, of those that can be had; empty where one cannot."""
        found = [((part,) if has(part) else ()) if isinstance(part, str) else part.spelled(has) for part in self.parts]
        return tuple(dict.fromkeys(name for names in found for name in names)) if all(found) else ()


@dataclass(frozen=True)
class Metric:
    """One metric of ncu.

    ``names`` are its spellings, Hopper's first. ``section`` and ``label`` are ncu's own; where ``shown_as`` holds ncu's
    label, or no section shows the metric, the label is ours. ``exact``: every recorded repeat gave the same value; what
    that is worth says ``noise.repeats_as``. ``combine``: how launches of one kernel make one value. ``lacking``:
    recorded chips without any spelling. ``given``: no report holds it, we measure it ourselves. ``ncu_unit``: what ncu
    prints where that is not the true unit. ``most``: the largest value that hardware can have; 100 of a percentage
    unless said. ``ways``: further ways to know it, the best first.
    """

    key: str
    names: tuple[str, ...]
    section: str
    label: str
    unit: str
    better: Better | None
    exact: bool
    combine: Combining
    meaning: str
    shown_as: str = ""
    lacking: tuple[str, ...] = ()
    given: bool = False
    ncu_unit: str | None = None
    most: float | None = None
    ways: tuple[Way, ...] = field(default=(), repr=False)

    def value(self, values: Mapping[str, float]) -> float | None:
        """Return this metric from values by ncu's name: by its own names first, then by the ways to know it.

        None where it is absent or no finite number.
        """
        for name in self.names:  # a loop, not a generator: a report of 2,000 launches asks half a million times
            if name in values and (found := _finite(values[name])) is not None:
                return found
        for way in self.ways:
            if (found := way.value(values)) is not None:
                return found
        return None

    def way(self, values: Mapping[str, float]) -> Way | None:
        """Return by which way ``value`` knows it; None where a launch has one of its names, or nothing knows it."""
        if any(_finite(values.get(name)) is not None for name in self.names):
            return None
        return next((way for way in self.ways if way.value(values) is not None), None)

    def is_approximate(self, values: Mapping[str, float]) -> bool:
        """Tell whether what ``value`` returns is near, and not the same: derived from others."""
        way = self.way(values)
        return way is not None and way.is_approximate(values)

    def spelled(self, has: Callable[[str], bool]) -> tuple[str, ...]:
        """Return ncu's names behind it, of those that can be had: its own, or those of a way; empty where none can."""
        own = next((name for name in self.names if has(name)), None)
        if own is not None:
            return (own,)
        return next((names for way in self.ways if (names := way.names(has))), ())

    @property
    def every_name(self) -> frozenset[str]:
        """Return every name of ncu that it may be known by."""
        return frozenset(self.names).union(*(way.every_name for way in self.ways))


def _finite(found: float | None) -> float | None:
    return found if found is not None and math.isfinite(found) else None
