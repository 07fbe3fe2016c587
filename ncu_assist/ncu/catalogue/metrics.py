"""The catalogue: every metric that the tool uses, by a key of ours, with ncu's name, its meaning and how to combine it.

Names were read off reports of ``--set full`` by ncu 2025.3.1 on an H200; tests hold the catalogue against one, and its
spellings against the lists of every recorded chip.
"""

from __future__ import annotations

from ncu_assist.ncu.catalogue.formulas import EDGES, NOT_APPLICABLE, SCHEDULERS_PER_SM
from ncu_assist.ncu.catalogue.memory_metrics import ACCESS_METRICS, MEMORY_METRICS
from ncu_assist.ncu.catalogue.metric import (
    A_SECOND,
    ALL_BUT_HOPPER,
    ATTRIBUTE,
    BEFORE_AMPERE,
    BEFORE_HOPPER,
    BLACKWELL,
    BY_DRAM_ELAPSED,
    BY_INSTRUCTIONS,
    BY_ISSUED,
    BY_L1_ACTIVE,
    BY_L2_ELAPSED,
    BY_SCHEDULER_ACTIVE,
    BY_SCHEDULER_ELAPSED,
    BY_SM_ACTIVE,
    BY_SM_ELAPSED,
    BY_TIME,
    CAPABILITY,
    CLOCK,
    COMPUTE,
    DISTRIBUTION,
    DOCUMENTED,
    EXACT,
    HARDWARE,
    HIGHER,
    IN_BOTH,
    INSTRUCTIONS,
    LAUNCH,
    LOWER,
    MAX,
    MEMORY,
    NOISY,
    NOT_AT_ALL,
    NOWHERE,
    OCCUPANCY,
    OF_ACTIVE,
    OF_DEVICE,
    OF_ELAPSED,
    RATE_TIMES_TIME,
    RELEASE_2019,
    SCHEDULER,
    SECTION,
    SOURCE,
    SPEED,
    SUM,
    WARP_STATE,
    Metric,
    Way,
    added,
    linked,
    mean_by,
    over,
    rate_times_time,
    same,
    times,
)
from ncu_assist.ncu.catalogue.stalls import STALL, STALL_METRICS

SCHEDULERS = 0.25  # every chip since Pascal but GP100 has four a multiprocessor: NVIDIA's tuning guides
SUM_OVER_UNITS = f"{DOCUMENTED}: .avg is .sum over the units"
ONE_CLOCK = f"{IN_BOTH}: the parts of a GPC have one clock, and start and end within a few cycles"
# Four reports of a GTX 1080 have bytes a second and percent of the peak beside it: 256 bits of its bus in each of them.
TRANSFERS = "transfers of each pin a second, two a cycle"

# fmt: off
SPEED_METRICS: tuple[Metric, ...] = (
    Metric("duration", ("gpu__time_duration.sum",), SPEED, "Duration", "ns", LOWER, NOISY, SUM,
           "time under the profiler, caches flushed: an explanation, not a benchmark",
           ways=(same("gpu__time_duration", RELEASE_2019), same("gpu__time_duration.max", DOCUMENTED),
                 same("gpu__time_duration.avg", DOCUMENTED))),
    Metric("sm_throughput", ("sm__throughput.avg.pct_of_peak_sustained_elapsed",), SPEED, "Compute (SM) Throughput",
           "%", HIGHER, NOISY, BY_SM_ELAPSED, "busiest unit of the SM, in percent of its peak",
           ways=(same("sm__sol_pct", RELEASE_2019),)),
    Metric("memory_throughput", ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",), SPEED,
           "Memory Throughput", "%", HIGHER, NOISY, BY_TIME, "busiest unit from L1 to DRAM, in percent of its peak",
           ways=(same("gpu__compute_memory_sol_pct", RELEASE_2019),)),
    # What ncu shows as DRAM Throughput is gpu__dram_throughput: the same number in every recording.
    Metric("dram_throughput", ("dram__cycles_active.avg.pct_of_peak_sustained_elapsed",), NOWHERE, "DRAM Throughput",
           "%", HIGHER, NOISY, BY_DRAM_ELAPSED, "cycles in which DRAM moved data, in percent",
           ways=(same("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", f"{IN_BOTH}; {SECTION}"),
                 same("dram__throughput.avg.pct_of_peak_sustained_elapsed", f"{IN_BOTH}; {SECTION}", approximate=True),
                 over(("dram__bytes.sum.per_second",), ("dram_peak_bytes_per_cycle", "dram_clock"), DOCUMENTED,
                      factor=100.0),
                 same("fbpa__sol_pct", RELEASE_2019, approximate=True))),
    Metric("l1_cache_throughput", ("l1tex__throughput.avg.pct_of_peak_sustained_active",), SPEED,
           "L1/TEX Cache Throughput", "%", None, NOISY, BY_L1_ACTIVE,
           "busiest part of L1, in percent of its peak while L1 is active",
           ways=(same("tex__sol_pct", RELEASE_2019),)),
    Metric("l2_cache_throughput", ("lts__throughput.avg.pct_of_peak_sustained_elapsed",), SPEED,
           "L2 Cache Throughput", "%", None, NOISY, BY_L2_ELAPSED,
           "busiest counter of L2, internal ones too: above DRAM's even in a copy bound by DRAM; see l2_busy",
           ways=(same("ltc__sol_pct", RELEASE_2019),)),
    Metric("sm_clock", ("gpc__cycles_elapsed.avg.per_second",), SPEED, "SM Frequency", "hz", None, NOISY, CLOCK,
           "cycles of the SMs, a second; lower where clocks were locked or throttled",
           ways=(same("sm__cycles_elapsed.avg.per_second", ONE_CLOCK, approximate=True),
                 same("smsp__cycles_elapsed.avg.per_second", ONE_CLOCK, approximate=True),
                 same("gpc__frequency", RELEASE_2019))),
    Metric("dram_clock", ("dram__cycles_elapsed.avg.per_second",), SPEED, "DRAM Frequency", "hz", None, NOISY, CLOCK,
           "cycles of DRAM, a second",
           ways=(times(("dram__frequency",), f"{RELEASE_2019}; {TRANSFERS}", factor=1 / EDGES),)),
    Metric("l2_clock", ("lts__cycles_elapsed.avg.per_second",), NOWHERE, "L2 Frequency", "hz", None, NOISY, CLOCK,
           "cycles of L2, a second",
           ways=(over(("lts__cycles_elapsed.avg",), ("duration",), RATE_TIMES_TIME, factor=1 / A_SECOND),)),
    Metric("cycles", ("gpc__cycles_elapsed.max",), SPEED, "Elapsed Cycles", "cycle", LOWER, NOISY, SUM,
           "cycles of the SMs' clock from start to end; what waits for DRAM takes more of them at a higher clock",
           ways=(same("gpc__elapsed_cycles_max", RELEASE_2019),
                 same("gpc__cycles_elapsed.avg", ONE_CLOCK, approximate=True),
                 rate_times_time("gpc__cycles_elapsed.avg.per_second", approximate=True))),
    Metric("sm_cycles_active", ("sm__cycles_active.avg",), SPEED, "SM Active Cycles", "cycle", None, NOISY, SUM,
           "cycles in which an SM had a warp, mean of all SMs",
           ways=(over(("sm__cycles_active.sum",), ("sm_count",), SUM_OVER_UNITS),
                 over(("sm__elapsed_cycles_avg", "sm__inst_executed_avg_per_elapsed_cycle"),
                      ("sm__inst_executed_avg_per_active_cycle",), RELEASE_2019, approximate=True))),
    Metric("sm_cycles_active_min", ("sm__cycles_active.min",), NOWHERE, "SM active cycles, min", "cycle", None, NOISY,
           SUM, "cycles of the SM that worked least; far below the mean where the load is uneven"),
    Metric("sm_cycles_active_max", ("sm__cycles_active.max",), NOWHERE, "SM active cycles, max", "cycle", LOWER, NOISY,
           SUM, "cycles of the SM that worked longest: the launch cannot end before it"),
    Metric("sm_cycles_elapsed", ("sm__cycles_elapsed.avg",), NOWHERE, "SM elapsed cycles", "cycle", LOWER, NOISY, SUM,
           "cycles of an SM from start to end, idle ones included",
           ways=(over(("sm__cycles_elapsed.sum",), ("sm_count",), SUM_OVER_UNITS),
                 same("smsp__cycles_elapsed.avg", ONE_CLOCK),
                 over(("smsp__cycles_elapsed.sum",), ("sm_count",), f"{SUM_OVER_UNITS}; {HARDWARE}", factor=SCHEDULERS),
                 same("l1tex__cycles_elapsed.avg", ONE_CLOCK),
                 rate_times_time("sm__cycles_elapsed.avg.per_second"),
                 rate_times_time("smsp__cycles_elapsed.avg.per_second"),
                 same("smsp__cycles_elapsed.max", ONE_CLOCK, approximate=True),
                 same("sm__elapsed_cycles_avg", RELEASE_2019),
                 same("cycles", ONE_CLOCK, approximate=True))),
    Metric("scheduler_cycles_active", ("smsp__cycles_active.avg",), DISTRIBUTION, "Average SMSP Active Cycles",
           "cycle", None, NOISY, SUM, "cycles in which a scheduler had a warp, mean of all schedulers",
           ways=(same("sm_cycles_active", ONE_CLOCK, approximate=True),)),
    Metric("scheduler_cycles_active_max", ("smsp__cycles_active.max",), NOWHERE, "SMSP active cycles, max", "cycle",
           LOWER, NOISY, SUM, "cycles with a warp of the busiest scheduler"),
    Metric("scheduler_cycles_elapsed", ("smsp__cycles_elapsed.avg",), NOWHERE, "SMSP elapsed cycles", "cycle", LOWER,
           NOISY, SUM, "cycles of a scheduler from start to end",
           ways=(same("sm__cycles_elapsed.avg", ONE_CLOCK),
                 same("sm_cycles_elapsed", ONE_CLOCK))),
    Metric("l1_cycles_active", ("l1tex__cycles_active.avg",), DISTRIBUTION, "Average L1 Active Cycles", "cycle",
           None, NOISY, SUM, "cycles in which an L1 had work, mean of all SMs",
           ways=(over(("l1tex__cycles_active.sum",), ("sm_count",), SUM_OVER_UNITS),
                 same("sm_cycles_active", ONE_CLOCK))),
    Metric("l2_cycles_active", ("lts__cycles_active.avg",), DISTRIBUTION, "Average L2 Active Cycles", "cycle", None,
           NOISY, SUM, "cycles in which an L2 slice had work, mean of all slices"),
    Metric("l2_cycles_active_max", ("lts__cycles_active.max",), NOWHERE, "L2 active cycles, max", "cycle", LOWER,
           NOISY, SUM, "cycles of the busiest L2 slice; far above the mean where addresses camp on few"),
    Metric("dram_cycles_active", ("dram__cycles_active.avg",), DISTRIBUTION, "Average DRAM Active Cycles", "cycle",
           LOWER, NOISY, SUM, "cycles in which a DRAM channel moved data, mean of all channels",
           ways=(times(("dram_throughput", "dram_clock", "duration"), f"{DOCUMENTED}: the share of active cycles",
                       factor=0.01 * A_SECOND, approximate=True),)),
    Metric("memory_busy", ("gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed",), MEMORY,
           "Mem Busy", "%", None, NOISY, BY_TIME, "busiest cache or DRAM by what it does inside"),
    Metric("memory_bandwidth_busy", ("gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed",),
           MEMORY, "Max Bandwidth", "%", None, NOISY, BY_TIME, "busiest connection between SM, caches and DRAM"),
    Metric("memory_pipes_busy", ("sm__memory_throughput.avg.pct_of_peak_sustained_elapsed",), MEMORY,
           "Mem Pipes Busy", "%", None, NOISY, BY_SM_ELAPSED,
           "busiest part of the SM that handles memory instructions"),
    Metric("sm_busy", ("sm__instruction_throughput.avg.pct_of_peak_sustained_elapsed",), COMPUTE, "SM Busy", "%",
           None, NOISY, BY_SM_ELAPSED, "busiest part of the SM that issues and executes instructions"),
    Metric("sm_count", ("launch__sm_count",), "Launch Statistics", "# SMs", "SM", None, EXACT, OF_DEVICE,
           "SMs that the launch could use",
           ways=(same("device__attribute_multiprocessor_count", ATTRIBUTE),)),
)
# fmt: on


SUM_PER_CYCLE = ".sum.per_cycle_elapsed"
ACTIVE_SHARE = f"{DOCUMENTED}: a share of active cycles is that of all cycles over the active part of them"
CYCLES = f"{IN_BOTH}: the cycles in which the pipe worked, which of an instruction may be two"
NO_DMMA = ("tu102", "ga102", "ad102")


def _of_all_cycles(name: str, *, approximate: bool = False) -> Way:
    """Return a share of active cycles from that of all cycles."""
    needs = (name + OF_ELAPSED, "sm_cycles_elapsed")
    return over(needs, ("sm_cycles_active",), ACTIVE_SHARE, approximate=approximate)


def _pipe(
    key: str, name: str, label: str, does: str, lacking: tuple[str, ...] = (), working: tuple[str, ...] = (),
    by_name_only: bool = False,
) -> Metric:  # fmt: skip
    """Return a row on one pipe; Blackwell calls the parts of its tensor pipe subpipes.

    It is also known from its own share of all cycles, and from counters of the cycles in which it worked (``working``).
    """
    names = [name + OF_ACTIVE]
    if "_tensor_op_" in name and lacking != ALL_BUT_HOPPER:
        names.append(name.replace("_tensor_op_", "_tensor_subpipe_") + OF_ACTIVE)
    ways = [] if by_name_only else [_of_all_cycles(name)]
    for one in working:
        ways += [same(one + OF_ACTIVE, CYCLES, approximate=True), _of_all_cycles(one, approximate=True)]
    ours = f"{label} pipe{', cycles' if key.endswith('_cycles') else ''}"
    meaning = f"{does}, in percent of the pipe's peak while the SM is active"
    return Metric(
        key, tuple(names), COMPUTE, ours, "%", None, NOISY, BY_SM_ACTIVE, meaning, shown_as=label, lacking=lacking,
        ways=tuple(ways),
    )  # fmt: skip


def _flops(precision: str, letter: str, op: str) -> Metric:
    """Return a row on one kind of floating-point instruction: ``op`` is add, mul or fma."""
    name = f"smsp__sass_thread_inst_executed_op_{letter}{op}_pred_on{SUM_PER_CYCLE}"
    meaning = f"{precision} {op} instructions of threads, a cycle, all schedulers together"
    label = f"{precision.upper()} {op} per cycle"
    twice = f"derived__smsp__sass_thread_inst_executed_op_{letter}{op}_pred_on_x2"
    ways = (times((twice,), f"{SECTION}: it counts two", factor=0.5),) if op == "fma" and precision != "fp16" else ()
    return Metric(
        f"{precision}_{op}_per_cycle", (name,), NOWHERE, label, "inst/cycle", None, NOISY, BY_SCHEDULER_ELAPSED,
        meaning, ways=ways,
    )  # fmt: skip


def _tensor(what: str, sources: tuple[str, ...], lacking: tuple[str, ...] = ()) -> Metric:
    """Return a row on the operations of the tensor cores on one type of input."""
    names = tuple(f"sm__ops_path_tensor_src_{source}.sum" for source in sources)
    meaning = f"tensor-core operations on {what} inputs; a multiply-add counts as two"
    return Metric(
        f"tensor_ops_{what}", names, NOWHERE, f"Tensor operations, {what}", "", None, EXACT, SUM, meaning,
        lacking=lacking,
    )  # fmt: skip


# fmt: off
PIPE_METRICS: tuple[Metric, ...] = (
    _pipe("pipe_fma", "sm__inst_executed_pipe_fma", "FMA", "fp32 add, multiply and FMA, integer multiply",
          working=("sm__pipe_fma_cycles_active",)),
    _pipe("pipe_fma_cycles", "sm__pipe_fma_cycles_active", "FMA", "cycles in which the FMA pipe worked"),
    Metric("pipe_fma_heavy", ("sm__pipe_fmaheavy_cycles_active.avg.pct_of_peak_sustained_elapsed",), NOWHERE,
           "FMA heavy pipe, cycles", "%", None, NOISY, BY_SM_ELAPSED,
           "the half of the FMA pipe that alone multiplies integers and bytes, in percent of all cycles",
           lacking=("tu102", "ga100")),
    _pipe("pipe_alu", "sm__inst_executed_pipe_alu", "ALU", "logic, compare, min, max, integer but multiplies",
          working=("sm__pipe_alu_cycles_active",)),
    _pipe("pipe_alu_cycles", "sm__pipe_alu_cycles_active", "ALU", "cycles in which the ALU pipe worked"),
    _pipe("pipe_fp16", "sm__inst_executed_pipe_fma_type_fp16", "FMA (FP16)", "fp16 add, multiply and FMA",
          ("tu102", "ga100"), working=("sm__inst_executed_pipe_fp16",)),
    _pipe("pipe_fp64", "sm__inst_executed_pipe_fp64", "FP64", "double precision",
          working=("sm__inst_executed_pipe_fp64_op_fp64", "sm__pipe_fp64_cycles_active")),
    _pipe("pipe_fp64_cycles", "sm__pipe_fp64_cycles_active", "FP64", "cycles in which the FP64 pipe worked"),
    _pipe("pipe_xu", "sm__inst_executed_pipe_xu", "XU",
          "special functions (exp2, sin, rsqrt), integer to float and back"),
    _pipe("pipe_lsu", "sm__inst_executed_pipe_lsu", "LSU", "loads, stores and atomics, shared memory, shuffles"),
    _pipe("pipe_adu", "sm__inst_executed_pipe_adu", "ADU",
          "branches to computed addresses, constants by address, barriers"),
    _pipe("pipe_cbu", "sm__inst_executed_pipe_cbu", "CBU", "branches and convergence of threads"),
    _pipe("pipe_uniform", "sm__inst_executed_pipe_uniform", "Uniform", "values that all threads of a warp share"),
    _pipe("pipe_tex", "sm__inst_executed_pipe_tex", "TEX", "texture and surface instructions"),
    _pipe("pipe_tma", "sm__inst_executed_pipe_tma", "TMA", "bulk copies by the tensor memory accelerator",
          BEFORE_HOPPER, by_name_only=True),
    _pipe("pipe_tensor_cycles", "sm__pipe_tensor_cycles_active", "Tensor (All)",
          "cycles in which the tensor cores worked", working=("sm__inst_executed_pipe_tensor",)),
    _pipe("pipe_tensor_hmma", "sm__inst_executed_pipe_tensor_op_hmma", "Tensor (FP)",
          "mma of a warp on fp16, bf16, tf32; some chips run HFMA2 here too"),
    _pipe("pipe_tensor_hmma_cycles", "sm__pipe_tensor_op_hmma_cycles_active", "Tensor (FP)",
          "cycles in which the tensor cores worked on floating point"),
    _pipe("pipe_tensor_imma", "sm__inst_executed_pipe_tensor_op_imma", "Tensor (INT)", "mma of a warp on integers",
          by_name_only=True),
    _pipe("pipe_tensor_dmma", "sm__inst_executed_pipe_tensor_op_dmma", "Tensor (DP)", "mma of a warp on fp64",
          (*NO_DMMA, "gb202"), by_name_only=True),
    _pipe("pipe_tensor_gmma", "sm__inst_executed_pipe_tensor_op_gmma", "Tensor (Warp Group)",
          "mma of a warpgroup (wgmma)", ALL_BUT_HOPPER, by_name_only=True),
)
# fmt: on

FLOP_METRICS: tuple[Metric, ...] = (
    *(_flops("fp64", "d", op) for op in ("add", "mul", "fma")),
    *(_flops("fp32", "f", op) for op in ("add", "mul", "fma")),
    *(_flops("fp16", "h", op) for op in ("add", "mul", "fma")),
    _tensor("fp16", ("fp16", "fp16_dst_fp32", "fp16_bf16_tf32_dst_fp32")),
    _tensor("bf16", ("bf16_dst_fp32",), BEFORE_AMPERE),
    _tensor("tf32", ("tf32_dst_fp32",), BEFORE_AMPERE),
    _tensor("fp64", ("fp64",), BEFORE_AMPERE),
    _tensor("fp8", ("fp8_sparsity_off", "fp8_dst_fp32", "fp4_fp6_fp8_dst_fp32"), ("tu102", "ga100", "ga102")),
    _tensor("int8", ("int8",)),
)

COMPUTE_METRICS = (*PIPE_METRICS, *FLOP_METRICS)


def _op(
    key: str, op: str, label: str, meaning: str, lacking: tuple[str, ...] = (), ways: tuple[Way, ...] = ()
) -> Metric:
    """Return a row on one kind of instruction; ``op`` is the end of ncu's name."""
    names = (f"smsp__{op}.sum",)
    return Metric(key, names, NOWHERE, label, "inst", None, EXACT, SUM, meaning, lacking=lacking, ways=ways)


ONE_ISSUE = f"{HARDWARE}: since Volta a scheduler issues at most one instruction in a cycle"
SHARE_OF_TIME = f"{DOCUMENTED}: a share of all cycles is that of active cycles times the active part of them"
BY_PATCHING = f"{IN_BOTH}: counted by patching the kernel"


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
                 over(("sm__inst_issued.avg.per_cycle_active", "sm_cycles_active"), ("sm_cycles_elapsed",),
                      f"{SHARE_OF_TIME}; {FOUR}", factor=100 / SCHEDULERS_PER_SM, approximate=True),
                 over(("smsp__issue_active.avg.per_cycle_active", "sm_cycles_active"), ("sm_cycles_elapsed",),
                      f"{SHARE_OF_TIME}; {ONE_ISSUE}", factor=100.0, approximate=True),
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
    _op("matrix_products", "sass_inst_executed_op_shared_gmma", "Matrix products out of shared memory (wgmma)",
        "instructions of warps that take operands of tensor cores from shared memory", ALL_BUT_HOPPER),
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
                       f"{IN_BOTH}: a request takes two cycles or more", factor=0.5 / 100, approximate=True),)),
    Metric("constant_hit_rate", ("idc__request_hit_rate.pct",), NOWHERE, "Indexed constant hit rate", "%", None,
           NOISY, mean_by("constant_requests"), "requests that the cache of constants read by address could serve"),
    Metric("immediate_constant_requests", ("smsp__imc_requests.sum",), NOWHERE, "Immediate constant requests",
           "request", None, EXACT, SUM,
           "requests for constants that instructions name directly, such as kernel arguments",
           lacking=BLACKWELL, ncu_unit="cycle"),
)
# fmt: on

WARP_METRICS = (*SCHEDULING, *INSTRUCTION_MIX)


DRIVERS_OWN = f"{HARDWARE}: from 8.0 on the system keeps 1 KB of shared memory for each block"
AMPERE = 8.0
MAX_WARPS = "device__attribute_max_warps_per_multiprocessor"
# What a multiprocessor holds: warps, blocks, registers, shared memory; and of that a block, and the driver in each.
SM_LIMIT_NAMES = (
    MAX_WARPS,
    *(f"device__attribute_max_{what}_per_multiprocessor" for what in ("blocks", "registers", "shared_memory")),
    "device__attribute_max_shared_memory_per_block_optin",
    "device__attribute_reserved_shared_memory_per_block",
)


def _without_driver(static: float, dynamic: float, major: float, _minor: float) -> float:
    return static + dynamic if major < AMPERE else NOT_APPLICABLE


# fmt: off
LAUNCH_METRICS: tuple[Metric, ...] = (
    Metric("registers", ("launch__registers_per_thread",), LAUNCH, "Registers Per Thread", "register/thread", None,
           EXACT, MAX, "registers a thread"),
    Metric("registers_allocated", ("launch__registers_per_thread_allocated",), NOWHERE, "Registers allocated",
           "register/thread", None, EXACT, MAX, "registers a thread takes, rounded up to what hardware hands out"),
    Metric("shared_memory", ("launch__shared_mem_per_block",), OCCUPANCY, "Shared Memory Per Block", "byte/block",
           None, EXACT, MAX, "static, dynamic and the driver's own",
           ways=(added(("launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic",
                        "launch__shared_mem_per_block_driver"), SECTION),
                 Way(("launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic", *CAPABILITY),
                     _without_driver,
                     "launch__shared_mem_per_block_static + launch__shared_mem_per_block_dynamic; not from compute "
                     f"capability 8.0 on, by {' and '.join(CAPABILITY)}", DRIVERS_OWN))),
    Metric("shared_memory_static", ("launch__shared_mem_per_block_static",), LAUNCH, "Static Shared Memory Per Block",
           "byte/block", None, EXACT, MAX, "shared memory whose size the compiler knew"),
    Metric("shared_memory_dynamic", ("launch__shared_mem_per_block_dynamic",), LAUNCH,
           "Dynamic Shared Memory Per Block", "byte/block", None, EXACT, MAX, "shared memory asked for at the launch"),
    Metric("shared_memory_driver", ("launch__shared_mem_per_block_driver",), LAUNCH,
           "Driver Shared Memory Per Block", "byte/block", None, EXACT, MAX, "shared memory that the driver takes"),
    Metric("shared_memory_configured", ("launch__shared_mem_config_size",), LAUNCH,
           "Shared Memory Configuration Size", "byte", None, EXACT, MAX,
           "part of an SM's L1 that is set aside as shared memory"),
    Metric("grid_size", ("launch__grid_size",), LAUNCH, "Grid Size", "", None, EXACT, NOT_AT_ALL,
           "blocks of the launch"),
    Metric("block_size", ("launch__block_size",), LAUNCH, "Block Size", "", None, EXACT, NOT_AT_ALL,
           "threads of a block"),
    Metric("threads", ("launch__thread_count",), LAUNCH, "Threads", "thread", None, EXACT, SUM,
           "threads of the launch",
           ways=(times(("grid_size", "block_size"), HARDWARE),)),
    Metric("waves_per_sm", ("launch__waves_per_multiprocessor",), LAUNCH, "Waves Per SM", "", None, EXACT, NOT_AT_ALL,
           "blocks of the launch over the blocks that fit on the GPU at once"),
    Metric("stack_size", ("launch__stack_size",), LAUNCH, "Stack Size", "", None, EXACT, MAX,
           "bytes of stack that the driver keeps for a thread; a setting, not what the kernel uses"),
    Metric("barriers", ("launch__barrier_count",), OCCUPANCY, "Block Barrier Count", "", None, EXACT, MAX,
           "barriers of hardware that a block uses; __syncthreads takes one"),
    Metric("theoretical_occupancy", ("sm__maximum_warps_per_active_cycle_pct",), OCCUPANCY, "Theoretical Occupancy",
           "%", None, EXACT, NOT_AT_ALL,
           "warps that registers, shared memory and block size allow, in percent of what an SM holds"),
    Metric("theoretical_warps", ("sm__maximum_warps_avg_per_active_cycle",), OCCUPANCY,
           "Theoretical Active Warps per SM", "warp", None, EXACT, NOT_AT_ALL,
           "warps an SM that registers, shared memory and block size allow",
           ways=(times(("theoretical_occupancy", MAX_WARPS), ATTRIBUTE, factor=0.01),)),
    Metric("achieved_occupancy", ("sm__warps_active.avg.pct_of_peak_sustained_active",), OCCUPANCY,
           "Achieved Occupancy", "%", None, NOISY, BY_SM_ACTIVE,
           "warps that were active, in percent of what an SM holds",
           ways=(over(("sm__warps_active.avg.per_cycle_active",), (MAX_WARPS,), ATTRIBUTE,
                      factor=100.0),
                 same("sm__active_warps_avg_per_active_cycle_pct", RELEASE_2019))),
    Metric("achieved_warps", ("sm__warps_active.avg.per_cycle_active",), OCCUPANCY, "Achieved Active Warps Per SM",
           "warp", None, NOISY, BY_SM_ACTIVE, "warps an SM that were active",
           ways=(times(("sm__warps_active.avg.pct_of_peak_sustained_active", MAX_WARPS),
                       ATTRIBUTE, factor=0.01),
                 same("sm__active_warps_avg_per_active_cycle", RELEASE_2019))),
    Metric("block_limit_registers", ("launch__occupancy_limit_registers",), OCCUPANCY, "Block Limit Registers",
           "block", None, EXACT, NOT_AT_ALL, "blocks that an SM could hold if only registers limited them"),
    Metric("block_limit_shared_memory", ("launch__occupancy_limit_shared_mem",), OCCUPANCY, "Block Limit Shared Mem",
           "block", None, EXACT, NOT_AT_ALL, "blocks that an SM could hold if only shared memory limited them"),
    Metric("block_limit_warps", ("launch__occupancy_limit_warps",), OCCUPANCY, "Block Limit Warps", "block", None,
           EXACT, NOT_AT_ALL, "blocks that an SM could hold if only its number of warps limited them"),
    Metric("block_limit_blocks", ("launch__occupancy_limit_blocks",), OCCUPANCY, "Block Limit SM", "block", None,
           EXACT, NOT_AT_ALL, "blocks that an SM holds at most, however small they are"),
    Metric("block_limit_barriers", ("launch__occupancy_limit_barriers",), OCCUPANCY, "Block Limit Barriers", "block",
           None, EXACT, NOT_AT_ALL, "blocks that an SM could hold if only barriers limited them"),
    Metric("cluster_size", ("launch__cluster_size",), LAUNCH, "Cluster Size", "", None, EXACT, NOT_AT_ALL,
           "blocks of a cluster; 0 without clusters", lacking=BEFORE_HOPPER),
    Metric("clusters_max_active", ("launch__cluster_max_active",), OCCUPANCY, "Max Active Clusters", "cluster", None,
           EXACT, NOT_AT_ALL, "clusters that the GPU can hold at once", lacking=BEFORE_HOPPER),
    Metric("cluster_occupancy", ("launch__occupancy_cluster_pct",), OCCUPANCY, "Cluster Occupancy", "%", None, EXACT,
           NOT_AT_ALL, "clusters that fit, in percent of what the GPU could hold", lacking=BEFORE_HOPPER),
)
# fmt: on


_GROUPS: dict[str, tuple[Metric, ...]] = {  # in the order in which they are listed
    "Speed": SPEED_METRICS,
    "Memory": MEMORY_METRICS,
    "Accesses": ACCESS_METRICS,
    "Arithmetic": COMPUTE_METRICS,
    "Warps": WARP_METRICS,
    "Warp states": STALL_METRICS,
    "Launch and occupancy": LAUNCH_METRICS,
}

CATALOGUE: dict[str, Metric] = linked({metric.key: metric for group in _GROUPS.values() for metric in group})
GROUPS: dict[str, tuple[Metric, ...]] = {
    group: tuple(CATALOGUE[metric.key] for metric in some) for group, some in _GROUPS.items()
}

__all__ = ["CATALOGUE", "GROUPS", "STALL"]
