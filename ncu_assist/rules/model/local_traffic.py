"""What local memory costs: its part of warps' waits, or of the work of the busiest memory unit."""

from __future__ import annotations

from ncu_assist.ceilings.chips import SECTOR_BYTES, WAVEFRONT_BYTES
from ncu_assist.rules.model.dram import moved_bytes
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.pipes import BINDS, ISSUE, L1_PARTS, L2_PARTS, LSU, while_active
from ncu_assist.rules.model.savings import NOTICEABLE, busiest_unit
from ncu_assist.rules.model.traffic import cycles_a_wavefront

NEEDS: tuple[str, ...] = (
    "local_load_requests",
    "local_store_requests",
    "local_load_sectors",
    "local_store_sectors",
    "global_load_sectors",
    "global_store_sectors",
)
USES: tuple[str, ...] = ("local_spilling_requests", "no_eligible", "warps_selected")
WAITS = ("long_scoreboard", "lg_throttle")  # for local and global memory alike: they go through one queue
FOR_OTHERS = ("barrier", "membar", "lg_throttle", "long_scoreboard")  # and for warps that wait on memory
READY = "not_selected"  # could issue, another warp did
MOST_OF_A_THREAD = 255  # registers; one of 256 is for the hardware (CUDA Programming Guide, "Compute Capabilities")
REGISTERS_OF_A_BLOCK, UNIT = 1 << 16, 8  # at most, and by how many a thread gets them (the same table)
KIND_UNKNOWN = "local memory, spills or an array: the report does not say which"
QUEUED = "warps"  # that wait for local memory, or issue its instructions
MOST = 0.5  # of all sectors: then what L2 and DRAM do is done for local memory


def local_share(facts: Facts) -> float:
    """Return the part of all sectors of local and global memory that is local memory's, 0 to 1."""
    local = facts.value("local_load_sectors") + facts.value("local_store_sectors")
    every = local + facts.value("global_load_sectors") + facts.value("global_store_sectors")
    return local / every if every else 0.0


def may_be_spills(facts: Facts) -> bool:
    """Return whether local memory whose kind was not counted is more likely of spills: a thread has all its registers.

    A compiler spills when it runs out of them; with registers to spare it is an array that keeps out of them.
    """
    return (facts.get("registers") or 0.0) >= most_registers(facts)


def most_registers(facts: Facts) -> float:
    """Return how many registers a thread of such a block can have."""
    block = max(1.0, facts.get("block_size") or 1.0)
    return min(MOST_OF_A_THREAD, REGISTERS_OF_A_BLOCK / block // UNIT * UNIT)


def cost_ns(facts: Facts, requests: float, instructions: float = 1) -> float:
    """Return the time that so many local requests cost, each with ``instructions``; 0 if less than could be noticed.

    Warps that wait on memory wait on local memory as often as its sectors are among all; that is lost only while no
    other warp has anything to issue. A unit at its limit takes as long as its work, and that falls by local memory's
    part. The larger of both counts. Each access takes issue slots, too, and so does its address where that has to be
    worked out.
    """
    every = facts.value("local_load_requests") + facts.value("local_store_requests")
    part = min(1.0, requests / every) if every else 0.0
    share = min(1.0, max(_shares(facts, instructions).values())) * part
    return share * facts.duration_ns if share >= NOTICEABLE else 0.0


def takes_time(facts: Facts) -> str:
    """Return through what local memory takes the time that ``cost_ns`` says, the larger part of it, in words."""
    shares = _shares(facts)
    by = max(shares, key=lambda one: shares[one])
    if by != QUEUED:
        return f"and {by} is busy with them"
    is_waited_for = _waited(facts) >= shares[QUEUED] - _waited(facts)
    return "and warps wait for them" if is_waited_for else "and their instructions take issue slots"


def _shares(facts: Facts, instructions: float = 1) -> dict[str, float]:
    """Return the part of the time that local memory takes by what it keeps busy, and through warps that wait on it."""
    every = facts.value("local_load_requests") + facts.value("local_store_requests")
    return {
        QUEUED: _waited(facts) + _issue_share(facts, instructions * every),
        "L1": _l1_share(facts),
        "L2": _l2_share(facts),
        "DRAM": _dram_share(facts),
    }


def _waited(facts: Facts) -> float:
    return _wait_share(facts) * local_share(facts)


def _wait_share(facts: Facts, reasons: tuple[str, ...] = WAITS) -> float:
    """Return the part of the time in which schedulers issue nothing because warps wait on local or global memory."""
    waiting = {reason: share for reason, share in facts.combined.stalls.items() if reason != READY}
    every = sum(waiting.values())
    idle = 1.0 - while_active(facts, ISSUE) if facts.lacks("no_eligible") else facts.value("no_eligible") / 100.0
    return idle * sum(waiting.get(reason, 0.0) for reason in reasons) / every if every else 0.0


def _issue_share(facts: Facts, instructions: float) -> float:
    """Return the part of the time in which schedulers issue so many instructions."""
    every = facts.get("instructions")
    return while_active(facts, ISSUE) * min(1.0, instructions / every) if every else 0.0


def _l1_share(facts: Facts) -> float:
    """Return the part of the time in which the data pipe of L1 handles local memory: four sectors a cycle at best."""
    count, cycles = facts.get("sm_count"), facts.get("sm_cycles_elapsed")
    if (facts.get("l1_data_busy") or 0.0) < 100.0 * BINDS:
        return 0.0
    sectors = facts.value("local_load_sectors") + facts.value("local_store_sectors")
    busy = sectors * SECTOR_BYTES / WAVEFRONT_BYTES * cycles_a_wavefront(facts)
    return min(1.0, busy / (count * cycles)) if count and cycles else 0.0


def _l2_share(facts: Facts) -> float:
    """Return the part of the time in which L2 handles local memory: all stores, and the loads that L1 has not."""
    every, busy = facts.get("l2_sectors_sm"), (facts.get("l2_busy") or 0.0) / 100.0
    return min(1.0, _sectors_beyond_l1(facts) / every) * busy if every and busy >= BINDS else 0.0


def _dram_share(facts: Facts) -> float:
    """Return the part of the time in which DRAM moves local memory; 0 where it is not what the time goes with.

    That is at least what it moved beyond all that L2 was asked for otherwise: not even of those did each come from it.
    No more than the time in which schedulers issue nothing for it: because warps wait on memory, or for those that do.
    """
    busiest, moved = busiest_unit(facts), moved_bytes(facts)
    if busiest is None or busiest.name != "DRAM" or not busiest.is_busy or not moved:
        return 0.0
    every = facts.get("l2_sectors_sm")
    others = facts.value("global_load_sectors") + facts.value("global_store_sectors")
    if every is not None:
        others = max(0.0, every - _sectors_beyond_l1(facts))
    waited = _wait_share(facts, FOR_OTHERS) if facts.combined.stalls else 1.0
    return min(1.0, busiest.load, waited) * max(0.0, 1.0 - SECTOR_BYTES * others / moved)


def relieved(facts: Facts) -> tuple[str, ...]:
    """Return the resources that do less without local memory."""
    return (*L1_PARTS, LSU, ISSUE, *((*L2_PARTS, "DRAM") if _share_beyond_l1(facts) > MOST else ()))


def _share_beyond_l1(facts: Facts) -> float:
    """Return local memory's part of what L1 asks L2 for, 0 to 1; of all sectors where that was not counted."""
    every = facts.get("l2_sectors_sm")
    return min(1.0, _sectors_beyond_l1(facts) / every) if every else local_share(facts)


def _sectors_beyond_l1(facts: Facts) -> float:
    missed = 1.0 - (facts.get("local_hit_rate_load") or 0.0) / 100.0
    return facts.value("local_load_sectors") * missed + facts.value("local_store_sectors")
