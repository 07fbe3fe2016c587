"""Values that no hardware can have: NVIDIA's own, of counters that were taken in different passes."""

from __future__ import annotations

from ncu_assist.ncu.catalogue.derived import Derived
from ncu_assist.ncu.catalogue.metric import Metric

WHOLE = 100.0
# Above and below a ratio comes from two passes, in each of which a counter strays by up to 1 % in a long kernel
# (docs/sources.md, Noise): beyond both together it is no noise.
STRAYS = 0.02
# A ratio may divide by what a rate of ours was measured at, and exceed it.
NO_PART_OF_A_WHOLE = ("dram_of_ceiling",)


def most(row: Metric | Derived) -> float | None:
    """Return the largest value that a metric can have; None where nothing bounds it."""
    if isinstance(row, Metric) and row.most is not None:
        return row.most
    return WHOLE if row.unit == "%" and row.key not in NO_PART_OF_A_WHOLE else None


def is_impossible(row: Metric | Derived, value: float) -> bool:
    """Tell whether no hardware can have this value: more than the whole, or less than nothing, beyond noise."""
    limit = most(row)
    if limit is None:
        return value < 0
    return not -STRAYS * limit <= value <= (1 + STRAYS) * limit
