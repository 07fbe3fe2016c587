"""What the catalogue says of one metric."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Better = Literal["higher", "lower"]
Combine = Literal["sum", "time-mean", "max", "first"]

SPEED, MEMORY, LAUNCH, OCCUPANCY, INSTRUCTIONS = (
    "GPU Speed Of Light Throughput",
    "Memory Workload Analysis",
    "Launch Statistics",
    "Occupancy",
    "Instruction Statistics",
)
SCHEDULER = "Scheduler Statistics"


@dataclass(frozen=True)
class Metric:
    """One metric of ncu.

    ``names`` are its spellings, the newest chip's last; ``section`` is empty for what no section's header shows.
    ``exact``: the same binary gives the same value every time. ``combine``: how the launches of one version add up;
    time-mean weights by duration.
    """

    key: str
    names: tuple[str, ...]
    label: str
    section: str
    unit: str
    meaning: str
    better: Better | None
    exact: bool
    combine: Combine

    def value(self, values: Mapping[str, float]) -> float | None:
        """Return this metric from values by ncu's name; None where it is absent or has no number."""
        found = next((values[name] for name in self.names if name in values), math.nan)
        return None if found is None or math.isnan(found) else found


def percent(key: str, name: str, label: str, section: str, meaning: str, better: Better | None) -> Metric:
    """Return a metric in percent: it wanders between repeats and combines by time."""
    return Metric(key, (name,), label, section, "%", meaning, better, False, "time-mean")
