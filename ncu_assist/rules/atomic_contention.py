"""Serialises on atomics, in global or in shared memory.

Hardware: atomics on one address are carried out one after the other: those on global memory in the slice of L2 that
holds it, every few cycles one; those on shared memory lane by lane, and floats there by compare-and-swap, where whoever
loses tries again.

Cost: everything else is idle. Warps wait for the old value, for room in the queue, or, when they are done, for their
last atomics to arrive; in shared memory each lane of the same address is one more wavefront.

What to try: add up first, in registers, over a warp (`__reduce_add_sync`, shuffles, one atomic for all lanes of
`__match_any_sync`), over a block in shared memory, and then do one atomic; keep several copies of hot addresses; draw
places in a list for a whole warp at once.

Thresholds: waits for memory count, and those in the queue behind it as far as what that leads to rests. A wait counts
beyond 1.5 µs a request, which is what warps of coalesced kernels at DRAM's ceiling wait on an H200 (0.7 to 1.5 µs; up
to 0.5 µs below it). Where that is most of it, atomics that are added up first do not wait at all, and what is left is
the wait of loads that is normal for so busy a DRAM: 0.5 µs where it rests. It counts only as much as all atomics would
take on one address, at 2.5 cycles of L2 each (four counters of the fault gallery on an H200; on a GPU that was not
measured both are *assumed*). In shared memory the time is that of the wavefronts which atomics repeat in the data pipe,
or, for a loop of compare-and-swap, the share of warps' waits for shared memory that atomics and the loads before them
stand for: such a loop has a load for each atomic (between half and twice as many count). DRAM at its rate for so many
bytes is the limit then.
"""

from __future__ import annotations

from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.dram import fill
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.pipes import ISSUE, L1_PARTS, L2_PARTS, LSU, XU, swaps
from ncu_assist.rules.model.resources import L1_DATA
from ncu_assist.rules.model.savings import NOTICEABLE, filled, takes_the_time
from ncu_assist.rules.model.savings import loads as loads_of_units

ID = "atomic-contention"
NEEDS: tuple[str, ...] = (
    "shared_atomics",
    "global_atomic_requests",
    "global_reduction_requests",
    "global_load_requests",
)
USES: tuple[str, ...] = (
    "achieved_warps", "bank_conflicts_atomic", "l2_clock", "l2_sectors_atomic", "l2_sectors_reduction",
    "shared_load_instructions", "sm_active_share", "sm_count", "sm_cycles_elapsed", "warps_selected",
)  # fmt: skip
ADVICE = "add up first in registers, over a warp and over the block, then do one atomic"
NORMAL_WAIT_NS, QUIET_WAIT_NS = 1500.0, 500.0
MOST = 0.5  # of a wait is beyond what is normal
CYCLES_EACH = 2.5  # of L2, for atomics on one address
GLOBAL_WAITS = ("long_scoreboard", "lg_throttle", "drain", "membar")
SHARED_WAITS = ("short_scoreboard", "mio_throttle")


def find(facts: Facts) -> Finding | None:
    """Return what atomics cost that wait for each other; None where there are none or few."""
    found = [one for one in (_global(facts), _shared(facts)) if one.saved_ns >= NOTICEABLE * facts.duration_ns > 0.0]
    return max(found, key=lambda one: one.saved_ns, default=None)


def _global(facts: Facts) -> Finding:
    atomics = facts.value("global_atomic_requests") + facts.value("global_reduction_requests")
    requests = atomics + facts.value("global_load_requests") + (facts.get("local_load_requests") or 0.0)
    waiting = (sum(facts.stall(reason) for reason in GLOBAL_WAITS) + _behind(facts)) / 100.0
    each = _warp_ns(facts) * waiting / requests if requests else 0.0
    beyond = max(0.0, 1.0 - NORMAL_WAIT_NS / each) if each and atomics else 0.0
    if beyond >= MOST:
        normal = QUIET_WAIT_NS + (NORMAL_WAIT_NS - QUIET_WAIT_NS) * min(1.0, fill(facts))
        beyond = 1.0 - min(1.0, normal / each) * (1.0 - atomics / requests)
    kinds = sorted(("atomic", "reduction"), key=lambda kind: -facts.value(f"global_{kind}_requests"))
    return Finding(
        rule=ID,
        message=f"serialises on atomics in global memory: warps wait {each / 1000:.1f} µs for a request",
        saved_ns=min(facts.duration_ns * waiting * beyond, _one_by_one_ns(facts)),
        evidence=(*(f"global_{kind}_requests" for kind in kinds), *(f"l2_sectors_{kind}" for kind in kinds)),
        relieves=(*L1_PARTS, *L2_PARTS, LSU),
        stalls=GLOBAL_WAITS,
        assumed=facts.ceilings is None,
        advice=ADVICE,
    )


def _behind(facts: Facts) -> float:
    """Return the share of warp states, in percent, that wait in the queue which atomics leave an SM by, behind them.

    Shared memory, special functions and special registers are asked for through the same queue. As far as what it
    leads to has work itself, the wait is for that.
    """
    taken = filled(facts)
    return sum(map(facts.stall, SHARED_WAITS)) * (1.0 - max(taken[unit] for unit in (LSU, XU, L1_DATA)))


def _warp_ns(facts: Facts) -> float:
    """Return the time of all warps together; those of an SM are counted while it has any."""
    warps = (facts.get("achieved_warps") or 0.0) * (facts.get("sm_count") or 0.0)
    return warps * (facts.get("sm_active_share") or 0.0) / 100.0 * facts.duration_ns


def _one_by_one_ns(facts: Facts) -> float:
    """Return the time of all global atomics if they were on one address."""
    sectors = (facts.get("l2_sectors_atomic") or 0.0) + (facts.get("l2_sectors_reduction") or 0.0)
    clock = facts.get("l2_clock")
    return 1e9 * CYCLES_EACH * sectors / clock if clock else 0.0


def _shared(facts: Facts) -> Finding:
    share = max(_repeated(facts), _retried(facts))
    atomics = facts.value("shared_atomics")
    repeats = (facts.get("bank_conflicts_atomic") or 0.0) / atomics if atomics else 0.0
    return Finding(
        rule=ID,
        message=f"serialises on atomics in shared memory: {repeats:.1f} repeats an atomic",
        saved_ns=facts.duration_ns * min(share, max(0.0, 1.0 - filled(facts)["DRAM"])),
        evidence=("shared_atomics", "bank_conflicts_atomic", "l1_data_pipe"),
        relieves=(*L1_PARTS, LSU, ISSUE),
        waste="wavefronts_excessive",
        stalls=SHARED_WAITS,
        advice=ADVICE,
    )


def _repeated(facts: Facts) -> float:
    """Return the part of the time in which the data pipe repeats atomics."""
    count, cycles = facts.get("sm_count"), facts.get("sm_cycles_elapsed")
    repeats = facts.get("bank_conflicts_atomic") or 0.0
    return min(1.0, repeats / (count * cycles)) if count and cycles else 0.0


def _retried(facts: Facts) -> float:
    """Return the part of the time that warps wait in loops of compare-and-swap."""
    atomics, loads = facts.value("shared_atomics"), facts.get("shared_load_instructions") or 0.0
    every = atomics + loads + (facts.get("shared_store_instructions") or 0.0)
    if not swaps(facts):
        return 0.0
    is_full = takes_the_time(L1_DATA, loads_of_units(facts)[L1_DATA])  # then all other waits are for it as well
    waits = 1.0 if is_full else sum(facts.stall(reason) for reason in SHARED_WAITS) / 100.0
    return waits * (atomics + min(loads, atomics)) / every
