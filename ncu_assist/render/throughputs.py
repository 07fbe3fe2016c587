"""The throughputs that stand as bars on every page of a run, in percent of peak."""

from __future__ import annotations

from ncu_assist.frame import Combined

LINK = "host_link_busy"
BARS = ("sm_throughput", "memory_throughput", "l1_cache_throughput", "l2_cache_throughput", "dram_throughput", LINK)


def throughputs(combined: Combined) -> list[tuple[str, float]]:
    """Return the keys and values that were counted; the link to the host only where something crossed it."""
    known = [(key, value) for key in BARS if (value := combined.values[key]) is not None]
    return [(key, value) for key, value in known if value or key != LINK]
