"""L2 is at its limit: it has the data that is asked for, but cannot deliver it faster.

What the hardware does: L2 is between all SMs and DRAM and delivers about twice what DRAM can. Data that does not fit in
an SM's L1 but fits in L2 comes at that rate, however often it is asked for.

Why it costs time: when L2 is the busiest unit and DRAM is nearly idle, the time is proportional to the sectors that the
SMs ask L2 for, not to the size of the data.

What to try: use fetched data more often before it is dropped. Let a block keep its part in shared memory or registers
and do all work on it there; use bigger tiles, so that fewer blocks read the same data; merge sweeps over a table into
one; share through distributed shared memory in thread-block clusters; use smaller types.

When it is reported: a part of L2 is the busiest unit, at 60 % or more (below that NVIDIA's own speed-of-light rule
calls a kernel bound by latency), at least half of the sectors hit, and coalesced global loads and stores are most of
the sectors. Spills, atomics and wasted sectors have rules of their own. Without counts of sectors and hits, it is
reported if a part of L2 takes the time, at 80 % of what it can reach.

How the saving is estimated: the time of the sectors that hit, because some block has fetched each of them before. L1,
which would serve them instead, limits the saving. Without counts of sectors and hits the saving is half of the work,
*assumed*.
"""

from __future__ import annotations

from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.pipes import L2_PARTS
from ncu_assist.rules.model.savings import UNKNOWN_PART, assumes_start, bound_at, filled_by, saved_ns, worth_saying
from ncu_assist.rules.model.traffic import wasted_by_loads, wasted_by_stores

ID = "l2-bound"
NEEDS: tuple[str, ...] = ("l2_busy",)
OF_ACCESSES: tuple[str, ...] = ("l2_hit_rate", "l2_sectors_sm", "l1_hit_rate_load", "global_load_sectors")
USES: tuple[str, ...] = (
    *OF_ACCESSES,
    "dram_throughput",
    "dram_bytes_read",
    "dram_bytes_write",
    "global_sectors_excessive",
)
EVIDENCE = ("l2_busy", "l2_hit_rate", "l2_rate", "dram_throughput", "l1_hit_rate_load")
MOST = 0.5
STALLS = ("long_scoreboard", "lg_throttle")
ADVICE = "let a block keep its part in shared memory or registers, or use bigger tiles"


def find(facts: Facts) -> Finding | None:
    """Return what it costs to ask L2 for the same data again."""
    if facts.lacks(*OF_ACCESSES):
        return _full(facts)
    share, own, hits = bound_at(L2_PARTS, facts), _share_of_accesses(facts), facts.value("l2_hit_rate") / 100.0
    if share is None or min(own, hits) < MOST:
        return None
    left = dict.fromkeys(L2_PARTS, 1.0 - own * hits)
    saved = worth_saying(saved_ns(facts, left), facts)
    if not saved:
        return None
    return Finding(
        rule=ID,
        message=f"L2 is {100 * share:.0f} % busy with data that it already has: {100 * hits:.0f} % of the sectors hit",
        saved_ns=saved,
        evidence=EVIDENCE,
        relieves=L2_PARTS,
        left=left,
        stalls=STALLS,
        assumed=assumes_start(facts),
        advice=ADVICE,
    )


def _full(facts: Facts) -> Finding | None:
    """Return that L2 takes the time, where what it does was not counted."""
    busiest = filled_by(L2_PARTS, facts)
    if busiest is None:
        return None
    return Finding(
        rule=ID,
        message=f"{busiest.name} is {100 * busiest.share:.0f} % busy: with scattered accesses or too little reuse, "
        "which was not counted",
        saved_ns=saved_ns(facts, dict.fromkeys(L2_PARTS, UNKNOWN_PART)),
        evidence=EVIDENCE,
        relieves=L2_PARTS,
        stalls=STALLS,
        unless_known=True,
        assumed=True,
        advice=ADVICE,
    )


def _share_of_accesses(facts: Facts) -> float:
    """Return the share of global loads and stores, without waste, in what SMs asked L2 for."""
    missed = facts.value("global_load_sectors") * (1.0 - facts.value("l1_hit_rate_load") / 100.0)
    stored = facts.value("global_store_sectors")
    wasted = wasted_by_loads(facts).l2 + wasted_by_stores(facts).l2
    asked = facts.value("l2_sectors_sm")
    return min(1.0, max(0.0, missed + stored - wasted) / asked) if asked else 0.0
