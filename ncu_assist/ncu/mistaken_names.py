"""Names that people and language models ask for and that no chip has, with the one that answers their question.

The first two are copied from tool to tool. The others are nvprof's, which ncu renamed (Nsight Compute CLI
documentation, nvprof metric comparison); each target is a key of the catalogue or of the derived metrics.
"""

from __future__ import annotations

MISTAKEN: dict[str, str] = {  # base name or nvprof's name -> our key
    "sm__inst_executed_pipe_fp32": "pipe_fma",
    "smsp__warp_issue_stalled_memory_dependency_per_warp_active": "warps_long_scoreboard",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld": "sectors_per_request_load",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st": "sectors_per_request_store",
    "dram__throughput": "dram_throughput",
    "dram_read_bytes": "dram_bytes_read",
    "dram_read_throughput": "dram_bandwidth",
    "dram_utilization": "dram_throughput",
    "dram_write_bytes": "dram_bytes_write",
    "dram_write_throughput": "dram_bandwidth",
    "gld_efficiency": "sector_efficiency_load",
    "gld_transactions": "global_load_sectors",
    "gld_transactions_per_request": "sectors_per_request_load",
    "global_hit_rate": "l1_hit_rate",
    "gst_efficiency": "sector_efficiency_store",
    "gst_transactions": "global_store_sectors",
    "gst_transactions_per_request": "sectors_per_request_store",
    "l2_tex_hit_rate": "l2_hit_rate",
    "shared_efficiency": "bank_conflict_ways",
    "sm_efficiency": "sm_idle_share",
    "stall_memory_dependency": "stall_long_scoreboard",
    "stall_sync": "stall_barrier",
    "tensor_precision_fu_utilization": "pipe_tensor_cycles",
    "warp_execution_efficiency": "threads_per_instruction",
}
