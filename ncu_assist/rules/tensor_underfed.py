"""Has tensor cores that wait for operands, or uses their older instruction.

Hardware: tensor cores take operands from registers (`mma.sync`, `nvcuda::wmma`) or, on 9.0, straight from shared memory
(`wgmma`), which alone reaches their full rate there. Each cycle without operands is lost.

Cost: loads from global memory by every warp, one buffer that is filled and then used, a barrier between, and too small
tiles leave the tensor cores idle most of the time.

What to try: stage tiles in shared memory, two or more buffers, filled with `cp.async` or TMA while the last ones are
multiplied; larger tiles a warp; `ldmatrix` and layouts without bank conflicts; on 9.0 `wgmma`, through CUTLASS or a
library: `mma.sync` has two thirds of the rate of `wgmma`. Loads of operands from shared memory are there
because `mma.sync` takes them from registers: what they cost is put down to its line where the chip has `wgmma`.

Thresholds: tensor cores do most of the operations; where those were not counted, they are busy as long as the FMA pipe.
The time after is that of a product at the rate a cycle that a library's reached on such a GPU (`ncu-assist ceilings`),
else at 70 % of the chip's peak; where that is not known, or most of the work is on other types than halves, that of the
cycles in which they worked, over 0.9. Loads within the SM are relieved; other pipes stay. L2 and DRAM stay too, but
where nobody said how many bytes the work needs and its tiles seem to come again (SMs ask L2 for twice what comes from
DRAM, or DRAM brings a quarter more than they ask for), tiles twice as wide halve what both do where they take the time,
*assumed*. What bank conflicts cost is left to `shared-bank-conflict`, which says what to do about it: two buffers with
the same conflicts are hardly faster than one.
"""

from __future__ import annotations

from ncu_assist.rules import shared_bank_conflict
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.pipes import (
    BINDS,
    ISSUE,
    L1_PARTS,
    L2_PARTS,
    LSU,
    MOST_OF_ALL,
    TENSOR,
    TENSOR_HALVES,
    TENSOR_OTHERS,
    busy,
    is_best_instruction,
    is_matrix_work,
    reads_tiles_again,
    tensor_ns,
    tensor_operations,
)
from ncu_assist.rules.model.savings import REACHABLE, START_NS, filled_by

ID = "tensor-underfed"
NEEDS: tuple[str, ...] = ("pipe_tensor_cycles", "sm_active_share")
USES: tuple[str, ...] = ("tensor_ops_fp16", "pipe_fma", "l2_sectors_read", "dram_bytes_read")
WIDER_TILES = 0.5  # of the bytes that a product reads, with tiles twice as wide
KINDS = {
    "pipe_tensor_gmma": ", with gmma instructions (wgmma)",
    "pipe_tensor_hmma": ", with hmma instructions (mma.sync, wmma)",
}  # those counted and used, the first that is
OLDER = ", where the chip has wgmma"
FEED = "stage tiles in shared memory with two or more buffers, and multiply one while the next arrives"
NEWER = "use wgmma, which takes its operands from shared memory: mma.sync reaches two thirds of its rate at most"
WAITS = ("long_scoreboard", "short_scoreboard", "mio_throttle", "lg_throttle", "barrier", "wait")


def find(facts: Facts) -> Finding | None:
    """Return what fed tensor cores would save; None where they do little of the work, or are at their rate."""
    halves = tensor_operations(facts)
    done = halves + tensor_operations(facts, TENSOR_OTHERS)
    if not is_matrix_work(facts):
        return None
    share = busy(facts, TENSOR)
    after = tensor_ns(facts, done) if halves > MOST_OF_ALL * done else None
    fed = facts.duration_ns * share / REACHABLE if after is None else after + START_NS
    without_conflicts = facts.duration_ns - _conflicts_ns(facts)
    again = reads_tiles_again(facts) and filled_by((*L2_PARTS, "DRAM"), facts) is not None
    if again:
        fed = max(fed, WIDER_TILES * facts.duration_ns)
    if fed >= without_conflicts:
        return None
    active = facts.value("sm_active_share") / 100.0 or 1.0
    is_older = is_best_instruction(facts) is False
    pipes = [key for key in KINDS if facts.get(key)][:1]
    types = (key for key in (*TENSOR_HALVES, *TENSOR_OTHERS) if facts.get(key))
    how = "".join(KINDS[key] for key in pipes) + (OLDER if is_older else "")
    return Finding(
        rule=ID,
        message=f"feeds tensor cores too little: {100 * share / active:.0f} % busy while SMs are active{how}",
        saved_ns=without_conflicts - fed,
        evidence=("pipe_tensor_cycles", *types, *pipes),
        relieves=(TENSOR, ISSUE, LSU, *L1_PARTS, *(("DRAM", *L2_PARTS) if again else ())),
        stalls=WAITS,
        assumed=again or not done,
        with_operands=is_older,
        detail={"pipe": "tensor"},
        advice=NEWER if is_older and share >= BINDS else FEED,
    )


def _conflicts_ns(facts: Facts) -> float:
    """Return what bank conflicts cost; 0 where that was not counted."""
    if facts.lacks(*shared_bank_conflict.NEEDS):
        return 0.0
    conflicts = shared_bank_conflict.find(facts)
    return conflicts.saved_ns if conflicts else 0.0
