"""The kernel waits for DRAM, but asks it for too little at a time.

What the hardware does: a load from DRAM takes the better part of a microsecond. To be busy all that time, DRAM must
have enough requests under way: about 32 KiB an SM on an H100, 48 KiB on an H200 (NVIDIA's own tuning constant in
CCCL). With fewer, it waits between requests, while the warps wait for it.

Why it costs time: by Little's law the rate is the bytes under way over the latency. Half the bytes, half the rate.

What to try: more bytes a thread before the first is used: vector loads of 16 bytes, several independent loads in an
unrolled loop, cp.async or TMA into shared memory a few stages ahead. More warps help as well where the SM has room.

How it is told: waits for loads are the first stall reason, nearly all that L1 has not comes from DRAM, which is below
what it can reach, no other unit is busy at 60 % or before DRAM, loads are coalesced, and a warp brings less of its
share of the bytes needed than the SM has of its warps: otherwise warps are what is missing, and `low-occupancy` says
so. The time saved is the waiting, by what DRAM lacks to its ceiling; less than a tenth is not said.

Where the bytes shown would bring twice the rate that DRAM has, it is not DRAM that lets the loads wait, but what stands
before it: atomics that L2 adds up one by one, say. More loads would only queue there as well.

The bytes shown are a lower bound: of a warp that waits one request is counted, however many it has under way, and none
of a warp that works on meanwhile. By Little's law at least the rate of DRAM's reads times the shortest latency of a
load is under way. Kernels with one load a warp in the fault gallery show 454 to 590 ns on an H200 and an H100, at half
of DRAM's rate; 270 ns, 0.6 of the quickest, allow for warps that work on while they load. Where the counter shows less
than that, it misses most loads (several a warp, `cp.async`, TMA).

Then the most that can be under way decides: an SM's warps times what a warp reads from L2 in its whole life, by
whatever means. Where even that is too little (threads that load once and end), it is said; in a loop a life is long,
and the bound tells nothing. It takes all warps to be alike. Where many end at once it is too low, so it only counts
where it allows the rate that DRAM has.

Bulk copies and TMA, which one thread asks for, are in neither count. Where they bring most of what SMs read, nothing
queues anywhere and warps wait all the same, Little's law itself is left: what is under way brings this part of DRAM's
rate and no more, however many warps there are. More stages are missing, or larger ones.
"""

from __future__ import annotations

from ncu_assist.ceilings.chips import LANES, SCHEDULERS, SECTOR_BYTES
from ncu_assist.quantity import quantity
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.dram import fill, reach
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.savings import BUSY, busiest_unit, loads, worth_saying
from ncu_assist.rules.model.traffic import come_by_copies, is_coalesced

ID = "low-bytes-in-flight"
NEEDS: tuple[str, ...] = (
    "bytes_in_flight", "dram_throughput", "dram_bytes_read", "dram_bytes_write", "achieved_occupancy", "max_warps",
    "sectors_per_request_load", "sectors_per_request_load_ideal", "sm_active_share", "global_load_requests",
)  # fmt: skip
USES: tuple[str, ...] = (
    "l1_hit_rate_load", "achieved_warps",
    "l2_sectors_read", "threads", "sm_count", "global_load_sectors", "warps_selected",
)  # fmt: skip
EVIDENCE = ("bytes_in_flight", "dram_throughput", "sectors_per_request_load", "achieved_occupancy")
OF_MOST = ("l2_sectors_read", "threads", "achieved_warps")
WAIT = "long_scoreboard"
ADVICE = "load 16 bytes at a time, or several values before the first is used"
STAGES = "ask for the next pieces while one is used: more stages in shared memory, or larger ones"
# What is read once comes wholly from DRAM; below three quarters a cache answers the rest, and latency is another one.
FROM_DRAM = 0.75
# Of DRAM's limit. What arrives in a second is what is under way over the latency: so close to its limit DRAM has nearly
# enough under way, and counters that give a lower bound cannot tell what little is missing.
CLOSE = 0.1
HELD_UP = 0.5  # of the rate that the bytes shown must bring by Little's law; a factor of two is room for SMs that rest
LATENCY_NS = 270.0  # of a load from DRAM that does not queue, with a margin (above)


def find(facts: Facts) -> Finding | None:
    """Return what it costs that DRAM is asked for too little at a time."""
    needed, is_counted, are_copies = facts.bytes_needed_in_flight, _can_tell(facts), come_by_copies(facts)
    under_way = _counted(facts, needed) if is_counted else _most(facts, needed)
    if under_way is None and are_copies:
        under_way, is_counted = _least(facts), True
    if under_way is None or not _waits_for_dram(facts) or _is_held_up(facts, needed):
        return None
    lacking = 1.0 - fill(facts)
    waiting = facts.stall(WAIT) / 100.0 * facts.value("sm_active_share") / 100.0
    saved = worth_saying(facts.duration_ns * lacking * waiting, facts)
    if lacking < CLOSE or not saved:
        return None
    words = f"at {'least' if is_counted else 'most'} {quantity(under_way, 'byte')}"
    wanted = f", where DRAM needs {quantity(needed, 'byte')}" if needed else ""
    return Finding(
        rule=ID,
        message=f"warps wait for DRAM with {words} of {'copies' if are_copies else 'loads'} under way an SM{wanted}",
        saved_ns=saved,
        evidence=EVIDENCE if is_counted else (*EVIDENCE, *OF_MOST),
        stalls=(WAIT,),
        assumed=reach(facts).assumed or needed is None,
        advice=STAGES if are_copies else ADVICE,
        figures=""
        if are_copies or not (needed and under_way)
        else f"{needed / under_way:.1f} times as many bytes at once",
    )


def _is_held_up(facts: Facts, needed: int | None) -> bool:
    """Return whether loads take so much longer than DRAM does that something before DRAM lets them wait.

    With a part of the bytes that it needs DRAM has at least that part of its rate. Those shown are a lower bound, so
    what is found here is there.
    """
    return needed is not None and fill(facts) < HELD_UP * min(1.0, facts.value("bytes_in_flight") / needed)


def _can_tell(facts: Facts) -> bool:
    """Return whether the counter shows at least the bytes that must be under way for DRAM to read at this rate."""
    return facts.value("bytes_in_flight") >= _least(facts)


def _least(facts: Facts) -> float:
    """Return the bytes that are under way an SM at the rate of DRAM's reads; 0 where that is not known."""
    count, duration = facts.get("sm_count"), facts.duration_ns
    return facts.value("dram_bytes_read") / duration * LATENCY_NS / count if count and duration else 0.0


def _counted(facts: Facts, needed: int | None) -> float | None:
    """Return the bytes that the counter shows, where they are too few and it is not warps that are missing."""
    counted, request = facts.value("bytes_in_flight"), SECTOR_BYTES * facts.value("sectors_per_request_load")
    is_too_little = needed is None or (counted < needed and _lacks_more_than_warps(facts, needed, request))
    return counted if is_too_little else None


def _most(facts: Facts, needed: int | None) -> float | None:
    """Return the bytes that an SM's warps read in their whole life, where they are too few, as above.

    None for a chain as well, whose launches have warps of different lives: each of them is judged alone.
    """
    sectors, threads, warps = (facts.get(key) for key in OF_MOST)
    if not (needed and sectors and threads and warps) or len(facts.combined.launches) > 1:
        return None
    life = SECTOR_BYTES * sectors / (threads / LANES)
    allows_the_rate = life * warps >= _least(facts)
    return life * warps if allows_the_rate and _lacks_more_than_warps(facts, needed, life) else None


def _waits_for_dram(facts: Facts) -> bool:
    missed = 1.0 - (facts.get("l1_hit_rate_load") or 0.0) / 100.0
    loaded = SECTOR_BYTES * facts.value("global_load_requests") * facts.value("sectors_per_request_load") * missed
    limits, busiest = loads(facts), busiest_unit(facts)
    is_waiting = max(load for name, load in limits.items() if name != "DRAM") < BUSY
    return (
        next(iter(facts.combined.stalls), "") == WAIT
        and _are_most(facts)
        and (is_waiting or (busiest is not None and busiest.name == "DRAM"))
        and facts.value("dram_bytes_read") >= FROM_DRAM * loaded
        and is_coalesced(facts)
    )


def _are_most(facts: Facts) -> bool:
    """Return whether global loads are most of what warps can wait for at DRAM: no atomics, no local memory."""
    others = ("global_atomic_requests", "local_load_requests")
    return facts.value("global_load_requests") >= sum(facts.get(key) or 0.0 for key in others)


def _lacks_more_than_warps(facts: Facts, needed: int, of_warp: float) -> bool:
    """Return whether what a warp asks for lacks more of its part of the bytes needed than the SM lacks of its warps."""
    part = needed / (SCHEDULERS * max(1.0, facts.value("max_warps")))
    return of_warp / part < facts.value("achieved_occupancy") / 100.0
