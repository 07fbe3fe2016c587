"""The busiest unit is near its ceiling, or takes most of the time, and no other rule names a cause.

What the hardware does: the busiest unit sets the least time of its work. Near its ceiling only less work for this unit
helps: more warps, fewer stalls and faster other units do not.

Why it costs time: no rule knows a cause. The distance to the ceiling is what perfect overlap could still win.

What to try: give this unit less to do: for DRAM and L2 fewer bytes, for L1 more reuse in registers, for a pipe or the
issue slots fewer instructions for the same result. If the FMA pipe is full and its products and sums were not counted
(`--set basic`), see whether both are one instruction. For a matrix product on the FMA pipe, use the tensor cores if its
accuracy allows it. If the unit takes the time, stopping is an answer too: this work is near its ceiling, and only an
algorithm with less of it is faster. Further away the same work may still be done faster, if the unit waits less: the
finding then says what warps wait for as well, as `unexplained` does of kernels that are further away still.

When it is reported: the unit is at two thirds or more of what it can reach. That is 60 % of its peak, below which
NVIDIA's own speed-of-light rule calls a kernel bound by latency. No rule with a cause names this unit, and the kernel
is not done. Below 80 % of what the unit can reach, it is not reported if most warps wait for something that has nothing
to do with it: instructions, other warps, sleep. From 80 % of what the unit can reach (88 % for DRAM) it comes first: a
finding that takes no work off the unit could win next to nothing. What a unit can reach is measured (`ncu-assist
ceilings`), or nine tenths of its peak, *assumed*. Without counters of single units, the finding names the busier of the
two throughputs, memory or SM as a whole. If ncu then calls a cache busier, the finding says so in place of how much
could be saved: part of what ncu counts there does not limit a kernel, part does.

How the saving is estimated: it is not.
"""

from __future__ import annotations

from ncu_assist.ncu.catalogue.stalls import STALL_REASONS
from ncu_assist.quantity import percent
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.pipes import FMA, ISSUE
from ncu_assist.rules.model.resources import DRAM_ROWS, MEMORY, NEARLY, RESOURCES, Resource, verb
from ncu_assist.rules.model.savings import Busiest, busiest_unit, loads, takes_the_time, uncounted_caches
from ncu_assist.rules.unexplained import cache_doubt, waits

ID = "near-ceiling"
NEEDS: tuple[str, ...] = ()
USES: tuple[str, ...] = ()
LINK_EVIDENCE = "host_bytes"
# Stall reasons that no unit of RESOURCES is behind (Nsight Compute, Kernel Profiling Guide, "Warp Stall Reasons").
STANDING_STILL = ("no_instruction", "branch_resolving", "barrier", "membar", "sleeping")
READY = "not_selected"  # the stall reason of a warp that could issue: it waits for nothing
MOST = 50.0  # percent of all warp states
LEAST_SAID = 0.005  # of the time: less would be said as 0 %
FEWER = "do the same with fewer instructions"
FLOATS = ("fp32_add_per_cycle", "fp32_mul_per_cycle", "fp32_fma_per_cycle")
# With these counted `pipe-bound` says it. Full of pairs apart, the FMA pipe or the issue slots are the busiest unit.
PAIRS = "see whether products and sums are one instruction (fmaf, no -fmad=false), which the report does not count"
IDLE_PERCENT = 1.0  # of the time that tensor cores work: less is some helper's
LESS_BYTES = "move fewer bytes"
LESS = {
    DRAM_ROWS: "read whole lines of 128 bytes where you read, or sort the accesses",
    "DRAM": LESS_BYTES,
    "L2": "reuse fetched data while it is on the chip",
    "L1": "keep reused values in registers",
    "SM": FEWER,
}
COUNT = "but see first which part of it is busy: ncu --set full"
STOP, OVERLAP = "or stop here", "or keep this unit busy: start its work earlier, and do the rest meanwhile"


def find(facts: Facts) -> Finding | None:
    """Return which unit is near its ceiling and how far from it; None where all are far, or none was counted."""
    busiest = busiest_unit(facts)
    if busiest is None or not busiest.is_busy or (_stands_still(facts) and not busiest.takes_the_time):
        return None
    resource = RESOURCES.get(busiest.name)
    top = next(iter(facts.combined.stalls.items()), None)
    top = None if busiest.takes_the_time or (top and top[0] == READY) else top
    return Finding(
        rule=ID,
        message=f"{busiest.name} {verb(busiest.name)} busy {percent(busiest.share)} of the time{busiest.where}, "
        f"{_distance(facts, busiest, top)}",
        saved_ns=0.0,
        evidence=(
            resource.busy if resource and resource.busy else LINK_EVIDENCE,
            *((f"warps_{top[0]}",) if top and top[0] in STALL_REASONS else ()),
        ),
        relieves=(busiest.name,),
        unless_known=True,
        detail={"unit": busiest.name},
        assumed=facts.ceilings is None,
        advice=_advice(facts, busiest, resource),
    )


def _distance(facts: Facts, busiest: Busiest, top: tuple[str, float] | None) -> str:
    """Return how far the unit is from what it can reach; and what warps wait for where its work is not all of the time.

    ``top`` is the first stall reason and its share in percent; None where they wait for nothing.
    """
    reached = busiest.reached
    left = 1.0 - reached
    part = _part(facts, busiest)
    of_part = f"; of its parts ncu calls {part[0]} the busiest, {percent(part[1])}" if part else ""
    if left < LEAST_SAID:
        return f"which is all that it can reach: only with less work for it the kernel takes less time{of_part}"
    if busiest.takes_the_time:
        return (
            f"{percent(reached)} of what it can reach: unless it gets less work, at most {percent(left)} of the time "
            f"can be saved{of_part}"
        )
    said = f"; {waits(top, bool(facts.get('pipe_tensor_gmma')))}" if top else ""
    if doubt := cache_doubt(facts, busiest):
        return f"{percent(reached)} of what it can reach{doubt}{said}"
    return (
        f"{percent(reached)} of what it can reach: at most {percent(left)} of the time can be saved if it waits less, "
        f"more only if it gets less work{said}"
    )


def _part(facts: Facts, busiest: Busiest) -> tuple[str, float] | None:
    """Return the cache that memory is probably busy with, of which no part was counted, and ncu's share of it."""
    found = [one for one in uncounted_caches(facts) if one[1] >= NEARLY * busiest.share]
    return max(found, key=lambda one: one[1], default=None) if busiest.name == MEMORY.name else None


def _advice(facts: Facts, busiest: Busiest, resource: Resource | None) -> str:
    """Return what to do less of; a pipe of products is not the last word where the tensor cores stand idle."""
    idle = facts.get("pipe_tensor_cycles")
    is_full = busiest.name in (FMA, ISSUE) and takes_the_time(FMA, loads(facts)[FMA])
    may_be_pairs = is_full and facts.lacks(*FLOATS)
    fewer = f"{FEWER}: {PAIRS}" if may_be_pairs else FEWER
    if busiest.name == FMA and idle is not None and idle < IDLE_PERCENT:
        return f"{fewer}; for a matrix product use the tensor cores, which are idle, if its accuracy allows it"
    if may_be_pairs:
        return fewer
    part = _part(facts, busiest)
    group = part[0] if part else resource.group if resource else ""
    instead = COUNT if resource and resource.is_coarse else STOP if busiest.takes_the_time else OVERLAP
    return f"{LESS.get(busiest.name, LESS.get(group, LESS_BYTES))}, {instead}"


def _stands_still(facts: Facts) -> bool:
    return sum(facts.stall(reason) for reason in STANDING_STILL) > MOST
