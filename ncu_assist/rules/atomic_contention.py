"""The kernel serialises on atomics in global or shared memory.

What the hardware does: atomics on one address run one after the other. For global memory, the slice of L2 that holds
the address does one every few cycles. For shared memory they run lane by lane. Float atomics there are compare-and-swap
loops, and each lane that loses tries again.

Why it costs time: everything else is idle. Warps wait for the old value, for room in the queue or, at their end, for
their last atomics to arrive. In shared memory each further lane on an address costs one more wavefront.

What to try: add up first in registers, then over a warp (`__reduce_add_sync`, shuffles, one atomic for all lanes of
`__match_any_sync`), then over a block in shared memory, and do one atomic at the end. Keep several copies of hot
addresses. Reserve places in a list for a whole warp at once.

When it is reported: atomics cost at least 1 % of the time.

How the saving is estimated: for global memory, from the warps' waits for memory. Waits in the queue behind it count if
the units that the queue leads to are idle, in proportion. Only the part of a wait beyond 1.5 µs a request counts. In
coalesced kernels at DRAM's ceiling warps wait 0.7 to 1.5 µs on an H200, below the ceiling up to 0.5 µs. If most of the
wait is beyond 1.5 µs, atomics that are added up first do not wait at all. What remains is the normal wait of loads at
this load of DRAM: 0.5 µs if DRAM is idle. The saving is at most the time of all atomics on one address, at 2.5 cycles
of L2 each (four counters of the fault gallery on an H200). On a GPU that was not measured both figures are *assumed*.

For shared memory, the saving is the time of the wavefronts that atomics repeat in the data pipe. For a loop of
compare-and-swap it is the share of the warps' waits for shared memory that belongs to atomics and the loads before
them. Such a loop has about one load for each atomic (between half and twice as many). The time that DRAM needs for its
bytes limits the saving.
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
