"""Further ways to know how busy the pipes of a multiprocessor are."""

from __future__ import annotations

from ncu_assist.ncu.catalogue.metric import Way
from ncu_assist.ncu.catalogue.ways import COMPARED, DOCUMENTED, SECTION, Ways, over, same, times

SHARE_OF_TIME = f"{DOCUMENTED}: a share of active cycles is that of all cycles over the active part of them"
CYCLES = f"{COMPARED}: the cycles in which the pipe worked, which of an instruction may be two"
OF_ACTIVE, OF_ELAPSED = ".avg.pct_of_peak_sustained_active", ".avg.pct_of_peak_sustained_elapsed"


def _elapsed(name: str, *, approximate: bool = False) -> Way:
    """Return a share of active cycles from that of all cycles."""
    needs = (name + OF_ELAPSED, "sm_cycles_elapsed")
    return over(needs, ("sm_cycles_active",), SHARE_OF_TIME, approximate=approximate)


def _pipe(name: str, *cycles: str) -> tuple[Way, ...]:
    """Return how to know a pipe from its own share of all cycles, and from the cycles in which it worked."""
    of_cycles = [
        way
        for one in cycles
        for way in (same(one + OF_ACTIVE, CYCLES, approximate=True), _elapsed(one, approximate=True))
    ]
    return (_elapsed(f"sm__{name}"), *of_cycles)


# fmt: off
COMPUTE_WAYS: Ways = {
    "pipe_fma": _pipe("inst_executed_pipe_fma", "sm__pipe_fma_cycles_active"),
    "pipe_alu": _pipe("inst_executed_pipe_alu", "sm__pipe_alu_cycles_active"),
    "pipe_fp64": _pipe("inst_executed_pipe_fp64", "sm__inst_executed_pipe_fp64_op_fp64", "sm__pipe_fp64_cycles_active"),
    "pipe_fp16": _pipe("inst_executed_pipe_fma_type_fp16", "sm__inst_executed_pipe_fp16"),
    "pipe_xu": _pipe("inst_executed_pipe_xu"),
    "pipe_lsu": _pipe("inst_executed_pipe_lsu"),
    "pipe_adu": _pipe("inst_executed_pipe_adu"),
    "pipe_cbu": _pipe("inst_executed_pipe_cbu"),
    "pipe_uniform": _pipe("inst_executed_pipe_uniform"),
    "pipe_tex": _pipe("inst_executed_pipe_tex"),
    "pipe_fma_cycles": _pipe("pipe_fma_cycles_active"),
    "pipe_alu_cycles": _pipe("pipe_alu_cycles_active"),
    "pipe_fp64_cycles": _pipe("pipe_fp64_cycles_active"),
    **{f"{precision}_fma_per_cycle": (
        times((f"derived__smsp__sass_thread_inst_executed_op_{letter}fma_pred_on_x2",), f"{SECTION}: it counts two",
              factor=0.5),
       ) for precision, letter in (("fp64", "d"), ("fp32", "f"))},
    "pipe_tensor_hmma": _pipe("inst_executed_pipe_tensor_op_hmma"),
    "pipe_tensor_hmma_cycles": _pipe("pipe_tensor_op_hmma_cycles_active"),
    "pipe_tensor_cycles": _pipe("pipe_tensor_cycles_active", "sm__inst_executed_pipe_tensor"),
}
# fmt: on
