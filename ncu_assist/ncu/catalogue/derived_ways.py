"""Further ways to know derived metrics as a whole, where a report lacks their parts."""

from __future__ import annotations

from ncu_assist.ncu.catalogue.ways import DOCUMENTED, Ways, same, times

A_SECOND = 1e-9  # a rate is a second, a duration in ns

# fmt: off
DERIVED_WAYS: Ways = {
    "dram_bytes": (
        times(("dram_bandwidth", "duration"), f"{DOCUMENTED}: .per_second times the time", factor=A_SECOND),
    ),
    "dram_rate": (same("dram_bandwidth", DOCUMENTED),),
}
# fmt: on
