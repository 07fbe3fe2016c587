"""The catalogue's rows on the shape of a launch: grid, resources, occupancy and what limits it, clusters."""

from __future__ import annotations

from ncu_assist.ncu.catalogue.formulas import NOT_APPLICABLE
from ncu_assist.ncu.catalogue.metric import (
    ATTRIBUTE,
    BEFORE_HOPPER,
    BY_SM_ACTIVE,
    CAPABILITY,
    EXACT,
    HARDWARE,
    LAUNCH,
    MAX,
    NOISY,
    NOT_AT_ALL,
    NOWHERE,
    OCCUPANCY,
    RELEASE_2019,
    SECTION,
    SUM,
    Metric,
    Way,
    added,
    over,
    same,
    times,
)

DRIVERS_OWN = f"{HARDWARE}: from 8.0 on the system keeps 1 KB of shared memory for each block"
AMPERE = 8.0
MAX_WARPS = "device__attribute_max_warps_per_multiprocessor"
# What a multiprocessor holds: warps, blocks, registers, shared memory; and of that a block, and the driver in each.
SM_LIMITS = (
    MAX_WARPS,
    *(f"device__attribute_max_{what}_per_multiprocessor" for what in ("blocks", "registers", "shared_memory")),
    "device__attribute_max_shared_memory_per_block_optin",
    "device__attribute_reserved_shared_memory_per_block",
)


def _without_driver(static: float, dynamic: float, major: float, _minor: float) -> float:
    return static + dynamic if major < AMPERE else NOT_APPLICABLE


# fmt: off
LAUNCH_METRICS: tuple[Metric, ...] = (
    Metric("registers", ("launch__registers_per_thread",), LAUNCH, "Registers Per Thread", "register/thread", None,
           EXACT, MAX, "registers a thread"),
    Metric("registers_allocated", ("launch__registers_per_thread_allocated",), NOWHERE, "Registers allocated",
           "register/thread", None, EXACT, MAX, "registers a thread takes, rounded up to what hardware hands out"),
    Metric("shared_memory", ("launch__shared_mem_per_block",), OCCUPANCY, "Shared Memory Per Block", "byte/block",
           None, EXACT, MAX, "static, dynamic and the driver's own",
           ways=(added(("launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic",
                        "launch__shared_mem_per_block_driver"), SECTION),
                 Way(("launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic", *CAPABILITY),
                     _without_driver,
                     "launch__shared_mem_per_block_static + launch__shared_mem_per_block_dynamic; not from compute "
                     f"capability 8.0 on, by {' and '.join(CAPABILITY)}", DRIVERS_OWN))),
    Metric("shared_memory_static", ("launch__shared_mem_per_block_static",), LAUNCH, "Static Shared Memory Per Block",
           "byte/block", None, EXACT, MAX, "shared memory whose size the compiler knew"),
    Metric("shared_memory_dynamic", ("launch__shared_mem_per_block_dynamic",), LAUNCH,
           "Dynamic Shared Memory Per Block", "byte/block", None, EXACT, MAX, "shared memory asked for at the launch"),
    Metric("shared_memory_driver", ("launch__shared_mem_per_block_driver",), LAUNCH,
           "Driver Shared Memory Per Block", "byte/block", None, EXACT, MAX, "shared memory that the driver takes"),
    Metric("shared_memory_configured", ("launch__shared_mem_config_size",), LAUNCH,
           "Shared Memory Configuration Size", "byte", None, EXACT, MAX,
           "part of an SM's L1 that is set aside as shared memory"),
    Metric("grid_size", ("launch__grid_size",), LAUNCH, "Grid Size", "", None, EXACT, NOT_AT_ALL,
           "blocks of the launch"),
    Metric("block_size", ("launch__block_size",), LAUNCH, "Block Size", "", None, EXACT, NOT_AT_ALL,
           "threads of a block"),
    Metric("threads", ("launch__thread_count",), LAUNCH, "Threads", "thread", None, EXACT, SUM,
           "threads of the launch",
           ways=(times(("grid_size", "block_size"), HARDWARE),)),
    Metric("waves_per_sm", ("launch__waves_per_multiprocessor",), LAUNCH, "Waves Per SM", "", None, EXACT, NOT_AT_ALL,
           "blocks of the launch over the blocks that fit on the GPU at once"),
    Metric("stack_size", ("launch__stack_size",), LAUNCH, "Stack Size", "", None, EXACT, MAX,
           "bytes of stack that the driver keeps for a thread; a setting, not what the kernel uses"),
    Metric("barriers", ("launch__barrier_count",), OCCUPANCY, "Block Barrier Count", "", None, EXACT, MAX,
           "barriers of hardware that a block uses; __syncthreads takes one"),
    Metric("theoretical_occupancy", ("sm__maximum_warps_per_active_cycle_pct",), OCCUPANCY, "Theoretical Occupancy",
           "%", None, EXACT, NOT_AT_ALL,
           "warps that registers, shared memory and block size allow, in percent of what an SM holds"),
    Metric("theoretical_warps", ("sm__maximum_warps_avg_per_active_cycle",), OCCUPANCY,
           "Theoretical Active Warps per SM", "warp", None, EXACT, NOT_AT_ALL,
           "warps an SM that registers, shared memory and block size allow",
           ways=(times(("theoretical_occupancy", MAX_WARPS), ATTRIBUTE, factor=0.01),)),
    Metric("achieved_occupancy", ("sm__warps_active.avg.pct_of_peak_sustained_active",), OCCUPANCY,
           "Achieved Occupancy", "%", None, NOISY, BY_SM_ACTIVE,
           "warps that were active, in percent of what an SM holds",
           ways=(over(("sm__warps_active.avg.per_cycle_active",), (MAX_WARPS,), ATTRIBUTE,
                      factor=100.0),
                 same("sm__active_warps_avg_per_active_cycle_pct", RELEASE_2019))),
    Metric("achieved_warps", ("sm__warps_active.avg.per_cycle_active",), OCCUPANCY, "Achieved Active Warps Per SM",
           "warp", None, NOISY, BY_SM_ACTIVE, "warps an SM that were active",
           ways=(times(("sm__warps_active.avg.pct_of_peak_sustained_active", MAX_WARPS),
                       ATTRIBUTE, factor=0.01),
                 same("sm__active_warps_avg_per_active_cycle", RELEASE_2019))),
    Metric("block_limit_registers", ("launch__occupancy_limit_registers",), OCCUPANCY, "Block Limit Registers",
           "block", None, EXACT, NOT_AT_ALL, "blocks that an SM could hold if only registers limited them"),
    Metric("block_limit_shared_memory", ("launch__occupancy_limit_shared_mem",), OCCUPANCY, "Block Limit Shared Mem",
           "block", None, EXACT, NOT_AT_ALL, "blocks that an SM could hold if only shared memory limited them"),
    Metric("block_limit_warps", ("launch__occupancy_limit_warps",), OCCUPANCY, "Block Limit Warps", "block", None,
           EXACT, NOT_AT_ALL, "blocks that an SM could hold if only its number of warps limited them"),
    Metric("block_limit_blocks", ("launch__occupancy_limit_blocks",), OCCUPANCY, "Block Limit SM", "block", None,
           EXACT, NOT_AT_ALL, "blocks that an SM holds at most, however small they are"),
    Metric("block_limit_barriers", ("launch__occupancy_limit_barriers",), OCCUPANCY, "Block Limit Barriers", "block",
           None, EXACT, NOT_AT_ALL, "blocks that an SM could hold if only barriers limited them"),
    Metric("cluster_size", ("launch__cluster_size",), LAUNCH, "Cluster Size", "", None, EXACT, NOT_AT_ALL,
           "blocks of a cluster; 0 without clusters", lacking=BEFORE_HOPPER),
    Metric("clusters_max_active", ("launch__cluster_max_active",), OCCUPANCY, "Max Active Clusters", "cluster", None,
           EXACT, NOT_AT_ALL, "clusters that the GPU can hold at once", lacking=BEFORE_HOPPER),
    Metric("cluster_occupancy", ("launch__occupancy_cluster_pct",), OCCUPANCY, "Cluster Occupancy", "%", None, EXACT,
           NOT_AT_ALL, "clusters that fit, in percent of what the GPU could hold", lacking=BEFORE_HOPPER),
)
# fmt: on
