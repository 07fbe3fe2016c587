"""Spills registers to local memory.

Hardware: a thread has at most 255 registers, fewer where `__launch_bounds__`, `__maxnreg__` or `-maxrregcount` ask for
more warps. What does not fit is stored to local memory, which lies in DRAM behind L1 and L2, and is loaded again.

Cost: every spilled value is two more memory instructions on the way of each warp; stores go through to L2 always, loads
come from L1 only while all threads' spills fit into it.

What to try: give the kernel more registers (a larger limit, smaller blocks in `__launch_bounds__`), unroll less, keep
fewer values alive, hold a smaller tile a thread, put what is rarely used into shared memory.

Thresholds: counted are `derived__local_spilling_requests`, apart from other local memory.

The time is the larger of two: that in which schedulers issue nothing since warps wait on memory, by local memory's part
of all sectors; and that of local memory's part of the work of L1 or L2, where one of them is 72 % busy. Below 1 % of
the time nothing is said, since a repeated launch varies by that much. Where spills were not counted apart from arrays,
local memory is put down to spills if a thread has all the registers that it can have, *assumed*.
"""

from __future__ import annotations

from ncu_assist.rules.base import Finding
from ncu_assist.rules.model import local_traffic
from ncu_assist.rules.model.facts import Facts

ID = "register-spill"
NEEDS: tuple[str, ...] = local_traffic.NEEDS
USES: tuple[str, ...] = local_traffic.USES
MORE, ALL_OF_THEM = (
    "give the kernel more registers",
    "it has all that a thread can have: spread a tile over more threads",
)


def find(facts: Facts) -> Finding | None:
    """Return what spilled registers cost; None where none are spilled, or nobody waits for them."""
    known, every = (
        facts.get("local_spilling_requests"),
        facts.value("local_load_requests") + facts.value("local_store_requests"),
    )
    if known is None and not local_traffic.may_be_spills(facts):
        return None
    spills = every if known is None else known
    saved = local_traffic.cost_ns(facts, spills)
    if saved <= 0.0:
        return None
    share = 100.0 * local_traffic.local_share(facts)
    limit = facts.get("registers") or 0.0
    such = f" with {min(limit, local_traffic.MOST_OF_A_THREAD):.0f} registers a thread" if limit else ""
    kind = f"spills registers{such}" if known is not None else f"uses {local_traffic.KIND_UNKNOWN}{such}"
    more = MORE if limit < local_traffic.MOST_OF_A_THREAD else ALL_OF_THEM
    return Finding(
        rule=ID,
        message=f"{kind}: {share:.0f} % of all sectors are local memory's, and warps wait for them",
        saved_ns=saved,
        evidence=("local_spilling_requests", "local_load_sectors", "local_store_sectors", "registers"),
        relieves=local_traffic.relieved(facts),
        stalls=local_traffic.WAITS,
        assumed=known is None,
        advice=f"{more}, unroll less, or hold a smaller tile a thread",
    )
