"""Warps wait for other warps of their block at a barrier.

What the hardware does: at `__syncthreads` (or another barrier of the block) every warp waits for the slowest one.

Why it costs time: the wait is long if one warp has more work than the others, if its data arrives later, or if a
barrier follows every small step. Nothing hides the wait if few blocks share the multiprocessor, or if all of them wait
at the same time.

What to try: fewer barriers (two buffers in turn, several steps between barriers), `__syncwarp` and shuffles within a
warp, even work between barriers, smaller blocks so that fewer warps wait and other blocks fill in, `cuda::barrier` with
separate arrive and wait, a producer warp that runs ahead.

When it is reported: the saving is at least 2 % of the time. A kernel with `wgmma` is left to `tensor-underfed`. ncu
counts a warp that waits for a product (`wgmma.wait_group`), or that has ended and waits for its cluster, as one at a
barrier. `tensor-underfed` uses the code to tell these waits apart.

How the saving is estimated: the share of warp states at barriers, times the room that the busiest resource has, and the
part of the time in which the multiprocessor that works longest has warps. If that was not counted, it is the mean of
those that get a block. A barrier takes one step of the ADU pipe and comes with about ten instructions: a store and a
load of shared memory, their addresses, the loop. The issue slots of these instructions do not count as busy; all other
issue slots do. A product with a barrier in 400 instructions keeps its products. If DRAM is at its ceiling, barriers
cost nothing. Without DRAM's throughput the saving is *assumed*.

If barriers are the first stall reason, the steps between them can be most of the work: sums and scans that a block does
by halves in shared memory. The rule assumes this if the steps are most of what is executed and keep a unit busy for 60
% of the time in which multiprocessors have warps. (Below 60 % the warps wait for a slow warp, and the work must be
evened out.) Within a warp such a step is a shuffle and an add, two of the ten instructions. The other eight are saved,
with their passes through L1. Shuffles that are already there stay. All warps do the same then, so the slowest warps
wait for memory as often as any warp that is not at a barrier, and that part of the waits stays. A reduction over the 32
lanes of a warp has five such steps. Blocks with fewer barriers a warp have none.
"""

from __future__ import annotations

from ncu_assist.ceilings.chips import LANES
from ncu_assist.rules.base import LEAST_WORTH, Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.pipes import (
    ADU,
    ADU_A_CYCLE,
    ISSUE,
    L1_PARTS,
    MOST_OF_ALL,
    busy,
    instruction_time,
    is_matrix_work,
    shuffles,
)
from ncu_assist.rules.model.resources import RESOURCES, SM_PARTS
from ncu_assist.rules.model.savings import filled
from ncu_assist.rules.model.shape import LATENCY_BELOW, room_beside, with_a_block, working_part, working_share

ID = "barrier-stall"
NEEDS: tuple[str, ...] = ("duration", "warps_barrier", "warps_selected")
USES: tuple[str, ...] = ("dram_throughput", "sm_cycles_active_max", "sm_cycles_elapsed")
WITH_A_BARRIER = 10.0  # instructions
OF_A_SHUFFLE = 2.0  # instructions of a step within a warp: it, and the sum
FOR_MEMORY = "long_scoreboard"
LEAST_STEPS = 5.0  # barriers a warp: so often it halves the results of its 32 lanes
RELIEVES = (ISSUE, ADU)  # which carries barriers out
OF_STEPS = (*(one.name for one in SM_PARTS), *L1_PARTS[:3])


ADVICE = "use fewer barriers, even out the work between them, or use smaller blocks"
IN_A_WARP = "do the steps within each warp, with shuffles, and meet once for the results"


def find(facts: Facts) -> Finding | None:
    """Return that barriers cost time; None where they do not, or others work meanwhile."""
    if facts.get("pipe_tensor_gmma"):
        return None
    waiting, barriers = facts.stall("barrier") / 100.0, _barriers(facts)
    between = (facts.get("instructions") or 0.0) / barriers if barriers else 0.0
    steps = _steps(facts, between) if waiting < 1.0 and next(iter(facts.combined.stalls), "") == "barrier" else 0.0
    if steps:
        taken = max(load * (1.0 - steps if unit in OF_STEPS else 1.0) for unit, load in filled(facts).items())
        by_steps = waiting * (1.0 - facts.stall(FOR_MEMORY) / 100.0 / (1.0 - waiting))
        saved = min(by_steps * room_beside(facts, OF_STEPS) + steps * instruction_time(facts), 1.0 - taken)
    else:
        kept = max(0.0, 1.0 - WITH_A_BARRIER / between) if between else 0.0
        room = min(room_beside(facts, RELIEVES), 1.0 - kept * filled(facts)[ISSUE])
        saved = waiting * room * (with_a_block(facts) if facts.lacks("sm_cycles_active_max") else working_share(facts))
    if saved < LEAST_WORTH:
        return None
    often = f", one every {between:.0f} instructions" if steps else ""
    return Finding(
        rule=ID,
        message=f"warps spend {100 * waiting:.0f} % of their time waiting for other warps at barriers{often}",
        saved_ns=saved * facts.duration_ns,
        evidence=("warps_barrier", "barriers", "block_size", "achieved_warps", "issue_slots_busy"),
        relieves=OF_STEPS if steps else RELIEVES,
        stalls=("barrier",),
        assumed=facts.lacks("dram_throughput"),
        advice=IN_A_WARP if steps else ADVICE,
    )


def _barriers(facts: Facts) -> float:
    """Return how often warps came to a barrier: what the ADU pipe did beside constants at an index; 0 if not known."""
    done = busy(facts, ADU) * ADU_A_CYCLE * facts.value("sm_cycles_elapsed") * (facts.get("sm_count") or 0.0)
    return max(0.0, done - (facts.get("constant_requests") or 0.0))


def _steps(facts: Facts, between: float) -> float:
    """Return the part of all instructions that goes with steps between barriers, 0 to 1; 0 where others set the pace.

    ``between``: instructions from barrier to barrier.
    """
    warps = (facts.get("threads") or 0.0) / LANES
    if not warps or _barriers(facts) < LEAST_STEPS * warps or is_matrix_work(facts):
        return 0.0
    is_busy = max(facts.busy(RESOURCES[unit]) for unit in OF_STEPS) >= LATENCY_BELOW * working_part(facts)
    own = min(WITH_A_BARRIER, between) - OF_A_SHUFFLE * shuffles(facts) / _barriers(facts)
    return max(0.0, own - OF_A_SHUFFLE) / between if is_busy and own > MOST_OF_ALL * between else 0.0
