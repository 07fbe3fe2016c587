"""Further ways to know how warps are scheduled and which instructions they execute."""

from __future__ import annotations

from ncu_assist.ncu.catalogue.formulas import SCHEDULERS_PER_SM
from ncu_assist.ncu.catalogue.metric import Way
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


# fmt: off
WARP_WAYS: Ways = {
    "issue_slots_busy": (
        over(("sm__inst_issued" + OF_ACTIVE, "sm_cycles_active"), ("sm_cycles_elapsed",), SHARE_OF_TIME),
        same("sm__issue_active" + OF_ELAPSED, ONE_ISSUE, approximate=True),
        same("sm__inst_executed" + OF_ELAPSED, f"{ONE_ISSUE}; what is issued again is not in it", approximate=True),
    ),
    "max_warps": (
        same("device__attribute_max_warps_per_scheduler", ATTRIBUTE),
        times(("device__attribute_max_warps_per_multiprocessor",), f"{ATTRIBUTE}; {HARDWARE}: four schedulers",
              factor=1 / SCHEDULERS_PER_SM),
    ),
    "instructions": (
        same("inst_executed", BY_PATCHING, approximate=True),
        same("sass__inst_executed_per_opcode", BY_PATCHING, approximate=True),
    ),
    "threads_per_instruction": (
        over(("thread_inst_executed",), ("inst_executed",), SECTION, approximate=True),
        same("smsp__thread_inst_executed_per_inst_executed", RELEASE_2019),
    ),
    "global_load_instructions": _counted("global", "load"),
    "global_store_instructions": _counted("global", "store"),
    "shared_load_instructions": _counted("shared", "load"),
    "shared_store_instructions": _counted("shared", "store"),
    "local_load_instructions": _counted("local", "load"),
    "local_store_instructions": _counted("local", "store"),
}
# fmt: on
