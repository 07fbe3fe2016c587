"""Names that people and language models ask for and that ncu does not have, with what answers their question.

What nvprof called its metrics: the pairs are NVIDIA's (Nsight Compute CLI documentation, nvprof Migration Guide, Metric
Comparison), in our keys where the catalogue or a derived metric holds the same. The first of several is the nearest;
the next ones are for a report that does not hold it. None: nvprof counted what no chip counts any more.
"""

from __future__ import annotations

L1_BYTES, SURFACE = "l1tex__t_bytes_pipe_lsu_mem", "l1tex__t_requests_pipe_tex_mem_surface_op"
THREADS = "smsp__sass_thread_inst_executed_op"
OF_PEAK = "pred_on.avg.pct_of_peak_sustained_elapsed"

ACCESSES: dict[str, tuple[str, ...]] = {
    "atomic_transactions": ("global_atomic_sectors",),
    "dram_read_bytes": ("dram_bytes_read",),
    "dram_read_throughput": ("dram__bytes_read.sum.per_second", "dram__bytes_op_read.sum.per_second"),
    "dram_read_transactions": ("dram__sectors_read.sum", "dram_bytes_read"),
    "dram_utilization": ("dram_throughput",),
    "dram_write_bytes": ("dram_bytes_write",),
    "dram_write_throughput": ("dram__bytes_write.sum.per_second", "dram__bytes_op_write.sum.per_second"),
    "dram_write_transactions": ("dram__sectors_write.sum", "dram_bytes_write"),
    "gld_efficiency": ("sector_efficiency_load",),
    "gld_requested_throughput": (),
    "gld_throughput": (f"{L1_BYTES}_global_op_ld.sum.per_second", "global_load_bytes"),
    "gld_transactions": ("global_load_sectors",),
    "gld_transactions_per_request": ("sectors_per_request_load",),
    "global_hit_rate": ("l1_hit_rate_load",),
    "gst_efficiency": ("sector_efficiency_store",),
    "gst_requested_throughput": (),
    "gst_throughput": (f"{L1_BYTES}_global_op_st.sum.per_second", "global_store_bytes"),
    "gst_transactions": ("global_store_sectors",),
    "gst_transactions_per_request": ("sectors_per_request_store",),
    "l2_atomic_throughput": ("lts__t_sectors_srcunit_tex_op_atom.sum.per_second", "l2_sectors_atomic"),
    "l2_atomic_transactions": ("l2_sectors_atomic",),
    "l2_global_atomic_store_bytes": ("l2_sectors_atomic",),
    "l2_global_load_bytes": ("lts__t_bytes_equiv_l1sectormiss_pipe_lsu_mem_global_op_ld.sum", "l2_sectors_read"),
    "l2_global_reduction_bytes": ("l2_sectors_reduction",),
    "l2_local_global_store_bytes": ("l2_sectors_write",),
    "l2_local_load_bytes": ("lts__t_bytes_equiv_l1sectormiss_pipe_lsu_mem_local_op_ld.sum", "l2_sectors_read"),
    "l2_read_throughput": ("lts__t_sectors_op_read.sum.per_second", "l2_sectors_read"),
    "l2_read_transactions": ("lts__t_sectors_op_read.sum", "l2_sectors_read"),
    "l2_tex_hit_rate": ("l2_hit_rate",),
    "l2_tex_read_hit_rate": ("l2_hit_rate_load",),
    "l2_tex_read_throughput": ("lts__t_sectors_srcunit_tex_op_read.sum.per_second", "l2_sectors_read"),
    "l2_tex_read_transactions": ("l2_sectors_read",),
    "l2_tex_write_hit_rate": ("l2_hit_rate_store",),
    "l2_tex_write_throughput": ("lts__t_sectors_srcunit_tex_op_write.sum.per_second", "l2_sectors_write"),
    "l2_tex_write_transactions": ("l2_sectors_write",),
    "l2_utilization": ("l2_lookups_busy",),
    "l2_write_throughput": ("lts__t_sectors_op_write.sum.per_second", "l2_sectors_write"),
    "l2_write_transactions": ("lts__t_sectors_op_write.sum", "l2_sectors_write"),
    "local_hit_rate": ("local_hit_rate_load",),
    "local_load_throughput": (f"{L1_BYTES}_local_op_ld.sum.per_second", "local_load_sectors"),
    "local_load_transactions": ("local_load_sectors",),
    "local_load_transactions_per_request": ("l1tex__average_t_sectors_per_request_pipe_lsu_mem_local_op_ld.ratio",),
    "local_memory_overhead": (),
    "local_store_throughput": (f"{L1_BYTES}_local_op_st.sum.per_second", "local_store_sectors"),
    "local_store_transactions": ("local_store_sectors",),
    "local_store_transactions_per_request": ("l1tex__average_t_sectors_per_request_pipe_lsu_mem_local_op_st.ratio",),
    "nvlink_receive_throughput": ("nvlrx__bytes.sum.per_second",),
    "nvlink_total_data_received": ("nvlrx__bytes.sum",),
    "nvlink_total_data_transmitted": ("nvltx__bytes.sum",),
    "nvlink_transmit_throughput": ("nvltx__bytes.sum.per_second",),
    "pcie_total_data_received": ("pcie__read_bytes.sum",),
    "pcie_total_data_transmitted": ("pcie__write_bytes.sum",),
    "shared_efficiency": ("smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct", "bank_conflict_ways"),
    "shared_load_throughput": (
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum.per_second",
        "shared_wavefronts_load",
    ),
    "shared_load_transactions": ("shared_wavefronts_load",),
    "shared_load_transactions_per_request": ("shared_wavefronts_load",),
    "shared_store_throughput": (
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum.per_second",
        "shared_wavefronts_store",
    ),
    "shared_store_transactions": ("shared_wavefronts_store",),
    "shared_store_transactions_per_request": ("shared_wavefronts_store",),
    "shared_utilization": ("l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",),
    "surface_atomic_requests": (f"{SURFACE}_atom.sum",),
    "surface_load_requests": (f"{SURFACE}_ld.sum",),
    "surface_reduction_requests": (f"{SURFACE}_red.sum",),
    "surface_store_requests": (f"{SURFACE}_st.sum",),
    "sysmem_read_bytes": ("lts__t_sectors_aperture_sysmem_op_read.sum", "host_sectors_read"),
    "sysmem_read_throughput": ("lts__t_sectors_aperture_sysmem_op_read.sum.per_second", "host_sectors_read"),
    "sysmem_read_transactions": ("lts__t_sectors_aperture_sysmem_op_read.sum", "host_sectors_read"),
    "sysmem_write_bytes": ("lts__t_sectors_aperture_sysmem_op_write.sum", "host_sectors_write"),
    "sysmem_write_throughput": ("lts__t_sectors_aperture_sysmem_op_write.sum.per_second", "host_sectors_write"),
    "sysmem_write_transactions": ("lts__t_sectors_aperture_sysmem_op_write.sum", "host_sectors_write"),
    "tex_cache_hit_rate": ("l1_hit_rate",),
    "tex_cache_throughput": (),
    "tex_cache_transactions": ("l1tex__lsu_writeback_active.sum",),
    "texture_load_requests": ("l1tex__t_requests_pipe_tex_mem_texture.sum",),
}

INSTRUCTIONS: dict[str, tuple[str, ...]] = {
    "cf_executed": ("smsp__inst_executed_pipe_cbu.sum", "branches"),
    "cf_fu_utilization": ("pipe_cbu",),
    "cf_issued": (),
    "double_precision_fu_utilization": ("pipe_fp64",),
    "eligible_warps_per_cycle": ("smsp__warps_eligible.sum.per_cycle_active",),
    **{f"flop_count_{n}p": (f"fp{bits}_flops",) for n, bits in (("d", 64), ("s", 32), ("h", 16))},
    **{
        f"flop_count_{n}p_{op}": (f"{THREADS}_{letter}{op}_pred_on.sum", f"fp{bits}_{op}_per_cycle")
        for n, letter, bits in (("d", "d", 64), ("s", "f", 32), ("h", "h", 16))
        for op in ("add", "mul", "fma")
    },
    "flop_count_sp_special": (),
    "flop_dp_efficiency": (f"{THREADS}s_dadd_dmul_dfma_{OF_PEAK}", "fp64_flops"),
    "flop_hp_efficiency": (f"{THREADS}s_hadd_hmul_hfma_{OF_PEAK}", "fp16_flops"),
    "flop_sp_efficiency": (f"{THREADS}s_fadd_fmul_ffma_{OF_PEAK}", "fp32_flops"),
    "half_precision_fu_utilization": ("pipe_fp16",),
    "inst_bit_convert": (f"{THREADS}_conversion_pred_on.sum",),
    "inst_compute_ld_st": (f"{THREADS}_memory_pred_on.sum",),
    "inst_control": (f"{THREADS}_control_pred_on.sum",),
    "inst_executed": ("instructions",),
    "inst_executed_global_atomics": ("global_atomics",),
    "inst_executed_global_loads": ("global_load_instructions",),
    "inst_executed_global_reductions": ("global_reductions",),
    "inst_executed_global_stores": ("global_store_instructions",),
    "inst_executed_local_loads": ("local_load_instructions",),
    "inst_executed_local_stores": ("local_store_instructions",),
    "inst_executed_shared_atomics": ("shared_atomics",),
    "inst_executed_shared_loads": ("shared_load_instructions",),
    "inst_executed_shared_stores": ("shared_store_instructions",),
    "inst_executed_tex_ops": ("smsp__inst_executed_op_texture.sum",),
    **{f"inst_fp_{bits}": (f"{THREADS}_fp{bits}_pred_on.sum",) for bits in (16, 32, 64)},
    "inst_integer": (f"{THREADS}_integer_pred_on.sum",),
    "inst_inter_thread_communication": (f"{THREADS}_inter_thread_communication_pred_on.sum",),
    "inst_issued": ("instructions_issued",),
    "inst_misc": (f"{THREADS}_misc_pred_on.sum",),
    "inst_per_warp": ("smsp__average_inst_executed_per_warp.ratio",),
    "inst_replay_overhead": (),
    "issue_slot_utilization": ("smsp__issue_active.avg.pct_of_peak_sustained_active", "issue_slots_busy"),
    "issue_slots": ("instructions_issued",),
    "issued_ipc": ("smsp__inst_issued.avg.per_cycle_active", "issued_per_cycle"),
    "ldst_executed": (),
    "ldst_fu_utilization": ("pipe_lsu",),
    "ldst_issued": (),
    "single_precision_fu_utilization": ("pipe_fma_cycles",),
    "sm_efficiency": ("sm_active_share",),
    "special_fu_utilization": ("pipe_xu",),
    "tensor_int_fu_utilization": ("pipe_tensor_imma",),
    "tensor_precision_fu_utilization": ("pipe_tensor_cycles",),
    "tex_fu_utilization": ("pipe_tex",),
    "unique_warps_launched": ("smsp__warps_launched.sum",),
    "warp_execution_efficiency": ("threads_per_instruction",),
    "warp_nonpred_execution_efficiency": ("threads_per_instruction_predicated",),
    "stall_constant_memory_dependency": ("stall_imc_miss",),
    "stall_exec_dependency": ("stall_wait",),  # and short_scoreboard
    "stall_inst_fetch": ("stall_no_instruction",),
    "stall_memory_dependency": ("stall_long_scoreboard",),
    "stall_memory_throttle": ("stall_lg_throttle",),  # and drain
    "stall_other": ("stall_misc",),  # and dispatch_stall
    "stall_pipe_busy": ("stall_math_pipe_throttle",),  # and mio_throttle
    "stall_sync": ("stall_barrier",),  # and membar
    "stall_texture": ("stall_tex_throttle",),
}

NVPROF: dict[str, tuple[str, ...]] = {**ACCESSES, **INSTRUCTIONS}

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
