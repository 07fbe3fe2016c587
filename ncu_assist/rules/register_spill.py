"""The kernel spills registers to local memory.

What the hardware does: a thread has at most 255 registers, or fewer if `__launch_bounds__`, `__maxnreg__` or
`-maxrregcount` ask for more warps. Values that do not fit are stored to local memory, which is in DRAM behind L1 and
L2, and loaded again.

Why it costs time: every spilled value costs each warp two more memory instructions. Stores always go through to L2.
Loads come from L1 only while the spills of all threads fit into it.

What to try: give the kernel more registers (a larger limit, smaller blocks in `__launch_bounds__`; a block of 1,024
threads leaves 64 for each), unroll less, keep
fewer values alive, hold a smaller tile a thread, move rarely used values to shared memory.

When it is reported: spills cost at least 1 % of the time. A repeated launch varies by that much. Spills are counted by
`derived__local_spilling_requests`, apart from other local memory. If the report does not count spills apart from
arrays, local memory counts as spills if a thread has all the registers that it can have, *assumed*.

How the saving is estimated: the larger of two times. One is the time in which schedulers issue nothing because warps
wait for memory, times local memory's part of all sectors. The other is local memory's part of the work of L1 or L2, if
one of them is 72 % busy, or of DRAM, if that is the busiest unit and too busy for waiting alone to explain the time
(60 % of what a unit can do, Nsight Compute's SOLBottleneck). DRAM moves at least those bytes for local memory that are
more than all other sectors that L1 asks L2 for. If warp states were counted, DRAM's part is at most the time in which
schedulers issue nothing because warps wait for memory, or at a barrier for those that do: beside a DRAM that is 67 %
busy, a kernel whose warps mostly queue for its pipes wins little.
"""

from __future__ import annotations

from ncu_assist.rules.base import Finding
from ncu_assist.rules.model import local_traffic
from ncu_assist.rules.model.facts import Facts

ID = "register-spill"
NEEDS: tuple[str, ...] = local_traffic.NEEDS
USES: tuple[str, ...] = local_traffic.USES
MORE, SMALLER, ALL_OF_THEM = (
    "give the kernel more registers",
    "use smaller blocks, so that a thread can have more registers",
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
    unknown = local_traffic.KIND_UNKNOWN.replace(",", f"{such},", 1)
    kind = f"spills registers{such}:" if known is not None else f"uses {unknown};"
    more = MORE if limit < local_traffic.most_registers(facts) else SMALLER
    if limit >= local_traffic.MOST_OF_A_THREAD:
        more = ALL_OF_THEM
    return Finding(
        rule=ID,
        message=f"{kind} {share:.0f} % of all sectors are local memory's, {local_traffic.takes_time(facts)}",
        saved_ns=saved,
        evidence=("local_spilling_requests", "local_load_sectors", "local_store_sectors", "registers"),
        relieves=local_traffic.relieved(facts),
        stalls=local_traffic.WAITS,
        assumed=known is None,
        advice=f"{more}, unroll less, or hold a smaller tile a thread",
    )
