"""Every metric of the catalogue by its key, those that reports hold and those that follow from them; and its bounds."""

from __future__ import annotations

from ncu_assist.ncu.catalogue.derived import ALL_DERIVED, STALL_SHARES, Derived
from ncu_assist.ncu.catalogue.metric import Metric
from ncu_assist.ncu.catalogue.metrics import CATALOGUE

Row = Metric | Derived

# The one place to look a key up: what reports hold first, then what follows from it. No key is in both.
ROWS: dict[str, Row] = {**CATALOGUE, **ALL_DERIVED}
# Of these, what `frame` combines over launches row by row; the shares of stall reasons are an open set that it combines
# together.
OVER_LAUNCHES: dict[str, Row] = {key: row for key, row in ROWS.items() if key not in STALL_SHARES}

WHOLE = 100.0
# Above and below a ratio comes from two passes, in each of which a counter strays by up to 1 % in a long kernel
# (docs/sources.md, Noise): beyond both together it is no noise.
STRAYS = 0.02
# A ratio may divide by what a rate of ours was measured at, and exceed it.
NO_PART_OF_A_WHOLE = ("dram_of_ceiling",)


def most(row: Row) -> float | None:
    """Return the largest value that a metric can have; None where nothing bounds it."""
    if isinstance(row, Metric) and row.most is not None:
        return row.most
    return WHOLE if row.unit == "%" and row.key not in NO_PART_OF_A_WHOLE else None


def is_impossible(row: Row, value: float) -> bool:
    """Tell whether no hardware can have this value: more than the whole, or less than nothing, beyond noise.

    NVIDIA's own values can be, where their counters were taken in different passes.
    """
    limit = most(row)
    return value < 0 if limit is None else not -STRAYS * limit <= value <= (1 + STRAYS) * limit
