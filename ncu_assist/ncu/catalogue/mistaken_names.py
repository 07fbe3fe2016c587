"""Names that people and language models ask for and that ncu does not have, with what answers their question."""

from __future__ import annotations

from ncu_assist.ncu.catalogue.nvprof_names import NVPROF

PER_REQUEST = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op"

COPIED: dict[str, tuple[str, ...]] = {  # from tool to tool; the first two exist on no chip
    "sm__inst_executed_pipe_fp32": ("pipe_fma",),
    "smsp__warp_issue_stalled_memory_dependency_per_warp_active": ("warps_long_scoreboard",),
    f"{PER_REQUEST}_ld": ("sectors_per_request_load",),
    f"{PER_REQUEST}_st": ("sectors_per_request_store",),
    "dram__throughput": ("dram_throughput",),
    "bandwidth": ("dram_bandwidth",),
    "occupancy": ("achieved_occupancy",),
    "gpu_time": ("duration",),
    "time": ("duration",),
}

# Fields of DCGM for profiling (DCGM documentation, Profiling Metrics), which other tools show under the same names.
DCGM: dict[str, tuple[str, ...]] = {
    "dram_active": ("dram_throughput",),
    "fp16_active": ("pipe_fp16",),
    "fp32_active": ("pipe_fma_cycles",),
    "fp64_active": ("pipe_fp64_cycles",),
    "sm_active": ("sm_active_share",),
    "sm_occupancy": ("achieved_occupancy",),
    "tensor_active": ("pipe_tensor_cycles",),
}

# Base name of ncu, or another tool's name, in lower case -> our keys or names of ncu, the nearest first. Where nothing
# counts the same, there is none: a name that is only spelled alike would mislead.
MISTAKEN: dict[str, tuple[str, ...]] = {**COPIED, **DCGM, **NVPROF}
