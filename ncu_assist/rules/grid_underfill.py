"""The launch has fewer blocks than the chip can hold at once.

What the hardware does: a multiprocessor works on the blocks that it is given. With fewer blocks than multiprocessors,
some multiprocessors have nothing to do.

Why it costs time: the idle multiprocessors do no work. With less than one wave of blocks, the others have fewer warps
than they could have to hide latency.

What to try: split the work finer, so that each block does less (a part of a row, fewer elements a thread); split sums
into parts that a second step or an atomic adds up; take batch and heads into the grid; run other kernels at the same
time.

When it is reported: the launch has less than one wave of blocks, and the saving is at least 2 % of the time. A launch
has enough blocks if every multiprocessor has one and DRAM, a pipe or the link to the host is busy: half a wave may do.

How the saving is estimated: with the blocks spread over all multiprocessors, the time falls to blocks over
multiprocessors. If waiting is also a problem (no resource at 80 % of what it can reach while a multiprocessor had
work), the waits that other warps could hide shrink too, in the ratio of the warps now to the warps that fit. The time
in which most multiprocessors wait for the longest block, or most warps have ended, belongs to `workload-imbalance`.
No launch is shorter than its start. If the code was read and no instruction was executed more than once a warp, no
thread has a loop to share with others: spread over idle multiprocessors, warps only get out of each other's way. That
saves no more than the time in which a unit of a working multiprocessor is busy, or in which warps queue.
Without throughputs nobody knows whether a unit is busy. Without warp states the time in which no scheduler issued takes
their place, an upper bound. In both cases the saving is *assumed*.
"""

from __future__ import annotations

from ncu_assist.ceilings.chips import LANES
from ncu_assist.quantity import digits, percent
from ncu_assist.rules.base import LEAST_WORTH, Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.savings import LEAST_SHARE, ON_EACH_SM, START_NS, loads, spread
from ncu_assist.rules.model.shape import (
    block_words,
    coverable_share,
    early_ends,
    has_room,
    of_each_shape,
    uneven_work,
    used_share,
    warps_a_block,
    working_share,
)

ID = "grid-underfill"
NEEDS: tuple[str, ...] = (
    "duration",
    "grid_size",
    "block_size",
    "sm_count",
    "waves_per_sm",
)
USES: tuple[str, ...] = (
    "theoretical_warps", "dram_throughput", "issue_slots_busy", "global_store_requests",
    "sectors_per_request_store_ideal", "warps_selected",
)  # fmt: skip
# States in which a warp waits for others of its multiprocessor.
QUEUES = (
    "not_selected", "math_pipe_throttle", "mio_throttle", "lg_throttle", "tex_throttle", "dispatch_stall", "barrier",
)  # fmt: skip
MORE_BLOCKS = "split the work into more blocks"
SMALLER_BLOCKS = "use smaller blocks, so that more multiprocessors share the warps: no thread has a loop to split"
MORE_AT_ONCE = "give the launch more to do, or run other kernels at the same time: no thread has a loop to split"
LEAST_SHOWN = 0.01  # less would print as 0 %


def find(facts: Facts) -> Finding | None:
    """Return that there are too few blocks; None from one wave on, or where fewer are enough."""
    return of_each_shape(_find, facts)


def _find(facts: Facts) -> Finding | None:
    blocks, count, waves = (facts.value(key) for key in ("grid_size", "sm_count", "waves_per_sm"))
    if not 0 < waves < 1 or not count or not blocks:
        return None
    used = used_share(facts)
    faster = 1.0 - used * (1.0 - _waits_saved(facts, blocks / (used * count)))
    even = 1.0 if facts.lacks("sm_cycles_active") else 1.0 - uneven_work(facts)
    room = 1.0 - max(spread(facts).values())
    saved = min(working_share(facts) * faster * even, room)
    if facts.is_straight and used < 1.0:
        saved = min(saved, (1.0 - used) * _crowded(facts))
    if saved < LEAST_WORTH:
        return None
    left = dict.fromkeys(ON_EACH_SM, used) if used < 1.0 else {}
    idle = f"{count - blocks:.0f} of {count:.0f} multiprocessors get none" if blocks < count else "each gets few"
    threads = facts.value("block_size")
    few = "1 block" if blocks == 1 else f"{blocks:.0f} blocks"
    of = f" of {block_words(facts)}" if threads < LANES else ""
    return Finding(
        rule=ID,
        message=f"{few}{of} fill{'s' * (blocks == 1)} {_share(waves)} of what the chip holds at once, {idle}",
        saved_ns=min(saved, _beside_start(facts)) * facts.duration_ns,
        evidence=("grid_size", "sm_count", "waves_per_sm", "sm_idle_share", "achieved_warps"),
        relieves=tuple(sorted(left)),
        left=left,
        assumed=facts.lacks("theoretical_warps", "dram_throughput", "warps_selected"),
        advice=_advice(facts, used < 1.0),
    )


def _advice(facts: Facts, some_rest: bool) -> str:
    threads = facts.value("block_size")
    if not (facts.is_straight and some_rest):
        return MORE_BLOCKS + (", of whole warps" if threads < LANES else "")
    return SMALLER_BLOCKS if threads > LANES else MORE_AT_ONCE


def _beside_start(facts: Facts) -> float:
    """Return the part of the time that is left beside the start of each launch, which no grid makes shorter."""
    return max(0.0, 1.0 - LEAST_SHARE - START_NS * len(facts.combined.launches) / facts.duration_ns)


def _crowded(facts: Facts) -> float:
    """Return the part of the time in which warps may be in each other's way on a multiprocessor that works, 0 to 1.

    It is that in which a unit of it is busy, or in which they queue, whichever is more.
    """
    busiest = max(min(1.0, load) for name, load in loads(facts).items() if name in ON_EACH_SM)
    return max(busiest, working_share(facts) * sum(map(facts.stall, QUEUES)) / 100.0)


def _share(waves: float) -> str:
    return percent(waves) if waves >= LEAST_SHOWN else f"{digits(100.0 * waves, 1)} %"


def _waits_saved(facts: Facts, blocks_each: float) -> float:
    """Return the part of a multiprocessor's time that a full set of warps would cover, 0 to 1."""
    now, fit = blocks_each * warps_a_block(facts), facts.get("theoretical_warps") or 0.0
    if now >= fit or not has_room(facts):
        return 0.0
    return coverable_share(facts) * (1.0 - now / fit) * (1.0 - early_ends(facts))
