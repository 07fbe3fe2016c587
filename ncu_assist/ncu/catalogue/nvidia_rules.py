"""NVIDIA's rules by identifier, as the ``rules`` frame has them: what each looks for, in our words, and where to look.

The identifiers are those of ncu 2025.3.1, but for two that show nothing and only scale the estimates of others.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NvidiaRule:
    """One rule. ``section``: ncu's identifier of the section. ``look_at``: keys that say the same in numbers."""

    name: str
    section: str
    finds: str
    look_at: tuple[str, ...]


# fmt: off
_RULES = (
    NvidiaRule("AchievedOccupancy", "Occupancy",
               "Fewer warps were active than registers, shared memory and block size allow: blocks or warps of uneven "
               "length, or a grid that does not fill the GPU. It costs time only where latency is the problem.",
               ("achieved_occupancy", "theoretical_occupancy", "sm_imbalance", "waves_per_sm")),
    NvidiaRule("CPIStall", "WarpStateStats",
               "The state in which warps spend most cycles between two instructions; a finding of this rule is named "
               "after it. It says what to hide or to shorten, if the schedulers do not issue often enough.",
               ("warp_cycles_per_instruction", "issued_per_cycle", "stall_long_scoreboard")),
    NvidiaRule("FPInstructions", "InstructionStats",
               "Additions and multiplications that are not fused although fused ones do two operations at once. Only "
               "pairs that depend on each other can be fused, and only arithmetic that bounds the kernel counts.",
               ("fp32_add_per_cycle", "fp32_mul_per_cycle", "fp32_fma_per_cycle", "pipe_fma")),
    NvidiaRule("HighPipeUtilization", "ComputeWorkloadAnalysis",
               "How busy the busiest arithmetic pipe is, from all of them idle to one that bounds the kernel: then "
               "use other or fewer instructions; an idle one asks for more warps or less waiting.",
               ("pipe_fma", "pipe_alu", "pipe_xu", "pipe_lsu", "pipe_tensor_cycles")),
    NvidiaRule("IssueSlotUtilization", "SchedulerStats",
               "Schedulers often find no warp that can issue. Either more warps or fewer waits help, but not in a "
               "kernel whose memory is already at its limit.",
               ("issued_per_cycle", "no_eligible", "active_warps", "eligible_warps")),
    NvidiaRule("LaunchConfiguration", "LaunchStats",
               "A grid or block that does not suit the GPU: fewer blocks than SMs, a last wave that is nearly empty, "
               "or a block that is no multiple of 32 threads.",
               ("waves_per_sm", "last_wave_fill", "grid_size", "block_size")),
    NvidiaRule("MemoryApertureUsage", "MemoryWorkloadAnalysis_Chart",
               "Many L2 misses go to memory of the host or of another GPU, which is slower than DRAM.",
               ("host_sectors_missed", "host_bytes", "pcie_read_bandwidth")),
    NvidiaRule("MemoryCacheAccessPattern", "MemoryWorkloadAnalysis_Tables",
               "Threads use few of the 32 bytes of each sector that L1 or L2 moves for them: a stride, or a "
               "structure of which one field is read.",
               ("sector_efficiency_load", "sector_efficiency_store", "global_sectors_excessive")),
    NvidiaRule("MemoryL2Compression", "MemoryWorkloadAnalysis_Chart",
               "Data sent to the compression unit of L2 was not compressed, or is written in a scattered way. It "
               "also reports kernels that never asked for compressible memory; those can pass it by.",
               ("l2_sectors_write", "dram_bytes_write")),
    NvidiaRule("PCSamplingData", "SourceCounters",
               "Samples of the program counter were asked for and none was taken, mostly as the kernel is shorter than "
               "the sampling interval: nothing can be said per line.", ("samples", "duration")),
    NvidiaRule("PMSamplingData", "PmSampling",
               "The kernel is too short for the sampling interval of the timeline, so few samples were taken. It says "
               "nothing about the kernel's speed.", ("duration",)),
    NvidiaRule("SOLBottleneck", "SpeedOfLight",
               "What bounds the kernel, by its two throughputs: computing or memory above 80 % of the peak is near "
               "its limit; both below 60 % means latency, or a grid that is too small.",
               ("sm_throughput", "memory_throughput", "dram_throughput", "waves_per_sm")),
    NvidiaRule("SOLFPRoofline", "SpeedOfLight_RooflineChart",
               "Which share of the peak of FP32 and of FP64 arithmetic was reached; a low one is no fault in a kernel "
               "that memory bounds. Tensor cores are not in it.",
               ("fp32_flops", "fp64_flops", "intensity_fp32", "intensity_fp64")),
    NvidiaRule("SharedMemoryConflicts", "MemoryWorkloadAnalysis_Tables",
               "Accesses to shared memory take several passes as lanes of a warp meet in one bank; counted by "
               "hardware, so up to 2 % are arbitration between warps. Pad or swizzle the array.",
               ("bank_conflict_ways", "shared_wavefronts_excessive", "bank_conflicts_load", "bank_conflicts_store")),
    NvidiaRule("SlowPipeLimiter", "ComputeWorkloadAnalysis",
               "One slow pipe (such as FP64 or XU) is at its peak while the pipes are hardly used on average, so its "
               "instructions hold up the others. Move work to other pipes, such as from fp64 to fp32.",
               ("sm_busy", "issue_slots_busy", "pipe_fp64", "pipe_xu")),
    NvidiaRule("TheoreticalOccupancy", "Occupancy",
               "An SM cannot hold as many warps as it has room for; the finding names the limit: registers, shared "
               "memory, blocks or barriers. It costs time only where latency is the problem.",
               ("theoretical_occupancy", "block_limit_registers", "block_limit_shared_memory", "block_limit_warps")),
    NvidiaRule("ThreadDivergence", "WarpStateStats",
               "Instructions run with part of a warp's 32 threads, through branches, predicates or blocks that are "
               "no multiple of 32.",
               ("threads_per_instruction", "threads_per_instruction_predicated", "divergent_branches")),
    NvidiaRule("UncoalescedGlobalAccess", "SourceCounters",
               "Accesses to global memory touch more sectors than their bytes need; the finding lists the "
               "instructions that touch most. Let neighbouring threads access neighbouring addresses.",
               ("global_sectors_excessive", "global_sectors_theoretical", "sector_efficiency")),
    NvidiaRule("UncoalescedSharedAccess", "SourceCounters",
               "Accesses to shared memory take more wavefronts than their bytes need: bank conflicts, worked out from "
               "the addresses of each instruction. The finding lists the instructions.",
               ("shared_wavefronts_excessive", "excess_wavefront_share", "bank_conflict_ways")),
    NvidiaRule("WorkloadImbalance", "WorkloadDistribution",
               "Some SMs, schedulers or slices of L1 or L2 worked far longer or shorter than the mean: blocks of "
               "uneven length, too few blocks, or addresses that camp on few slices.",
               ("sm_imbalance", "sm_cycles_active_min", "sm_cycles_active_max", "l2_cycles_active_max")),
)
# fmt: on

NVIDIA_RULES: dict[str, NvidiaRule] = {rule.name: rule for rule in _RULES}
