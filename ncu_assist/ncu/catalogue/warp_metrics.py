"""The catalogue's rows on warps: scheduling, latency, divergence, and which instructions they execute."""

from __future__ import annotations

from ncu_assist.ncu.catalogue.combining import (
    BY_INSTRUCTIONS,
    BY_ISSUED,
    BY_SCHEDULER_ACTIVE,
    BY_SM_ACTIVE,
    BY_SM_ELAPSED,
    OF_DEVICE,
    SUM,
    mean_by,
)
from ncu_assist.ncu.catalogue.formulas import SCHEDULERS_PER_SM
from ncu_assist.ncu.catalogue.metric import (
    ATTRIBUTE,
    BEFORE_AMPERE,
    BEFORE_HOPPER,
    BLACKWELL,
    COMPARED,
    COMPUTE,
    DOCUMENTED,
    EXACT,
    HARDWARE,
    HIGHER,
    INSTRUCTIONS,
    LOWER,
    NOISY,
    NOWHERE,
    OF_ACTIVE,
    OF_ELAPSED,
    RELEASE_2019,
    SCHEDULER,
    SECTION,
    SOURCE,
    WARP_STATE,
    Metric,
    Way,
    over,
    same,
    times,
)


def _op(
    key: str, op: str, label: str, meaning: str, lacking: tuple[str, ...] = (), ways: tuple[Way, ...] = ()
) -> Metric:
    """Return a row on one kind of instruction; ``op`` is the end of ncu's name."""
    names = (f"smsp__{op}.sum",)
    return Metric(key, names, NOWHERE, label, "inst", None, EXACT, SUM, meaning, lacking=lacking, ways=ways)


ONE_ISSUE = f"{HARDWARE}: since Volta a scheduler issues at most one instruction in a cycle"
SHARE_OF_TIME = f"{DOCUMENTED}: a share of all cycles is that of active cycles times the active part of them"
BY_PATCHING = f"{COMPARED}: counted by patching the kernel"


FOUR = f"{HARDWARE}: a multiprocessor has four schedulers"
PER_CYCLE = "four schedulers, an instruction a cycle each"


def _none(issued: float) -> float:
    return 100.0 * (1.0 - issued)


# fmt: off
SCHEDULING: tuple[Metric, ...] = (
    Metric("issued_per_cycle", ("smsp__issue_active.avg.per_cycle_active",), SCHEDULER, "Issued Warp Per Scheduler",
           "", None, NOISY, BY_SCHEDULER_ACTIVE, "instructions that a scheduler issued a cycle, of 1",
           ways=(times(("smsp__issue_active" + OF_ACTIVE,), ONE_ISSUE, factor=0.01),
                 times(("sm__inst_issued.avg.per_cycle_active",), f"{ONE_ISSUE}; {FOUR}", factor=1 / SCHEDULERS_PER_SM,
                       approximate=True),
                 same("smsp__issue_active_avg_per_active_cycle", RELEASE_2019),
                 over(("issue_slots_busy", "sm_cycles_elapsed"), ("sm_cycles_active",), SHARE_OF_TIME, factor=0.01,
                      approximate=True))),
    Metric("no_eligible", ("smsp__issue_inst0.avg.pct_of_peak_sustained_active",), SCHEDULER, "No Eligible", "%",
           None, NOISY, BY_SCHEDULER_ACTIVE, "cycles in which a scheduler found no warp that could issue",
           ways=(Way(("issued_per_cycle",), _none, "100 * (1 - issued_per_cycle)", ONE_ISSUE, approximate=True),)),
    Metric("active_warps", ("smsp__warps_active.avg.per_cycle_active",), SCHEDULER, "Active Warps Per Scheduler",
           "warp", None, NOISY, BY_SCHEDULER_ACTIVE, "warps that a scheduler has to choose from",
           ways=(same("smsp__active_warps_avg_per_active_cycle", RELEASE_2019),
                 times(("achieved_warps",), FOUR, factor=1 / SCHEDULERS_PER_SM, approximate=True))),
    Metric("eligible_warps", ("smsp__warps_eligible.avg.per_cycle_active",), SCHEDULER,
           "Eligible Warps Per Scheduler", "warp", None, NOISY, BY_SCHEDULER_ACTIVE,
           "warps that could issue, of those active on a scheduler",
           ways=(same("smsp__eligible_warps_avg_per_active_cycle", RELEASE_2019),)),
    Metric("max_warps", ("smsp__warps_active.avg.peak_sustained",), SCHEDULER, "GPU Maximum Warps Per Scheduler",
           "warp", None, EXACT, OF_DEVICE, "warps that a scheduler can hold",
           ways=(same("device__attribute_max_warps_per_scheduler", ATTRIBUTE),
                 times(("device__attribute_max_warps_per_multiprocessor",), f"{ATTRIBUTE}; {HARDWARE}: four schedulers",
                       factor=1 / SCHEDULERS_PER_SM))),
    Metric("issue_slots_busy", ("sm__inst_issued.avg.pct_of_peak_sustained_elapsed",), COMPUTE, "Issue Slots Busy",
           "%", None, NOISY, BY_SM_ELAPSED, "issue slots that were used, of all from start to end",
           ways=(over(("sm__inst_issued" + OF_ACTIVE, "sm_cycles_active"), ("sm_cycles_elapsed",), SHARE_OF_TIME),
                 same("sm__issue_active" + OF_ELAPSED, ONE_ISSUE),
                 same("sm__inst_executed" + OF_ELAPSED, f"{ONE_ISSUE}; what is issued again is not in it",
                      approximate=True))),
    Metric("ipc", ("sm__inst_executed.avg.per_cycle_active",), COMPUTE, "Executed Ipc Active", "inst/cycle", None,
           NOISY, BY_SM_ACTIVE, "instructions that an SM executed a cycle while it was active, of 4",
           ways=(over(("ipc_elapsed", "sm_cycles_elapsed"), ("sm_cycles_active",), SHARE_OF_TIME),
                 same("sm__inst_executed_avg_per_active_cycle", RELEASE_2019))),
    Metric("ipc_elapsed", ("sm__inst_executed.avg.per_cycle_elapsed",), COMPUTE, "Executed Ipc Elapsed",
           "inst/cycle", None, NOISY, BY_SM_ELAPSED,
           "instructions that an SM executed a cycle, idle cycles counted too",
           ways=(times(("sm__inst_executed" + OF_ELAPSED,), f"{HARDWARE}: {PER_CYCLE}", factor=SCHEDULERS_PER_SM / 100),
                 same("sm__inst_executed_avg_per_elapsed_cycle", RELEASE_2019))),
    Metric("warp_cycles_per_instruction", ("smsp__average_warp_latency_per_inst_issued.ratio",), WARP_STATE,
           "Warp Cycles Per Issued Instruction", "cycle", None, NOISY, BY_ISSUED,
           "cycles between two instructions of a warp; with as many warps a scheduler could issue in every cycle",
           ways=(over(("active_warps",), ("issued_per_cycle",), "Little's law", approximate=True),
                 same("smsp__warp_cycles_per_inst_issued", RELEASE_2019))),
    Metric("threads_per_instruction", ("smsp__thread_inst_executed_per_inst_executed.ratio",), WARP_STATE,
           "Avg. Active Threads Per Warp", "", HIGHER, EXACT, BY_INSTRUCTIONS,
           "threads that took part in an instruction, of 32; below it warps diverge",
           ways=(over(("thread_inst_executed",), ("inst_executed",), SECTION, approximate=True),
                 same("smsp__thread_inst_executed_per_inst_executed", RELEASE_2019))),
    Metric("threads_per_instruction_predicated", ("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",),
           WARP_STATE, "Avg. Not Predicated Off Threads Per Warp", "", HIGHER, EXACT, BY_INSTRUCTIONS,
           "threads that took part and that no predicate switched off, of 32",
           ways=(over(("thread_inst_executed_true",), ("inst_executed",), SECTION, approximate=True),
                 same("smsp__thread_inst_executed_not_pred_off_per_inst_executed", RELEASE_2019))),
    Metric("branches", ("smsp__inst_executed_op_branch.sum",), SOURCE, "Branch Instructions", "inst", None, EXACT,
           SUM, "branch instructions that warps executed"),
    Metric("branch_share", ("derived__smsp__inst_executed_op_branch_pct",), SOURCE, "Branch Instructions Ratio", "",
           None, EXACT, BY_INSTRUCTIONS,
           "branches over instructions: 0.1 is 10 %, although ncu prints a % sign behind the 0.1",
           ncu_unit="%"),
    Metric("branch_efficiency", ("smsp__sass_average_branch_targets_threads_uniform.pct",), SOURCE,
           "Branch Efficiency", "%", HIGHER, EXACT, mean_by("branches"),
           "branches that all threads took alike, of those that could diverge; 0 where there are none"),
    Metric("divergent_branches", ("smsp__branch_targets_threads_divergent",), SOURCE, "Divergent Branches",
           "branches", LOWER, EXACT, SUM, "branches at which the threads of a warp parted"),
    Metric("samples", ("smsp__pcsamp_sample_count",), SOURCE, "# Samples", "", None, NOISY, SUM,
           "samples of the program counter: what lines and stall reasons per line are built from"),
)

INSTRUCTION_MIX: tuple[Metric, ...] = (
    Metric("instructions", ("smsp__inst_executed.sum",), INSTRUCTIONS, "Executed Instructions", "inst", LOWER, EXACT,
           SUM, "instructions that warps executed",
           ways=(times(("smsp__inst_executed.avg", "sm_count"), f"{DOCUMENTED}: .avg times the units",
                       factor=SCHEDULERS_PER_SM),
                 times(("ipc_elapsed", "sm_cycles_elapsed", "sm_count"), DOCUMENTED, approximate=True),
                 same("inst_executed", BY_PATCHING, approximate=True),
                 same("sass__inst_executed_per_opcode", BY_PATCHING, approximate=True))),
    Metric("instructions_issued", ("smsp__inst_issued.sum",), INSTRUCTIONS, "Issued Instructions", "inst", LOWER,
           NOISY, SUM, "instructions issued, those that were issued again counted too",
           ways=(times(("smsp__inst_issued.avg", "sm_count"), f"{DOCUMENTED}: .avg times the units",
                       factor=SCHEDULERS_PER_SM),
                 times(("issue_slots_busy", "sm_cycles_elapsed", "sm_count"), f"{HARDWARE}: {PER_CYCLE}",
                       factor=SCHEDULERS_PER_SM / 100))),
    Metric("thread_instructions", ("thread_inst_executed",), SOURCE, "Thread Instructions Executed", "inst", LOWER,
           EXACT, SUM, "instructions times threads that took part",
           ways=(times(("threads_per_instruction", "instructions"), DOCUMENTED, approximate=True),)),
    _op("global_load_instructions", "sass_inst_executed_op_global_ld", "Global load instructions",
        "loads from global memory, those that pass L1",
        ways=(same("sass__inst_executed_global_loads", BY_PATCHING),)),
    _op("global_store_instructions", "sass_inst_executed_op_global_st", "Global store instructions",
        "stores to global memory",
        ways=(same("sass__inst_executed_global_stores", BY_PATCHING),)),
    _op("shared_load_instructions", "sass_inst_executed_op_shared_ld", "Shared load instructions",
        "loads from shared memory",
        ways=(same("sass__inst_executed_shared_loads", BY_PATCHING),)),
    _op("shared_store_instructions", "sass_inst_executed_op_shared_st", "Shared store instructions",
        "stores to shared memory",
        ways=(same("sass__inst_executed_shared_stores", BY_PATCHING),)),
    _op("local_load_instructions", "sass_inst_executed_op_local_ld", "Local load instructions",
        "loads from local memory: spills, and arrays indexed at run time",
        ways=(same("sass__inst_executed_local_loads", BY_PATCHING),)),
    _op("local_store_instructions", "sass_inst_executed_op_local_st", "Local store instructions",
        "stores to local memory",
        ways=(same("sass__inst_executed_local_stores", BY_PATCHING),)),
    _op("async_copies", "inst_executed_op_ldgsts", "Asynchronous copies",
        "cp.async: global to shared memory without registers", BEFORE_AMPERE),
    _op("matrix_loads", "inst_executed_op_ldsm", "Matrix loads (ldmatrix)", "tiles from shared memory for mma"),
    _op("tma_loads", "inst_executed_op_tma_ld", "TMA loads", "tensor memory accelerator instructions that load",
        BEFORE_HOPPER),
    _op("tma_stores", "inst_executed_op_tma_st", "TMA stores", "tensor memory accelerator instructions that store",
        BEFORE_HOPPER),
    _op("cluster_instructions", "sass_inst_executed_op_dshared", "Distributed shared memory instructions",
        "accesses to the shared memory of another block of the cluster", BEFORE_HOPPER),
    _op("shared_atomics", "inst_executed_op_shared_atom", "Shared atomics", "atomics on shared memory",
        ways=(same("smsp__inst_executed_shared_atomics_sum", RELEASE_2019),)),
    _op("global_reductions", "inst_executed_op_global_red", "Global reductions",
        "atomics on global memory whose result nobody reads",
        ways=(same("smsp__inst_executed_global_reductions_sum", RELEASE_2019),)),
    _op("global_atomics", "inst_executed_op_generic_atom_dot_alu", "Global atomics",
        "atomics on global memory that return a value, but for compare-and-swap",
        ways=(same("smsp__inst_executed_global_atomics_sum", RELEASE_2019),)),
    _op("global_compare_and_swap", "inst_executed_op_generic_atom_dot_cas", "Global compare-and-swap",
        "atomicCAS on global memory; loops around it serialise"),
    Metric("constant_requests", ("idc__requests.sum",), NOWHERE, "Indexed constant requests", "request", None, EXACT,
           SUM, "requests of warps to the cache of constants that are read by address",
           ways=(times(("idc__request_cycles_active" + OF_ELAPSED, "sm_cycles_elapsed", "sm_count"),
                       f"{COMPARED}: a request takes two cycles or more", factor=0.5 / 100, approximate=True),)),
    Metric("constant_hit_rate", ("idc__request_hit_rate.pct",), NOWHERE, "Indexed constant hit rate", "%", None,
           NOISY, mean_by("constant_requests"), "requests that the cache of constants read by address could serve"),
    Metric("immediate_constant_requests", ("smsp__imc_requests.sum",), NOWHERE, "Immediate constant requests",
           "request", None, EXACT, SUM,
           "requests for constants that instructions name directly, such as kernel arguments",
           lacking=BLACKWELL, ncu_unit="cycle"),
)
# fmt: on

WARP_METRICS = (*SCHEDULING, *INSTRUCTION_MIX)
