"""Warps run with idle lanes, or with a single one.

What the hardware does: the 32 lanes of a warp share one instruction at a time. If they take different branches, the
warp runs each branch in turn while the other lanes are idle. If one lane does something alone, 31 wait for it. A block
whose threads are not a multiple of 32 leaves lanes idle throughout.

Why it costs time: an instruction costs the same for one lane as for 32.

What to try: arrange the work so that the lanes of a warp do the same (sort or bin by kind, give whole warps one kind),
compute both sides and select, let all lanes take part in sums (shuffles, `__reduce_add_sync`), use blocks of whole
warps.

When it is reported: the saving is at least 2 % of the time. In a loop of compare-and-swap, lanes that are done wait for
those that try again: that is `atomic-contention`. One lane issues TMA and mbarrier instructions for all, by design. At
no less than 4 cycles from one instruction of a warp to the next, these cost nothing as long as they are done before the
data that they asked for arrives.

How the saving is estimated: idle lanes times issue time. With full warps the same work takes fewer instructions, by the
part of the lanes that were idle. Issue time is the share of issue slots used, or the share of warp states that are
about instructions and not about memory, whichever is more. Waits for memory stay, and so does the work of memory and
the tensor cores. The exception is passes of L1 that idle lanes leave part-filled: one of 128 bytes an access, however
many lanes take part. An access that takes several passes needs them for its lanes and keeps them. A block of less than
a warp is another exception: put together, such blocks make fewer warps, and the waits of those that are spared go as
well, as far as there are more than run at once. What memory has to do is kept, *assumed*: lanes side by side share
sectors, so that it may do less. If the lanes at work were not counted, the lanes that a part-filled last warp of a
block leaves idle are still known.

The estimate assumes even lanes. Items of unlike length become even once they are sorted (3.5x estimated, 3.3x achieved
in the fault gallery). If a lane takes its next item at once instead, the other lanes go that way with it (3.5x and 4.0x
estimated, 1.6x and 0.8x achieved).
"""

from __future__ import annotations

from ncu_assist.ceilings.chips import LANES
from ncu_assist.quantity import noun_of
from ncu_assist.rules.base import LEAST_WORTH, Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.pipes import L2_PARTS, TENSOR, instruction_time, memory_instructions, swaps
from ncu_assist.rules.model.resources import L1_DATA, SM_PARTS
from ncu_assist.rules.model.savings import filled
from ncu_assist.rules.model.shape import room_beside, warps_a_block
from ncu_assist.rules.model.traffic import l1_wavefronts

ID = "warp-divergence"
NEEDS: tuple[str, ...] = ("duration",)
USES: tuple[str, ...] = ("threads_per_instruction", "block_size", "issue_slots_busy", "warps_selected")
# All but the tensor cores: their instructions are a warp's, or of four, and no lane can be missing.
# And the way into L1: an instruction makes a request at any number of lanes.
SAME_WORK = "give the lanes of a warp the same work, or share what one lane does alone"
WHOLE_WARPS = (
    "use blocks of whole warps, a few of them each: neighbouring lanes then also share the sectors that each fetches "
    "alone now, which is not in the estimate"
)
A_SWAP = 5  # instructions of a turn: load, sum, swap, comparison, branch (`whist_slow` of the fault gallery)
OF_PASSES = (L1_DATA, "L1 writeback")
TO_THE_NEXT = 4.0  # cycles between dependent instructions of a warp (NVIDIA's Volta Tuning Guide), the least there are
RELIEVES = (*dict.fromkeys(one.name for one in SM_PARTS if one.name != TENSOR), "L1 input", *OF_PASSES)


def find(facts: Facts) -> Finding | None:
    """Return that lanes are idle; None where nearly all work, or where instructions are not what takes the time."""
    counted = facts.get("threads_per_instruction")
    if counted is None and not facts.get("block_size"):
        return None
    lanes = facts.value("block_size") / warps_a_block(facts) if counted is None else counted
    idle = max(0.0, 1.0 - lanes / LANES)
    if every := facts.get("instructions"):
        if _commands_in_time(facts, idle * every):
            return None
        idle *= max(0.0, 1.0 - A_SWAP * swaps(facts) / every)
    passes = l1_wavefronts(facts)
    kept = 1.0 - idle * min(1.0, memory_instructions(facts) / passes) if passes else 1.0
    taken = max(filled(facts)[unit] for unit in OF_PASSES) * kept
    short = _part_of_short_blocks(facts)
    saved = min(max(idle * instruction_time(facts), short), room_beside(facts, RELIEVES), 1.0 - taken)
    if saved < LEAST_WORTH:
        return None
    divergent = facts.get("divergent_branches")
    threads = facts.get("block_size") or 0.0
    if divergent:
        cause = "because its branches diverge"
    elif threads % LANES:
        cause = f"because a block has {threads:.0f} {noun_of(threads, 'thread')}"
    elif divergent is None:
        cause = "why is not known, as its branches were not counted"
    else:
        cause = "although no branch diverges: lanes end early, or are left out"
    return Finding(
        rule=ID,
        message=f"{lanes:.1f} of {LANES} lanes take part in an instruction on average, {cause}",
        saved_ns=saved * facts.duration_ns,
        evidence=("threads_per_instruction", "divergent_branches", "branch_efficiency", "issue_slots_busy"),
        relieves=(*RELIEVES, *L2_PARTS, "DRAM") if short > 0.0 else RELIEVES,
        stalls=(),
        waste="divergence",
        assumed=facts.lacks("issue_slots_busy") or short > 0.0,
        advice=WHOLE_WARPS if short > 0.0 else SAME_WORK,
    )


def _part_of_short_blocks(facts: Facts) -> float:
    """Return the part of all warps that are spared where blocks of less than a warp are put together, 0 to 1.

    Such a warp waits as long as a whole one, so that the time of all its waits goes with it. Where all blocks of a
    launch run at once, fewer of them end no sooner.
    """
    threads, waves = facts.get("block_size") or LANES, facts.value("waves_per_sm")
    return max(0.0, 1.0 - max(threads / LANES, 1.0 / waves)) if threads < LANES and waves > 1.0 else 0.0


def _commands_in_time(facts: Facts, instructions: float) -> bool:
    """Tell whether so many ``instructions`` of single lanes take less time than what TMA brings takes to fill L1."""
    if not facts.get("tma_loads"):
        return False
    cycles = facts.value("sm_cycles_elapsed") * facts.value("sm_count")
    return TO_THE_NEXT * instructions <= facts.value("l1_fill_busy") / 100.0 * cycles
