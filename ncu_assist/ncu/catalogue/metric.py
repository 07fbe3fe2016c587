"""What the catalogue says of one metric."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
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
class Metric:
    """One metric of ncu.

    ``names`` are its spellings, Hopper's first. ``section`` and ``label`` are ncu's own; where ``shown_as`` holds ncu's
    label, or no section shows the metric, the label is ours. ``exact``: every recorded repeat gave the same value; what
    that is worth says ``noise.repeats_as``. ``combine``: how launches of one kernel make one value. ``lacking``:
    recorded chips without any spelling. ``given``: no report holds it, we measure it ourselves. ``ncu_unit``: what ncu
    prints where that is not the true unit. ``most``: the largest value that hardware can have; 100 of a percentage
    unless said.
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

    def value(self, values: Mapping[str, float]) -> float | None:
        """Return this metric from values by ncu's name; None where it is absent or no finite number."""
        for name in self.names:  # a loop, not a generator: a report of 2,000 launches asks half a million times
            if name in values:
                found = values[name]
                return found if found is not None and math.isfinite(found) else None
        return None
