"""The metrics that ncu counts for each instruction, and the columns they become."""

from __future__ import annotations

SAMPLES, SAMPLES_NOT_ISSUED = "samples", "samples_not_issued"
COUNTERS = {
    SAMPLES: "smsp__pcsamp_sample_count",
    "instructions": "inst_executed",
    "thread_instructions": "thread_inst_executed",
    "predicated_on_thread_instructions": "thread_inst_executed_true",
    "divergent_branches": "smsp__branch_targets_threads_divergent",
    "tag_requests": "memory_l1_tag_requests_global",
    "sectors": "memory_l2_theoretical_sectors_global",
    "sectors_ideal": "memory_l2_theoretical_sectors_global_ideal",
    "sectors_excessive": "derived__memory_l2_theoretical_sectors_global_excessive",
    "sectors_local": "memory_l2_theoretical_sectors_local",
    "wavefronts": "memory_l1_wavefronts_shared",
    "wavefronts_ideal": "memory_l1_wavefronts_shared_ideal",
    "wavefronts_excessive": "derived__memory_l1_wavefronts_shared_excessive",
}
# Column: what is divided by the warp-level instructions. Of 32 lanes, how many took part.
RATIOS = {
    "threads_per_instruction": "thread_instructions",
    "predicated_on_threads_per_instruction": "predicated_on_thread_instructions",
}
NUMBERS = (SAMPLES, SAMPLES_NOT_ISSUED, *list(COUNTERS)[1:], *RATIOS)  # the columns, in the order of the frames

SPACE, ACCESS, ACCESS_BITS = "memory_type", "memory_access_type", "memory_access_size_type"
KINDS = (SPACE, ACCESS, ACCESS_BITS)  # not counts: what an instruction does to which memory
# Bits of the first two as ncu's source page spells them; others are shown as numbers, for no report at hand has them.
SPACES = {4: "Global", 16: "Shared"}
ACCESSES = {2: "Load", 4: "Store", 8: "Atomic"}

STALL, NOT_ISSUED = "smsp__pcsamp_warps_issue_stalled_", "_not_issued"
STALL_COLUMN = "stall_"
SAMPLED = "smsp__pcsamp_"
KNOWN = frozenset((*COUNTERS.values(), *KINDS))


def is_source_metric(name: str) -> bool:
    """Tell whether a metric becomes a column; the reasons of warp stalls are an open set."""
    return name in KNOWN or name.startswith(STALL)


def stall_columns(metrics: set[str]) -> dict[str, str]:
    """Return the columns of these metrics' warp stall reasons and their metrics: all samples, then not issued."""
    reasons = sorted(name.removeprefix(STALL) for name in metrics if name.startswith(STALL))
    ordered = sorted(reasons, key=lambda reason: reason.endswith(NOT_ISSUED))
    return {STALL_COLUMN + reason: STALL + reason for reason in ordered}


def spelled(bits: int, words: dict[int, str]) -> str | None:
    """Return the words of a bit set as ncu joins them, such as 'Load,Store'; None for an empty one."""
    rest = bits & ~sum(words)
    found = [word for bit, word in words.items() if bits & bit] + ([str(rest)] if rest else [])
    return ",".join(found) or None
