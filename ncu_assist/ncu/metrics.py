"""The catalogue: every metric that the tool uses, by a key of ours, with ncu's name, its meaning and how to combine it.

Names were read off reports of ``--set full`` by ncu 2025.3.1 on an H200; a test holds the catalogue against one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from ncu_assist.ncu.memory_metrics import MEMORY_METRICS
from ncu_assist.ncu.metric import INSTRUCTIONS, LAUNCH, OCCUPANCY, SCHEDULER, SPEED, Better, Metric, percent

STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio")  # Hopper has 'gmma', others not


def _launch(key: str, name: str, label: str, unit: str, meaning: str, better: Better | None = None) -> Metric:
    return Metric(key, (name,), label, LAUNCH, unit, meaning, better, True, "max")


def _tma(key: str, name: str, label: str) -> Metric:
    return Metric(
        key, (name,), label, INSTRUCTIONS, "inst", "tensor memory accelerator instructions", None, True, "sum"
    )


_METRICS = (
    Metric(
        "duration",
        ("gpu__time_duration.sum",),
        "Duration",
        SPEED,
        "ns",
        "time under the profiler, caches flushed: an explanation, not a benchmark",
        "lower",
        False,
        "sum",
    ),
    percent(
        "sm_throughput",
        "sm__throughput.avg.pct_of_peak_sustained_elapsed",
        "Compute (SM) Throughput",
        SPEED,
        "busiest unit of the SM, in percent of its peak",
        "higher",
    ),
    percent(
        "memory_throughput",
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
        "Memory Throughput",
        SPEED,
        "busiest unit from L1 to DRAM, in percent of its peak",
        "higher",
    ),
    percent(
        "dram_throughput",
        "dram__cycles_active.avg.pct_of_peak_sustained_elapsed",
        "DRAM Throughput",
        SPEED,
        "cycles in which DRAM moved data, in percent",
        "higher",
    ),
    percent(
        "theoretical_occupancy",
        "sm__maximum_warps_per_active_cycle_pct",
        "Theoretical Occupancy",
        OCCUPANCY,
        "warps that registers, shared memory and block size allow, in percent of what an SM holds",
        None,
    ),
    percent(
        "achieved_occupancy",
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        "Achieved Occupancy",
        OCCUPANCY,
        "warps that were active, in percent of what an SM holds",
        None,
    ),
    Metric(
        "instructions",
        ("smsp__inst_executed.sum",),
        "Executed Instructions",
        INSTRUCTIONS,
        "inst",
        "instructions that warps executed",
        "lower",
        True,
        "sum",
    ),
    Metric(
        "threads_per_instruction",
        ("smsp__thread_inst_executed_per_inst_executed.ratio",),
        "Avg. Active Threads Per Warp",
        "Warp State Statistics",
        "",
        "threads that took part in an instruction, of 32; below it warps diverge",
        "higher",
        True,
        "time-mean",
    ),
    Metric(
        "issued_per_cycle",
        ("smsp__issue_active.avg.per_cycle_active",),
        "Issued Warp Per Scheduler",
        SCHEDULER,
        "",
        "instructions that a scheduler issued a cycle, of 1",
        "higher",
        False,
        "time-mean",
    ),
    Metric(
        "eligible_warps",
        ("smsp__warps_eligible.avg.per_cycle_active",),
        "Eligible Warps Per Scheduler",
        SCHEDULER,
        "warp",
        "warps that could issue, of those active on a scheduler",
        "higher",
        False,
        "time-mean",
    ),
    _tma("tma_loads", "smsp__inst_executed_op_tma_ld.sum", "TMA loads"),
    _tma("tma_stores", "smsp__inst_executed_op_tma_st.sum", "TMA stores"),
    _launch(
        "registers", "launch__registers_per_thread", "Registers Per Thread", "register/thread", "registers a thread"
    ),
    _launch(
        "shared_memory",
        "launch__shared_mem_per_block",
        "Shared Memory Per Block",
        "byte/block",
        "static, dynamic and the driver's own",
    ),
    _launch("grid_size", "launch__grid_size", "Grid Size", "", "blocks of the launch"),
    _launch("block_size", "launch__block_size", "Block Size", "", "threads of a block"),
    _launch(
        "waves_per_sm",
        "launch__waves_per_multiprocessor",
        "Waves Per SM",
        "",
        "blocks of the launch over the blocks that fit on the GPU at once",
    ),
)

CATALOGUE: dict[str, Metric] = {metric.key: metric for metric in (*_METRICS, *MEMORY_METRICS)}


def stall_reasons(values: Mapping[str, float]) -> dict[str, float]:
    """Return warps stalled for each reason, a cycle in which an instruction is issued; 'selected' is no stall."""
    found = {match.group(1): value for name, value in values.items() if (match := STALL.fullmatch(name))}
    return {reason: value for reason, value in sorted(found.items()) if value is not None and not math.isnan(value)}
