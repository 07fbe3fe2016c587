"""Which of NVIDIA's rules says what ncu printed: a terminal shows the words of a finding, not the name of its rule.

Begins of the messages of reports of ncu 2020 to 2025.4, whose titles are those of today. What has none of them stays
without a name.
"""

from __future__ import annotations

import re
from itertools import product
from typing import Final

from ncu_assist.ncu.catalogue.metric import SCHEDULER

_STALLED: Final = r"On average,? each warp of this (?:kernel|workload) spends [\d.]+ cycles being stalled "
_STALLS: Final = {
    "Barrier": "waiting for sibling warps at a CTA barrier",
    "Drain": r"(?:waiting )?after (?:an )?EXIT ",
    "Imc Miss": "waiting for an immediate constant cache",
    "Lg Throttle": r"waiting for the L1 instruction queue for local and global",
    "Long Scoreboard": "waiting for a scoreboard dependency on a L1TEX",
    "Math Pipe Throttle": "waiting for a math execution pipeline",
    "Mio Throttle": r"waiting for the MIO \(memory input/output\) instruction queue",
    "No Instruction": "waiting to be selected to fetch an instruction",
    "Not Selected": "waiting for the micro scheduler to select",
    "Short Scoreboard": "waiting for a scoreboard dependency on a MIO",
    "Tex Throttle": "waiting for the L1 instruction queue for texture",
    "Wait": r"(?:waiting )?on a fixed latency execution dependency",
}
_THEORETICAL: Final = r"The [\d.]+ theoretical warps per scheduler this kernel can issue"
_HIGHEST: Final = r".* is the highest-utilized pipeline .*"
_SIDES: Final = product(("L1TEX", "L2", "DRAM"), ("global", "local"), ("load", "store"))
# The first row that fits: rule, section by its identifier, title, and how the message begins.
_ROWS: Final = (
    ("AchievedOccupancy", "Occupancy", "Achieved Occupancy", "The difference between calculated theoretical"),
    ("TheoreticalOccupancy", "Occupancy", "Theoretical Occupancy", _THEORETICAL),
    ("Occupancy", "Occupancy", "Occupancy Limiters", "This kernel's theoretical occupancy "),
    *(("CPIStall", "WarpStateStats", f"{one} Stalls", _STALLED + words) for one, words in _STALLS.items()),
    ("CPIStall", "WarpStateStats", "Warp Stall", r"Check the .* for the top stall locations"),
    ("ThreadDivergence", "WarpStateStats", "Thread Divergence", "Instructions are executed in warps, which are groups"),
    *(
        ("FPInstructions", "InstructionStats", f"{type_} Non-Fused Instructions",
         rf"This kernel executes \d+ fused and \d+ non-fused {type_}")
        for type_ in ("FP32", "FP64", "FP16")
    ),
    ("HighPipeUtilization", "ComputeWorkloadAnalysis", "Low Utilization", r"All (?:compute )?pipelines are under-util"),
    ("HighPipeUtilization", "ComputeWorkloadAnalysis", "Balanced", f"No pipeline is over-|{_HIGHEST}should not be a"),
    ("HighPipeUtilization", "ComputeWorkloadAnalysis", "Very High Utilization", f"{_HIGHEST} over-utilized and likely"),
    ("HighPipeUtilization", "ComputeWorkloadAnalysis", "High Utilization", _HIGHEST),
    ("IssueSlotUtilization", "SchedulerStats", "Issue Slot Utilization", "Every scheduler is capable of issuing"),
    ("LaunchConfiguration", "LaunchStats", "Small Grid", "The grid for this launch is|If you execute __sync"),
    ("LaunchConfiguration", "LaunchStats", "Block Size", "Threads are executed in groups of 32 threads called warps"),
    ("LaunchConfiguration", "LaunchStats", "Tail Effect", "A wave of thread blocks is defined as"),
    *(
        ("MemoryCacheAccessPattern", "MemoryWorkloadAnalysis_Tables",
         f"{cache} {space.title()} {way.title()} Access Pattern",
         rf"The memory access pattern for {space} {way}s (?:from|to|in) {cache}\b")
        for cache, space, way in _SIDES
    ),
    *(
        ("MemoryCacheAccessPattern", "MemoryWorkloadAnalysis_Tables", f"L2 {way.title()} Access Pattern",
         f"The memory access pattern for {way}s from L1TEX to L2")
        for way in ("load", "store")
    ),
    ("MemoryL2Compression", "MemoryWorkloadAnalysis_Chart", "Low Compression Rate",
     r"Out of the [\d.]+ bytes sent to the L2 Compression"),
    ("MemoryL2Compression", "MemoryWorkloadAnalysis_Chart", "Access Pattern",
     "The access patterns for writes to compressible memory"),
    ("PCSamplingData", "SourceCounters", "No Samples", "Sampling metrics were enabled, but no samples"),
    ("PMSamplingData", "PmSampling", "PM Sampling Data", "Sampling interval is larger than"),
    *(
        ("SharedMemoryConflicts", "MemoryWorkloadAnalysis_Tables", f"Shared {way.title()} Bank Conflicts",
         f"The memory access pattern for shared {way}s")
        for way in ("load", "store")
    ),
    ("SOLBottleneck", "SpeedOfLight", "Balanced Throughput", "Compute and Memory are well-balanced"),
    ("SOLBottleneck", "SpeedOfLight", "High Compute Throughput", "Compute is more heavily utilized than Memory"),
    ("SOLBottleneck", "SpeedOfLight", "High Memory Throughput", "Memory is more heavily utilized than Compute"),
    ("SOLBottleneck", "SpeedOfLight", "High Throughput", r"(?:This workload|The kernel) is utilizing greater than"),
    ("SOLBottleneck", "SpeedOfLight", "Latency Issue", r"This (?:kernel|workload) exhibits low compute throughput and"),
    ("SOLBottleneck", "SpeedOfLight", "Small Grid", "This kernel grid is too small to fill"),
    ("SOLFPRoofline", "SpeedOfLight_RooflineChart", "Roofline Analysis", r"The ratio of peak float \((?:fp|FP)32\)"),
    ("UncoalescedGlobalAccess", "SourceCounters", "Uncoalesced Global Accesses",
     r"This (?:kernel|workload) has uncoalesced global accesses"),
    ("UncoalescedSharedAccess", "SourceCounters", "Uncoalesced Shared Accesses",
     r"This (?:kernel|workload) has uncoalesced shared accesses"),
    *(
        ("WorkloadImbalance", "WorkloadDistribution", f"{unit} Workload Imbalance",
         f"One or more {unit} have a much (?:lower|higher) number")
        for unit in ("SMs", "SMSPs", "L1 Slices", "L2 Slices")
    ),
)  # fmt: skip
_BEGINS: Final = tuple((rule, section, title, re.compile(words)) for rule, section, title, words in _ROWS)


def rule_of(section: str, message: str) -> tuple[str, str, str] | None:
    """Return rule, section and title of a message that stands in a section of this title; None for other words."""
    message = message.strip()
    if section == SCHEDULER and re.match(_THEORETICAL, message):  # also said of occupancy
        return "IssueSlotUtilization", "SchedulerStats", "Theoretical Warps"
    return next(((rule, where, title) for rule, where, title, begins in _BEGINS if begins.match(message)), None)
