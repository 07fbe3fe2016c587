"""From the tidy metrics of a run to one value a metric: by launch, and over all launches of one workload."""

from __future__ import annotations

from ncu_assist.frame.combined import Combined, Coverage
from ncu_assist.frame.of_runs import (
    by_launch,
    catalogue_sha256,
    combine,
    combine_launches,
    combine_repeats,
    combine_tables,
    is_used,
)

__all__ = [
    "Combined",
    "Coverage",
    "by_launch",
    "catalogue_sha256",
    "combine",
    "combine_launches",
    "combine_repeats",
    "combine_tables",
    "is_used",
]
