"""Warps wait for other warps of their block at a barrier.

At `__syncthreads` (or another barrier of the block) every warp waits for the slowest. The wait is long where one warp
does more than the others, where the data of one arrives later, or where there is a barrier after every small step; and
it is not covered where few blocks share the multiprocessor, or all of them wait at the same time.

What it could save: the share of warp states at barriers, as far as no other warp kept the busiest resource at work
meanwhile. A step of the ADU pipe carries a barrier out, and with it go some ten instructions: a store and a load of
shared memory, their addresses, the loop. Those issue slots are not counted as such a resource, the rest of them is: a
product with a barrier in 400 instructions keeps its products. Behind DRAM at its ceiling barriers cost nothing; without
its throughput nobody knows, and the saving is *assumed*.

A kernel with `wgmma` is not asked: ncu counts a warp that waits for a product (`wgmma.wait_group`) as one at a barrier,
and so one that has ended and waits for its cluster. `tensor-underfed` tells them apart by the code.

What to try: fewer barriers (two buffers in turn, several steps between two), `__syncwarp` and shuffles within a warp,
even work between barriers, smaller blocks so that fewer warps wait and other blocks fill in, `cuda::barrier` with
arrive and wait apart, a producer warp that runs ahead.
"""

from __future__ import annotations

from ncu_assist.ceilings.chips import SCHEDULERS
from ncu_assist.rules.base import LEAST_WORTH, Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.pipes import ADU, ADU_A_CYCLE, ISSUE, busy
from ncu_assist.rules.model.savings import filled
from ncu_assist.rules.model.shape import room_beside, working_share

ID = "barrier-stall"
NEEDS: tuple[str, ...] = ("duration", "warps_barrier", "warps_selected")
USES: tuple[str, ...] = ("dram_throughput", "sm_cycles_active_max", "sm_cycles_elapsed")
WITH_A_BARRIER = 10.0  # instructions
RELIEVES = (ISSUE, ADU)  # which carries barriers out


def find(facts: Facts) -> Finding | None:
    """Return that barriers cost time; None where they do not, or others work meanwhile."""
    if facts.get("pipe_tensor_gmma"):
        return None
    waiting = facts.stall("barrier") / 100.0
    room = min(room_beside(facts, RELIEVES), 1.0 - _instructions_kept(facts) * filled(facts)[ISSUE])
    saved = waiting * room * working_share(facts)
    if saved < LEAST_WORTH:
        return None
    return Finding(
        rule=ID,
        message=f"warps spend {100 * waiting:.0f} % of their time waiting for other warps at barriers",
        saved_ns=saved * facts.duration_ns,
        evidence=("warps_barrier", "barriers", "block_size", "achieved_warps", "issue_slots_busy"),
        relieves=RELIEVES,
        stalls=("barrier",),
        assumed=facts.lacks("dram_throughput"),
        advice="use fewer barriers, even out the work between them, or use smaller blocks",
    )


def _instructions_kept(facts: Facts) -> float:
    """Return the part of all instructions that do not go with barriers, 0 to 1; 0 where that was not counted."""
    issued, barriers = busy(facts, ISSUE) * SCHEDULERS, busy(facts, ADU) * ADU_A_CYCLE
    if not barriers or not issued:
        return 0.0
    return max(0.0, 1.0 - WITH_A_BARRIER * barriers / issued)
