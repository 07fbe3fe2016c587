"""The metric doctor: which of the metrics asked for cannot be had, what was meant, and what stays unanswered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ncu_assist.ncu.catalogue.chips import Available, on_chip, recorded_names
from ncu_assist.ncu.catalogue.metric import Way
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.ncu.catalogue.rows import ALL_DERIVED, ROWS
from ncu_assist.ncu.catalogue.spelling import ROLLUPS, USUAL, join, nearest, split

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


NAMES = frozenset(name for metric in CATALOGUE.values() for name in metric.names)


@dataclass(frozen=True)
class NameProblem:
    """One name that cannot be had: why, and the spelling that can; an empty ``suggestion`` where there is none."""

    asked: str
    reason: str
    suggestion: str

    @property
    def line(self) -> str:
        """All of it in a sentence."""
        if self.suggestion:
            return f"{self.asked} {self.reason}; use {self.suggestion}"
        return f"cannot be answered: {_question(self.asked)} ({self.reason})"


def check_names(asked: Iterable[str], available: Available) -> tuple[NameProblem, ...]:
    """Return what is wrong with names asked for, ncu's with rollup or keys of the catalogue; what has no answer first.

    ``available`` is ``on_chip(chip)`` before profiling and ``in_report(names)`` after it.
    """
    wrong = [
        NameProblem(name, _reason(name, available), suggestion(name, available))
        for name in dict.fromkeys(asked)
        if not spelled(name, available)
    ]
    return tuple(sorted(wrong, key=lambda one: bool(one.suggestion)))


def spelled(name: str, available: Available) -> tuple[str, ...]:
    """Return ncu's names behind a name: itself, or those that a key of the catalogue needs. Empty where one lacks."""
    if name in ALL_DERIVED:
        optional = ALL_DERIVED[name].optional
        parts = {key: CATALOGUE[key].spelled(available.has) for key in ALL_DERIVED[name].needs}
        lacking = [key for key, found in parts.items() if not found and key not in optional]
        if lacking or not any(parts.values()):
            return next((names for way in ALL_DERIVED[name].ways if (names := way.names(available.has))), ())
        return tuple(dict.fromkeys(one for found in parts.values() for one in found))
    if name in CATALOGUE:
        return CATALOGUE[name].spelled(available.has)
    return (name,) if available.has(name) else ()


def is_on(way: Way, chip: str | None) -> bool:
    """Tell whether a way may be open on a chip: a name that no recorded list has may stand in any report."""
    here, anywhere = on_chip(chip), on_chip(None)
    return all(here.has(name) or not anywhere.has(name) for name in way.every_name)


def suggestion(name: str, available: Available) -> str:
    """Return the spelling that can be had and is most likely meant; empty where nothing is near."""
    return next((one for one in _candidates(name, available) if spelled(one, available)), "")


def _candidates(name: str, available: Available) -> Iterator[str]:
    """Yield spellings that may be meant, likeliest first: they need not be available."""
    base, rollup = split(name)
    for metric in CATALOGUE.values():
        bases = [split(one)[0] for one in metric.names]
        if base in bases:
            yield from (join(other, rollup) for other in bases if other != base)
    if base not in available.rollups and base.lower() in MISTAKEN:
        yield from _answers(base.lower(), available)
        return
    if base in available.rollups:
        yield from (join(base, one) for one in _rollups(base, rollup, available))
    near = nearest(name.lower(), [*ROWS, *MISTAKEN])
    keys = [one for found in near for one in (_answers(found, available) if found in MISTAKEN else (found,))]
    if "__" not in name:  # as every name of ncu has: a key is meant
        yield from keys
    for other in nearest(base, available.rollups, 3):
        yield from (join(other, one) for one in (rollup, *_rollups(other, rollup, available)))
    yield from keys


def _answers(mistaken: str, available: Available) -> Iterator[str]:
    """Yield ncu's names behind the keys that answer the same; a key itself where a formula is behind it."""
    for key in MISTAKEN[mistaken]:
        yield from (key,) if key in ALL_DERIVED else spelled(key, available)


def _rollups(base: str, wanted: str, available: Available) -> list[str]:
    """Return the rollups of a base: those like the wanted one first, of them those that the catalogue uses."""
    known = list(available.rollups[base])
    recorded = recorded_names().get(base)
    usual = USUAL.get(recorded.kind, "") if recorded else ""
    like = [one for one in known if wanted and one.startswith(wanted)] or nearest(wanted, known, 2)
    ranked = [*like, *(one for one in (usual,) if one in known), *known]
    listed = [one for one in known if join(base, one) in NAMES]
    return [*(one for one in like if one in listed), *like, *listed, *ranked]


def _reason(name: str, available: Available) -> str:
    base, rollup = split(name)
    recorded = recorded_names().get(base)
    if base in available.rollups:
        return f"has no rollup .{rollup}" if rollup else "needs a rollup"
    if name in ROWS:
        return f"is not what {available.where} has the counters for"
    if recorded is None:
        return "is a name that no recorded chip has"
    if rollup and rollup not in ROLLUPS[recorded.kind]:
        return f"is not in {available.where} and has no rollup .{rollup}"
    if available.where in recorded.chips or available.where == on_chip(None).where:
        return f"is not in {available.where}"
    return f"is not in {available.where}; ncu has it on {', '.join(sorted(recorded.chips))}"


def _question(name: str) -> str:
    known = ROWS.get(name)
    by_name = next((metric for metric in CATALOGUE.values() if name in metric.names), None)
    meaning = known.meaning if known else by_name.meaning if by_name else ""
    return f"{name}, {meaning}" if meaning else name
