"""The kernel waits for DRAM but asks for too little at a time.

What the hardware does: a load from DRAM takes most of a microsecond. To stay busy, DRAM needs enough requests in
flight: about 32 KiB an SM on an H100, 48 KiB on an H200 (NVIDIA's own tuning constant in CCCL). With fewer, DRAM waits
between requests while the warps wait for DRAM.

Why it costs time: by Little's law the rate is the bytes in flight over the latency. Half the bytes, half the rate.

What to try: more bytes a thread before the first is used: vector loads of 16 bytes, several independent loads in an
unrolled loop, cp.async or TMA into shared memory a few stages ahead. More warps also help if the SM has room.

When it is reported: waits for loads are the first stall reason, and nearly all that L1 misses comes from DRAM. DRAM is
at least a tenth below what it can reach. It is the busiest unit, or every other unit is below 60 %. Loads are
coalesced. Each warp has a smaller part of its share of the needed bytes in flight than the SM has of its warps;
otherwise warps are missing, and that is `low-occupancy`.

The bytes shown are a lower bound. A warp that waits counts with one request, however many it has in flight. A warp that
works while it loads does not count. By Little's law at least DRAM's read rate times the shortest latency of a load is
in flight. Kernels with one load a warp in the fault gallery show 454 to 590 ns on an H200 and an H100, at half of
DRAM's rate. The rule takes 270 ns, 0.6 of the quickest, because warps may work while they load. If the counter shows
fewer bytes than that, it misses most loads (several a warp, `cp.async`, TMA).

Then an upper bound decides: an SM's warps times what a warp reads from L2 in its whole life, by whatever means. If even
that is too little (threads that load once and end), the finding is reported. In a loop a life is long, and the bound
says nothing. The bound assumes that all warps are alike. It is too low if many end at once, so it only counts if it
allows the rate that DRAM has.

Bulk copies and TMA, which one thread issues, are in neither count. If they bring most of what SMs read, nothing queues
and warps still wait, Little's law alone decides: the bytes in flight give this part of DRAM's rate, however many warps
there are. More or larger stages are missing.

If the bytes shown would give twice the rate that DRAM has, the loads wait for something in front of DRAM, such as
atomics that L2 adds up one by one. More loads would only queue there, and nothing is reported.

How the saving is estimated: the time that warps wait for loads, times what DRAM lacks to its ceiling. How many times as
many bytes it takes is said as *at least* what DRAM's rate lacks, because latency grows when DRAM is busier. If the
bytes shown ask for less than that, they say *about* how many.
"""

from __future__ import annotations

from ncu_assist.ceilings.chips import LANES, SCHEDULERS, SECTOR_BYTES
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.dram import fill, reach
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.savings import BUSY, busiest_unit, loads, worth_saying
from ncu_assist.rules.model.traffic import come_by_copies, is_coalesced, is_widest

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
SEVERAL = "several values before the first is used"
STAGES = "ask for the next pieces while one is used: more stages in shared memory, or larger ones"
# What is read once comes wholly from DRAM; below three quarters a cache answers the rest, and latency is another one.
FROM_DRAM = 0.75
# Of DRAM's limit. What arrives in a second is what is under way over the latency: so close to its limit DRAM has nearly
# enough under way, and counters that give a lower bound cannot tell what little is missing.
CLOSE = 0.1
HELD_UP = 0.5  # of the rate that the bytes shown must bring by Little's law; a factor of two is room for SMs that rest
KILO = 1000.0  # one unit for both, with two digits: what is under way is a bound, not a count
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
    bound, what = "least" if is_counted else "most", "copies" if are_copies else "loads"
    return Finding(
        rule=ID,
        message=f"warps wait for DRAM with {what} of at {bound} {under_way / KILO:.2g} kB under way on an SM"
        + (f", where {needed / KILO:.0f} kB fill it" if needed else ""),
        saved_ns=saved,
        evidence=EVIDENCE if is_counted else (*EVIDENCE, *OF_MOST),
        stalls=(WAIT,),
        assumed=reach(facts).assumed or needed is None,
        advice=STAGES if are_copies else _advice(facts),
        figures="" if are_copies or not (needed and under_way) else _times(needed / under_way, facts),
    )


def _advice(facts: Facts) -> str:
    return f"load {SEVERAL}" if is_widest("load", facts) else f"load 16 bytes at a time, or {SEVERAL}"


def _times(lacking: float, facts: Facts) -> str:
    """Return how many times as much must be under way, in words.

    By Little's law at least what DRAM's rate lacks: a load takes longer, not shorter, when DRAM is busier.
    """
    by_rate = 1.0 / fill(facts)
    if by_rate < lacking:
        return f"at least {by_rate:.2f} times as many bytes at once, by the rate of DRAM"
    return f"about {lacking:.1f} times as many bytes at once"


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
