"""Which metric ncu means by a label, in a section or in one of its tables.

Only labels that mean one metric in all recorded reports, of ncu 2019 to 2025.4 and compute capability 7.0 to 12.0. Not
among them: *SM Busy* and *Issue Slots Busy*, of active cycles in 2025.1 and of all in 2025.3; *L2 Compression …*, which
differ by chip; *Maximum Sampling Interval*, in cycles or as a time. *Warp Cycles Per Issued Instruction* was of another
counter in 2019, which says the same since Volta, as a scheduler issues one a cycle. What *Tensor …* and *FP16* are of
differs by chip, too, and is known for those that were recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ncu_assist.ncu.catalogue.metric import (
    COMPUTE,
    DISTRIBUTION,
    INSTRUCTIONS,
    LAUNCH,
    MEMORY,
    OCCUPANCY,
    SCHEDULER,
    SOURCE,
    SPEED,
    WARP_STATE,
)
from ncu_assist.ncu.catalogue.stalls import STALL_PREFIX, STALL_REASONS

SPEED_UNTIL_2020: Final = "GPU Speed Of Light"
_SPEED: Final = {
    "Compute (SM) Throughput": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "Duration": "gpu__time_duration.sum",
    "Memory Throughput": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "Elapsed Cycles": "gpc__cycles_elapsed.max",
    "L1/TEX Cache Throughput": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "SM Active Cycles": "sm__cycles_active.avg",
    "L2 Cache Throughput": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "SM Frequency": "gpc__cycles_elapsed.avg.per_second",
    "DRAM Throughput": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "DRAM Frequency": "dram__cycles_elapsed.avg.per_second",
    "SOL SM": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "SOL Memory": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "SOL TEX": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "SOL L2": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "SOL FB": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "Memory Frequency": "dram__cycles_elapsed.avg.per_second",
    "SOL L1/TEX Cache": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "SOL L2 Cache": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "SOL DRAM": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "Compute (SM) [%]": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "SM [%]": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "Memory [%]": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
}
OF_SECTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    LAUNCH: {
        "Grid Size": "launch__grid_size",
        "Function Cache Configuration": "launch__func_cache_config",
        "Cluster Size": "launch__cluster_size",
        "Registers Per Thread": "launch__registers_per_thread",
        "Cluster Scheduling Policy": "launch__cluster_scheduling_policy",
        "Static Shared Memory Per Block": "launch__shared_mem_per_block_static",
        "Block Size": "launch__block_size",
        "Dynamic Shared Memory Per Block": "launch__shared_mem_per_block_dynamic",
        "Threads": "launch__thread_count",
        "Driver Shared Memory Per Block": "launch__shared_mem_per_block_driver",
        "Waves Per SM": "launch__waves_per_multiprocessor",
        "Shared Memory Configuration Size": "launch__shared_mem_config_size",
        "Uses Green Context": "launch__uses_green_context",
        "Stack Size": "launch__stack_size",
        "# SMs": "launch__sm_count",
        "# TPCs": "launch__tpc_count",
        "Enabled TPC IDs": "launch__tpc_enabled",
        "Preferred Cluster Size": "launch__preferred_cluster_size",
    },
    OCCUPANCY: {
        "Theoretical Occupancy": "sm__maximum_warps_per_active_cycle_pct",
        "Block Limit Registers": "launch__occupancy_limit_registers",
        "Theoretical Active Warps per SM": "sm__maximum_warps_avg_per_active_cycle",
        "Block Limit Shared Mem": "launch__occupancy_limit_shared_mem",
        "Achieved Occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
        "Block Limit Warps": "launch__occupancy_limit_warps",
        "Achieved Active Warps Per SM": "sm__warps_active.avg.per_cycle_active",
        "Block Limit SM": "launch__occupancy_limit_blocks",
        "Cluster Occupancy": "launch__occupancy_cluster_pct",
        "Block Limit Barriers": "launch__occupancy_limit_barriers",
        "Max Active Clusters": "launch__cluster_max_active",
        "Max Cluster Size": "launch__cluster_max_potential_size",
        "Overall GPU Occupancy": "launch__occupancy_cluster_gpu_pct",
    },
    SPEED: _SPEED,
    SPEED_UNTIL_2020: _SPEED,
    DISTRIBUTION: {
        "Average SM Active Cycles": "sm__cycles_active.avg",
        "Average L1 Active Cycles": "l1tex__cycles_active.avg",
        "Average L2 Active Cycles": "lts__cycles_active.avg",
        "Average SMSP Active Cycles": "smsp__cycles_active.avg",
        "Average DRAM Active Cycles": "dram__cycles_active.avg",
        "Average MC Channel Active Cycles": "mcc__cycles_active.avg",
        "Total SM Elapsed Cycles": "sm__cycles_elapsed.sum",
        "Total L1 Elapsed Cycles": "l1tex__cycles_elapsed.sum",
        "Total L2 Elapsed Cycles": "lts__cycles_elapsed.sum",
        "Total SMSP Elapsed Cycles": "smsp__cycles_elapsed.sum",
        "Total DRAM Elapsed Cycles": "dram__cycles_elapsed.sum",
        "Total MC Channel Elapsed Cycles": "mcc__cycles_elapsed.sum",
    },
    COMPUTE: {
        "Executed Ipc Elapsed": "sm__inst_executed.avg.per_cycle_elapsed",
        "Executed Ipc Active": "sm__inst_executed.avg.per_cycle_active",
        "Issued Ipc Active": "sm__inst_issued.avg.per_cycle_active",
    },
    INSTRUCTIONS: {
        "Executed Instructions": "smsp__inst_executed.sum",
        "Avg. Executed Instructions Per Scheduler": "smsp__inst_executed.avg",
        "Issued Instructions": "smsp__inst_issued.sum",
        "Avg. Issued Instructions Per Scheduler": "smsp__inst_issued.avg",
    },
    MEMORY: {
        "Memory Throughput": "dram__bytes.sum.per_second",
        "Mem Busy": "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed",
        "L1/TEX Hit Rate": "l1tex__t_sector_hit_rate.pct",
        "Max Bandwidth": "gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed",
        "L2 Hit Rate": "lts__t_sector_hit_rate.pct",
        "Mem Pipes Busy": "sm__memory_throughput.avg.pct_of_peak_sustained_elapsed",
        "L1 Hit Rate": "l1tex__t_sector_hit_rate.pct",
        "Local Memory Spilling Requests": "derived__local_spilling_requests",
        "Local Memory Spilling Request Overhead": "derived__local_spilling_requests_pct",
        "L2 Persisting Size": "launch__persisting_l2_cache_size",
    },
    SCHEDULER: {
        "Active Warps Per Scheduler": "smsp__warps_active.avg.per_cycle_active",
        "No Eligible": "smsp__issue_inst0.avg.pct_of_peak_sustained_active",
        "Eligible Warps Per Scheduler": "smsp__warps_eligible.avg.per_cycle_active",
        "One or More Eligible": "smsp__issue_active.avg.pct_of_peak_sustained_active",
        "Issued Warp Per Scheduler": "smsp__issue_active.avg.per_cycle_active",
        "Instructions Per Active Issue Slot": "smsp__inst_issued_per_issue_active.ratio",
    },
    SOURCE: {
        "Branch Instructions": "smsp__inst_executed_op_branch.sum",
        "Branch Efficiency": "smsp__sass_average_branch_targets_threads_uniform.pct",
        "Branch Instructions Ratio": "derived__smsp__inst_executed_op_branch_pct",
        "Avg. Divergent Branches": "smsp__sass_branch_targets_threads_divergent.avg",
    },
    WARP_STATE: {
        "Avg. Active Threads Per Warp": "smsp__thread_inst_executed_per_inst_executed.ratio",
        "Warp Cycles Per Executed Instruction": "smsp__average_warps_active_per_inst_executed.ratio",
        "Avg. Not Predicated Off Threads Per Warp": "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
        "Warp Cycles Per Issue Active": "smsp__average_warps_active_per_issue_active.ratio",
        "Warp Cycles Per Issued Instruction": "smsp__average_warp_latency_per_inst_issued.ratio",
    },
}

_ACTIVE, _ELAPSED = "avg.pct_of_peak_sustained_active", "avg.pct_of_peak_sustained_elapsed"
_CYCLES: Final = {
    "ALU": "sm__pipe_alu_cycles_active",
    "FMA": "sm__pipe_fma_cycles_active",
    "FP64": "sm__pipe_fp64_cycles_active",
    "Shared (FP16+Tensor)": "sm__pipe_shared_cycles_active",
    "Shared (FP64+Tensor)": "sm__pipe_shared_cycles_active",
    "Shared (FP64+FP16+Tensor)": "sm__pipe_shared_cycles_active",
    "TC": "sm__pipe_tc_cycles_active",
    "TMA": "sm__pipe_tma_cycles_active",
    "TMEM (Tensor Memory)": "sm__mem_tensor_cycles_active",
}
_EXECUTED: Final = {
    "ADU": "sm__inst_executed_pipe_adu",
    "ALU": "sm__inst_executed_pipe_alu",
    "CBU": "sm__inst_executed_pipe_cbu",
    "FMA": "sm__inst_executed_pipe_fma",
    "FMA (FP16)": "sm__inst_executed_pipe_fma_type_fp16",
    "FP64": "sm__inst_executed_pipe_fp64",
    "FP64 (DMMA)": "sm__inst_executed_pipe_fp64_op_dmma",
    "FP64 (FP64)": "sm__inst_executed_pipe_fp64_op_fp64",
    "LSU": "sm__inst_executed_pipe_lsu",
    "TC": "sm__inst_executed_pipe_tc",
    "TEX": "sm__inst_executed_pipe_tex",
    "TMA": "sm__inst_executed_pipe_tma",
    "TMEM": "sm__inst_executed_pipe_tmem",
    "Tensor (Warp Group)": "sm__inst_executed_pipe_tensor_op_gmma",
    "Uniform": "sm__inst_executed_pipe_uniform",
    "WorkID": "sm__inst_executed_pipe_workid",
    "WorkID/CLC": "sm__inst_executed_pipe_workid",
    "XU": "sm__inst_executed_pipe_xu",
}
_UNTIL_2022: Final = {
    **_EXECUTED,
    **{label: _CYCLES[label] for label in ("ALU", "FMA")},
    "Tensor (DP)": "sm__inst_executed_pipe_tensor_op_dmma",
    "Tensor (FP)": "sm__inst_executed_pipe_tensor_op_hmma",
    "Tensor (INT)": "sm__inst_executed_pipe_tensor_op_imma",
}


def _over(cycles: str, pipes: Mapping[str, str]) -> dict[str, str]:
    return {label: f"{name}.{cycles}" for label, name in pipes.items()}


OF_TABLES: Final[Mapping[str, Mapping[str, str]]] = {
    "GPU Throughput": _SPEED,
    "GPU Utilization": _SPEED,
    "Warps Per Scheduler": {
        **OF_SECTIONS[SCHEDULER],
        "GPU Maximum Warps Per Scheduler": "smsp__warps_active.avg.peak_sustained",
    },
    "Warp State (All Cycles)": {
        one.label: f"{STALL_PREFIX}{one.name}_per_issue_active.ratio" for one in STALL_REASONS.values()
    },
    "Pipe Utilization": _over(_ACTIVE, _UNTIL_2022),
    "Pipe Utilization (% of active cycles)": _over(_ACTIVE, _CYCLES),
    "Pipe Utilization (% of elapsed cycles)": _over(_ELAPSED, _CYCLES),
    "Pipe Utilization (% of peak instructions executed)": _over(_ACTIVE, _EXECUTED),
    "Pipe Utilization (% of peak instructions executed over active cycles)": _over(_ACTIVE, _EXECUTED),
    "Pipe Utilization (% of peak instructions executed over elapsed cycles)": _over(_ELAPSED, _EXECUTED),
}

_TENSOR_CYCLES: Final = {
    "Tensor (All)": "sm__pipe_tensor_cycles_active",
    "Tensor (FP)": "sm__pipe_tensor_op_hmma_cycles_active",
    "Tensor (INT)": "sm__pipe_tensor_op_imma_cycles_active",
}
_TENSOR_EXECUTED: Final = {
    "Tensor (FP)": "sm__inst_executed_pipe_tensor_op_hmma",
    "Tensor (INT)": "sm__inst_executed_pipe_tensor_op_imma",
}
_CYCLES_DP: Final = {"Tensor (DP)": "sm__pipe_tensor_op_dmma_cycles_active"}
_EXECUTED_DP: Final = {"Tensor (DP)": "sm__inst_executed_pipe_tensor_op_dmma"}
_FP16, _FP16_OF_FMA = "sm__inst_executed_pipe_fp16", "sm__inst_executed_pipe_fma_type_fp16"


def _of_chip(fp16: str, *, has_dmma: bool = False) -> dict[str, dict[str, str]]:
    cycles = _TENSOR_CYCLES | (_CYCLES_DP if has_dmma else {})
    executed = _TENSOR_EXECUTED | (_EXECUTED_DP if has_dmma else {}) | {"FP16": fp16}
    return {
        "Pipe Utilization (% of active cycles)": _over(_ACTIVE, cycles),
        "Pipe Utilization (% of elapsed cycles)": _over(_ELAPSED, cycles),
        "Pipe Utilization (% of peak instructions executed)": _over(_ACTIVE, executed),
        "Pipe Utilization (% of peak instructions executed over active cycles)": _over(_ACTIVE, executed),
        "Pipe Utilization (% of peak instructions executed over elapsed cycles)": _over(_ELAPSED, executed),
    }


# By compute capability, table and label: rows that differ by chip, of those that were recorded.
OF_CHIPS: Final[Mapping[str, Mapping[str, Mapping[str, str]]]] = {
    "7.5": _of_chip(_FP16),
    "8.0": _of_chip(_FP16, has_dmma=True),
    "8.6": _of_chip(_FP16_OF_FMA),
    "8.9": _of_chip(_FP16_OF_FMA),
    "9.0": _of_chip(_FP16_OF_FMA, has_dmma=True),
}
