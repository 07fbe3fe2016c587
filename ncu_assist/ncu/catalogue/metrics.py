"""The catalogue: every metric that the tool uses, by a key of ours, with ncu's name, its meaning and how to combine it.

Names were read off reports of ``--set full`` by ncu 2025.3.1 on an H200; tests hold the catalogue against one, and its
spellings against the lists of every recorded chip.
"""

from __future__ import annotations

from ncu_assist.ncu.catalogue.access_metrics import ACCESS_METRICS
from ncu_assist.ncu.catalogue.compute_metrics import COMPUTE_METRICS
from ncu_assist.ncu.catalogue.launch_metrics import LAUNCH_METRICS
from ncu_assist.ncu.catalogue.memory_metrics import MEMORY_METRICS
from ncu_assist.ncu.catalogue.metric import Metric, linked
from ncu_assist.ncu.catalogue.speed_metrics import SPEED_METRICS
from ncu_assist.ncu.catalogue.stalls import STALL, STALL_METRICS, stall_reasons
from ncu_assist.ncu.catalogue.warp_metrics import WARP_METRICS

_GROUPS: dict[str, tuple[Metric, ...]] = {  # in the order in which they are listed
    "Speed": SPEED_METRICS,
    "Memory": MEMORY_METRICS,
    "Accesses": ACCESS_METRICS,
    "Arithmetic": COMPUTE_METRICS,
    "Warps": WARP_METRICS,
    "Warp states": STALL_METRICS,
    "Launch and occupancy": LAUNCH_METRICS,
}

CATALOGUE: dict[str, Metric] = linked({metric.key: metric for group in _GROUPS.values() for metric in group})
GROUPS: dict[str, tuple[Metric, ...]] = {
    group: tuple(CATALOGUE[metric.key] for metric in some) for group, some in _GROUPS.items()
}

__all__ = ["CATALOGUE", "GROUPS", "STALL", "stall_reasons"]
