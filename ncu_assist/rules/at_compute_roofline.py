"""The kernel is done: the pipe that its work needs is at its ceiling.

What the hardware does: each scheduler issues one instruction a cycle. A loop of nothing but multiply-adds keeps the FMA
pipe 85 to 95 % busy. A loop of wgmma keeps the tensor cores 99 % busy.

Why it costs time: it does not. A matrix product at that rate has no time left to save. Only less work makes it faster.

What to try: stop, or do less work: a better algorithm, a smaller type, or tensor cores if rounding allows them.

When it is reported: the pipe reaches 0.95 of the rate that `ncu-assist ceilings` measured for it on this GPU. Without a
measurement the limit is 0.95 of 85 %, *assumed*. The measured loop reuses its operands. A multiply-add with three new
operands waits for its registers, and a loop of those reaches 85 %. So 0.95 of 85 % is also enough if warps wait most
for their turn, for the dispatcher or for the pipe.

Three of four instructions must be multiply-adds on floats, or the kernel must use the chip's best tensor-core
instruction (wgmma on 9.0). The last quarter is for the loop counters, addresses and loads of a tiled product.
Multiply-adds that fill the issue slots at that rate count like a full pipe. A product on tensor cores is also done if
it is as fast, in operations a cycle, as a library's product measured on this GPU model: a real product cannot reuse its
operands as a loop can. Doubles are done at 0.95 of the measured FP64 pipe if the data are doubles, or if `math` in
kernel.toml says `fp64`. Floats converted to doubles and back are a choice and are not reported. Anything else that
fills a pipe is `pipe-bound`. Without instruction counts the rule cannot tell whether multiply-adds are the work, and
reports nothing for floats.

How the saving is estimated: there is nothing to save.
"""

from __future__ import annotations

from ncu_assist.ceilings.chips import LANES
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.pipes import (
    DONE,
    FMA,
    FP64,
    ISSUE,
    LOOP_REACHES,
    TENSOR,
    busy,
    fma_ceiling,
    has_library_rate,
    is_best_instruction,
    needs_doubles,
    operations,
    tensor_ns,
    tensor_operations,
    while_active,
)
from ncu_assist.rules.model.savings import reachable

ID = "at-compute-roofline"
NEEDS: tuple[str, ...] = ("sm_active_share",)
USES: tuple[str, ...] = (
    "issue_slots_busy", "pipe_fma", "sm_cycles_elapsed", "instructions", "fp32_fma_per_cycle",
    "tensor_ops_fp16", "tensor_ops_bf16", "pipe_tensor_cycles", "pipe_tensor_gmma", "sm_count", "sm_clock",
    "warps_selected",
)  # fmt: skip
ADVICE = "stop here, or do less work: a better algorithm, a smaller type"
NEEDED = 0.75  # of all instructions are the work itself
TENSOR_EVIDENCE = ("pipe_tensor_cycles", "pipe_tensor_gmma")
ONLY_THE_PIPE = ("not_selected", "dispatch_stall", "math_pipe_throttle")  # a warp could issue, had it the place


def find(facts: Facts) -> Finding | None:
    """Return that the kernel is at the ceiling of its pipe; None where it is not, or could do with fewer cycles."""
    return _tensor(facts) or _fma(facts) or _fp64(facts)


def _tensor(facts: Facts) -> Finding | None:
    if not is_best_instruction(facts):
        return None
    reached, assumed = _tensor_reached(facts)
    if reached >= (DONE * LOOP_REACHES if assumed else DONE):
        return _finding("tensor", "the tensor cores", reached, TENSOR_EVIDENCE, assumed)
    if _is_as_fast_as_a_library(facts):
        active = facts.value("pipe_tensor_cycles") / 100.0
        return _finding(
            "tensor", "a product on the tensor cores, as a library's is", active, TENSOR_EVIDENCE[:1], False
        )
    return None


def _is_as_fast_as_a_library(facts: Facts) -> bool:
    done = tensor_operations(facts)
    needed = tensor_ns(facts, done) if has_library_rate(facts) else None
    return needed is not None and done > 0.0 and needed >= facts.duration_ns


def _tensor_reached(facts: Facts) -> tuple[float, bool]:
    """Return the part of the rate on halves that was measured here, else of the pipe's cycles (assumed)."""
    probe = "wgmma_bf16" if facts.get("pipe_tensor_gmma") else "mma_fp16"
    rate = facts.ceilings.rate("tensor", probe, "ncu") if facts.ceilings else None
    done = tensor_operations(facts)
    cycles = facts.value("sm_cycles_elapsed") * (facts.get("sm_count") or 0.0)
    if rate is None or not rate.per_cycle_per_sm or not done or not cycles:
        return busy(facts, TENSOR), True
    return done / cycles / rate.per_cycle_per_sm, False


def _fma(facts: Facts) -> Finding | None:
    done = operations(facts, "fp32_fma_per_cycle")
    every = LANES * facts.value("instructions")
    active = facts.value("sm_active_share") / 100.0
    if not every or done < NEEDED * every or active < DONE:
        return None
    reached, issued = busy(facts, FMA) / active, busy(facts, ISSUE) / active
    limit, assumed = fma_ceiling(facts)
    if next(iter(facts.combined.stalls), "") in ONLY_THE_PIPE:
        limit = min(limit, DONE * LOOP_REACHES)
    if max(reached, issued) < limit:
        return None
    words = "the FMA pipe" if reached >= limit else "the issue slots of multiply-adds"
    return _finding("fma", words, max(reached, issued), ("pipe_fma", "issue_slots_busy", "fp32_fma_per_cycle"), assumed)


def _fp64(facts: Facts) -> Finding | None:
    done = operations(facts, "fp64_fma_per_cycle")
    if done < NEEDED * LANES * facts.value("instructions") or not done or not needs_doubles(facts):
        return None
    reached = while_active(facts, FP64)
    limit = DONE * (reachable(facts, FP64) if facts.ceilings else LOOP_REACHES)
    if reached < limit:
        return None
    return _finding("fp64", "the FP64 pipe", reached, ("pipe_fp64", "fp64_fma_per_cycle"), facts.ceilings is None)


def _finding(pipe: str, words: str, reached: float, evidence: tuple[str, ...], assumed: bool) -> Finding:
    return Finding(
        rule=ID,
        message=f"is at the ceiling of {words}: {100 * reached:.0f} % busy while SMs are active",
        saved_ns=0.0,
        evidence=evidence,
        detail={"pipe": pipe},
        assumed=assumed,
        advice=ADVICE,
        is_done=True,
    )
