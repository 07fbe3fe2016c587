"""The catalogue's rows on arithmetic: how busy each pipe is, and how many operations of each precision there were."""

from __future__ import annotations

from ncu_assist.ncu.catalogue.metric import (
    ALL_BUT_HOPPER,
    BEFORE_AMPERE,
    BEFORE_HOPPER,
    BY_SCHEDULER_ELAPSED,
    BY_SM_ACTIVE,
    BY_SM_ELAPSED,
    COMPARED,
    COMPUTE,
    DOCUMENTED,
    EXACT,
    NOISY,
    NOWHERE,
    OF_ACTIVE,
    OF_ELAPSED,
    SECTION,
    SUM,
    Metric,
    Way,
    over,
    same,
    times,
)

PER_CYCLE = ".sum.per_cycle_elapsed"
SHARE_OF_TIME = f"{DOCUMENTED}: a share of active cycles is that of all cycles over the active part of them"
CYCLES = f"{COMPARED}: the cycles in which the pipe worked, which of an instruction may be two"
NO_DMMA = ("tu102", "ga102", "ad102")


def _of_all_cycles(name: str, *, approximate: bool = False) -> Way:
    """Return a share of active cycles from that of all cycles."""
    needs = (name + OF_ELAPSED, "sm_cycles_elapsed")
    return over(needs, ("sm_cycles_active",), SHARE_OF_TIME, approximate=approximate)


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
    name = f"smsp__sass_thread_inst_executed_op_{letter}{op}_pred_on{PER_CYCLE}"
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
