"""Further ways to know clocks, cycles, throughputs and the shape of a launch."""

from __future__ import annotations

from ncu_assist.ncu.catalogue.ways import (
    ATTRIBUTE,
    COMPARED,
    DOCUMENTED,
    HARDWARE,
    RELEASE_2019,
    SECTION,
    Ways,
    added,
    over,
    same,
    times,
)

A_SECOND = 1e-9  # a rate is a second, a duration in ns
SCHEDULERS = 0.25  # every chip since Pascal but GP100 has four a multiprocessor: NVIDIA's tuning guides
SUM_OVER_UNITS = f"{DOCUMENTED}: .avg is .sum over the units"
RATE_TIMES_TIME = f"{DOCUMENTED}: .per_second times the time"
ONE_CLOCK = f"{COMPARED}: the parts of a GPC have one clock, and start and end within a few cycles"


# fmt: off
SPEED_WAYS: Ways = {
    "duration": (same("gpu__time_duration", RELEASE_2019), same("gpu__time_duration.max", DOCUMENTED),
                 same("gpu__time_duration.avg", DOCUMENTED)),
    "sm_count": (same("device__attribute_multiprocessor_count", ATTRIBUTE),),
    "sm_clock": (
        same("sm__cycles_elapsed.avg.per_second", ONE_CLOCK, approximate=True),
        same("smsp__cycles_elapsed.avg.per_second", ONE_CLOCK, approximate=True),
        same("gpc__frequency", RELEASE_2019),
    ),
    "dram_clock": (same("dram__frequency", RELEASE_2019),),
    "cycles": (
        same("gpc__elapsed_cycles_max", RELEASE_2019),
        same("gpc__cycles_elapsed.avg", ONE_CLOCK, approximate=True),
        times(("gpc__cycles_elapsed.avg.per_second", "duration"), RATE_TIMES_TIME, factor=A_SECOND, approximate=True),
    ),
    "sm_cycles_elapsed": (
        over(("sm__cycles_elapsed.sum",), ("sm_count",), SUM_OVER_UNITS),
        same("smsp__cycles_elapsed.avg", ONE_CLOCK),
        over(("smsp__cycles_elapsed.sum",), ("sm_count",), f"{SUM_OVER_UNITS}; {HARDWARE}", factor=SCHEDULERS),
        same("l1tex__cycles_elapsed.avg", ONE_CLOCK),
        times(("sm__cycles_elapsed.avg.per_second", "duration"), RATE_TIMES_TIME, factor=A_SECOND),
        times(("smsp__cycles_elapsed.avg.per_second", "duration"), RATE_TIMES_TIME, factor=A_SECOND),
        same("smsp__cycles_elapsed.max", ONE_CLOCK, approximate=True),
        same("sm__elapsed_cycles_avg", RELEASE_2019),
        same("cycles", ONE_CLOCK, approximate=True),
    ),
    "scheduler_cycles_elapsed": (
        same("sm__cycles_elapsed.avg", ONE_CLOCK),
        same("sm_cycles_elapsed", ONE_CLOCK),
    ),
    "sm_cycles_active": (
        over(("sm__cycles_active.sum",), ("sm_count",), SUM_OVER_UNITS),
        over(("sm__elapsed_cycles_avg", "sm__inst_executed_avg_per_elapsed_cycle"),
             ("sm__inst_executed_avg_per_active_cycle",), RELEASE_2019, approximate=True),
    ),
    "scheduler_cycles_active": (same("sm_cycles_active", ONE_CLOCK, approximate=True),),
    "l1_cycles_active": (
        over(("l1tex__cycles_active.sum",), ("sm_count",), SUM_OVER_UNITS),
        same("sm_cycles_active", ONE_CLOCK),
    ),
    "dram_cycles_active": (
        times(("dram_throughput", "dram_clock", "duration"), f"{DOCUMENTED}: the share of active cycles",
              factor=0.01 * A_SECOND, approximate=True),
    ),
    "dram_throughput": (
        same("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", f"{COMPARED}; {SECTION}"),
        same("dram__throughput.avg.pct_of_peak_sustained_elapsed", f"{COMPARED}; {SECTION}", approximate=True),
        over(("dram__bytes.sum.per_second",), ("dram_peak_bytes_per_cycle", "dram_clock"), DOCUMENTED, factor=100.0),
        same("fbpa__sol_pct", RELEASE_2019, approximate=True),
    ),
    "sm_throughput": (same("sm__sol_pct", RELEASE_2019),),
    "memory_throughput": (same("gpu__compute_memory_sol_pct", RELEASE_2019),),
    "l2_cache_throughput": (same("ltc__sol_pct", RELEASE_2019),),
    "l1_cache_throughput": (same("tex__sol_pct", RELEASE_2019),),
}

LAUNCH_WAYS: Ways = {
    "achieved_occupancy": (
        over(("sm__warps_active.avg.per_cycle_active",), ("device__attribute_max_warps_per_multiprocessor",), ATTRIBUTE,
             factor=100.0),
        same("sm__active_warps_avg_per_active_cycle_pct", RELEASE_2019),
    ),
    "achieved_warps": (
        times(("sm__warps_active.avg.pct_of_peak_sustained_active", "device__attribute_max_warps_per_multiprocessor"),
              ATTRIBUTE, factor=0.01),
        same("sm__active_warps_avg_per_active_cycle", RELEASE_2019),
    ),
    "theoretical_warps": (
        times(("theoretical_occupancy", "device__attribute_max_warps_per_multiprocessor"), ATTRIBUTE, factor=0.01),
    ),
    "shared_memory": (
        added(("launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic",
               "launch__shared_mem_per_block_driver"), SECTION),
    ),
    "threads": (times(("grid_size", "block_size"), HARDWARE),),
}
# fmt: on
