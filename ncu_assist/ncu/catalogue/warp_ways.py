"""Further ways to know how warps are scheduled and which instructions they execute."""

from __future__ import annotations

from ncu_assist.ncu.catalogue.formulas import SCHEDULERS_PER_SM
from ncu_assist.ncu.catalogue.metric import Way
from ncu_assist.ncu.catalogue.stalls import STALL_REASONS, StallReason
from ncu_assist.ncu.catalogue.ways import (
    ATTRIBUTE,
    COMPARED,
    DOCUMENTED,
    HARDWARE,
    RELEASE_2019,
    SECTION,
    Ways,
    over,
    same,
    times,
)

ONE_ISSUE = f"{HARDWARE}: since Volta a scheduler issues at most one instruction in a cycle"
SHARE_OF_TIME = f"{DOCUMENTED}: a share of all cycles is that of active cycles times the active part of them"
BY_PATCHING = f"{COMPARED}: counted by patching the kernel"
OF_ACTIVE, OF_ELAPSED = ".avg.pct_of_peak_sustained_active", ".avg.pct_of_peak_sustained_elapsed"


def _counted(space: str, op: str) -> tuple[Way, ...]:
    return (same(f"sass__inst_executed_{space}_{op}s", BY_PATCHING),)


FOUR = f"{HARDWARE}: a multiprocessor has four schedulers"
PER_CYCLE = "four schedulers, an instruction a cycle each"
SAMPLED_SHARE = "samples of the program counter: a share of them is a share of warp states, as far as they are many"


def _none(issued: float) -> float:
    return 100.0 * (1.0 - issued)


def _sampled(reason: StallReason) -> tuple[Way, ...]:
    """Return how to know the warps in a state from samples, and under the names of 2019."""
    name = reason.sampled_as or reason.name
    counted = f"smsp__pcsamp_warps_issue_stalled_{name}"
    return (
        same(f"smsp__warp_cycles_per_issue_stall_{name}", RELEASE_2019),
        over(
            (counted, "active_warps"),
            ("smsp__pcsamp_sample_count", "issued_per_cycle"),
            SAMPLED_SHARE,
            approximate=True,
        ),
    )


# fmt: off
WARP_WAYS: Ways = {
    **{f"warps_{reason.name}": _sampled(reason) for reason in STALL_REASONS.values() if not reason.lacking},
    "issue_slots_busy": (
        over(("sm__inst_issued" + OF_ACTIVE, "sm_cycles_active"), ("sm_cycles_elapsed",), SHARE_OF_TIME),
        same("sm__issue_active" + OF_ELAPSED, ONE_ISSUE),
        same("sm__inst_executed" + OF_ELAPSED, f"{ONE_ISSUE}; what is issued again is not in it", approximate=True),
    ),
    "issued_per_cycle": (
        times(("smsp__issue_active" + OF_ACTIVE,), ONE_ISSUE, factor=0.01),
        times(("sm__inst_issued.avg.per_cycle_active",), f"{ONE_ISSUE}; {FOUR}", factor=1 / SCHEDULERS_PER_SM,
              approximate=True),
        same("smsp__issue_active_avg_per_active_cycle", RELEASE_2019),
        over(("issue_slots_busy", "sm_cycles_elapsed"), ("sm_cycles_active",), SHARE_OF_TIME, factor=0.01,
             approximate=True),
    ),
    "no_eligible": (
        Way(("issued_per_cycle",), _none, "100 * (1 - issued_per_cycle)", ONE_ISSUE, approximate=True),
    ),
    "active_warps": (
        same("smsp__active_warps_avg_per_active_cycle", RELEASE_2019),
        times(("achieved_warps",), FOUR, factor=1 / SCHEDULERS_PER_SM, approximate=True),
    ),
    "eligible_warps": (same("smsp__eligible_warps_avg_per_active_cycle", RELEASE_2019),),
    "ipc_elapsed": (
        times(("sm__inst_executed" + OF_ELAPSED,), f"{HARDWARE}: {PER_CYCLE}", factor=SCHEDULERS_PER_SM / 100),
        same("sm__inst_executed_avg_per_elapsed_cycle", RELEASE_2019),
    ),
    "ipc": (
        over(("ipc_elapsed", "sm_cycles_elapsed"), ("sm_cycles_active",), SHARE_OF_TIME),
        same("sm__inst_executed_avg_per_active_cycle", RELEASE_2019),
    ),
    "instructions_issued": (
        times(("smsp__inst_issued.avg", "sm_count"), f"{DOCUMENTED}: .avg times the units", factor=SCHEDULERS_PER_SM),
        times(("issue_slots_busy", "sm_cycles_elapsed", "sm_count"), f"{HARDWARE}: {PER_CYCLE}",
              factor=SCHEDULERS_PER_SM / 100),
    ),
    "warp_cycles_per_instruction": (
        over(("active_warps",), ("issued_per_cycle",), "Little's law", approximate=True),
        same("smsp__warp_cycles_per_inst_issued", RELEASE_2019),
    ),
    "max_warps": (
        same("device__attribute_max_warps_per_scheduler", ATTRIBUTE),
        times(("device__attribute_max_warps_per_multiprocessor",), f"{ATTRIBUTE}; {HARDWARE}: four schedulers",
              factor=1 / SCHEDULERS_PER_SM),
    ),
    "instructions": (
        times(("smsp__inst_executed.avg", "sm_count"), f"{DOCUMENTED}: .avg times the units", factor=SCHEDULERS_PER_SM),
        times(("ipc_elapsed", "sm_cycles_elapsed", "sm_count"), DOCUMENTED, approximate=True),
        same("inst_executed", BY_PATCHING, approximate=True),
        same("sass__inst_executed_per_opcode", BY_PATCHING, approximate=True),
    ),
    "threads_per_instruction": (
        over(("thread_inst_executed",), ("inst_executed",), SECTION, approximate=True),
        same("smsp__thread_inst_executed_per_inst_executed", RELEASE_2019),
    ),
    "threads_per_instruction_predicated": (
        over(("thread_inst_executed_true",), ("inst_executed",), SECTION, approximate=True),
        same("smsp__thread_inst_executed_not_pred_off_per_inst_executed", RELEASE_2019),
    ),
    "thread_instructions": (
        times(("threads_per_instruction", "instructions"), DOCUMENTED, approximate=True),
    ),
    "constant_requests": (
        times(("idc__request_cycles_active" + OF_ELAPSED, "sm_cycles_elapsed", "sm_count"),
              f"{COMPARED}: a request takes two cycles or more", factor=0.5 / 100, approximate=True),
    ),
    "shared_atomics": (same("smsp__inst_executed_shared_atomics_sum", RELEASE_2019),),
    "global_reductions": (same("smsp__inst_executed_global_reductions_sum", RELEASE_2019),),
    "global_atomics": (same("smsp__inst_executed_global_atomics_sum", RELEASE_2019),),
    "global_load_instructions": _counted("global", "load"),
    "global_store_instructions": _counted("global", "store"),
    "shared_load_instructions": _counted("shared", "load"),
    "shared_store_instructions": _counted("shared", "store"),
    "local_load_instructions": _counted("local", "load"),
    "local_store_instructions": _counted("local", "store"),
}
# fmt: on
