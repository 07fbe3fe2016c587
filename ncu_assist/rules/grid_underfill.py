"""The launch has fewer blocks than the chip can hold at once.

A multiprocessor works on the blocks that it is given. With fewer blocks than multiprocessors some have nothing to do;
with fewer than fit (less than one wave), those that work have fewer warps than they could to cover their waits.

What it could save: blocks spread over all multiprocessors take the time down to blocks over multiprocessors. Beyond
that, where waiting is the problem (no resource at 80 % of what it can reach in the time that a multiprocessor had
work), the waits that other warps could cover shrink by the warps now over those that fit. A launch with a block on
every multiprocessor that keeps DRAM or a pipe busy, or the link to the host, has enough: half a wave may do. The time
in which most multiprocessors wait for the longest block is left to `workload-imbalance`: it saves that. Without
throughputs nobody knows whether a unit is busy, and without warp states what others could cover: then the time in which
no scheduler issued stands in, an upper bound, *assumed*.

What to try: split the work finer, so that each block does less (a part of a row, fewer elements a thread), split sums
into parts that a second step or an atomic adds up, take batch and heads into the grid, run other kernels beside it.
"""

from __future__ import annotations

from ncu_assist.ceilings.chips import LANES
from ncu_assist.rules.base import LEAST_WORTH, Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.shape import (
    coverable_share,
    has_room,
    of_each_shape,
    room_beside,
    uneven_work,
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


def find(facts: Facts) -> Finding | None:
    """Return that there are too few blocks; None from one wave on, or where fewer are enough."""
    return of_each_shape(_find, facts)


def _find(facts: Facts) -> Finding | None:
    blocks, count, waves = (facts.value(key) for key in ("grid_size", "sm_count", "waves_per_sm"))
    if not 0 < waves < 1 or not count or not blocks:
        return None
    used = min(1.0, blocks / count)
    faster = 1.0 - used * (1.0 - _waits_saved(facts, blocks / (used * count)))
    even = 1.0 if facts.lacks("sm_cycles_active") else 1.0 - uneven_work(facts)
    saved = min(working_share(facts) * faster * even, room_beside(facts))
    if saved < LEAST_WORTH:
        return None
    idle = f"{count - blocks:.0f} of {count:.0f} multiprocessors get none" if blocks < count else "each gets few"
    threads = facts.value("block_size")
    few = "1 block" if blocks == 1 else f"{blocks:.0f} blocks"
    of = "" if threads >= LANES else f" of {threads:.0f} threads" if threads > 1 else " of a single thread"
    return Finding(
        rule=ID,
        message=f"{few}{of} fill{'s' * (blocks == 1)} {100 * waves:.0f} % of what the chip holds at once, {idle}",
        saved_ns=saved * facts.duration_ns,
        evidence=("grid_size", "sm_count", "waves_per_sm", "sm_idle_share", "achieved_warps"),
        assumed=facts.lacks("theoretical_warps", "dram_throughput", "warps_selected"),
        advice="split the work into more blocks" + (", of whole warps" if threads < LANES else ""),
    )


def _waits_saved(facts: Facts, blocks_each: float) -> float:
    """Return the part of a multiprocessor's time that a full set of warps would cover, 0 to 1."""
    now, fit = blocks_each * warps_a_block(facts), facts.get("theoretical_warps") or 0.0
    if now >= fit or not has_room(facts):
        return 0.0
    return coverable_share(facts) * (1.0 - now / fit)
