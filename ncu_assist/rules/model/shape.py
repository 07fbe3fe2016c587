"""What rules on the shape of a launch share: idle multiprocessors, uncovered waits, room that other limits leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ncu_assist.ceilings.chips import LANES
from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.resources import (
    HOST_LINK,
    MEMORY,
    NEARLY,
    PARTS,
    RESOURCES,
    SM,
    SM_PARTS,
)
from ncu_assist.rules.model.savings import (
    BUSY,
    ON_EACH_SM,
    REACHABLE,
    START_NS,
    filled,
    loads,
    sms_a_block,
    takes_from,
    takes_the_time,
    uncounted_caches,
)

# "Below 60 % of both compute throughput and memory bandwidth typically indicates latency issues": Nsight Compute's rule
# SOLBottleneck.
LATENCY_BELOW = 0.6
# States in which a warp waits for its own earlier instruction, so that another warp could issue meanwhile. Not among
# them: queues and pipes that are full (throttles, not_selected), and waits for other warps or fences.
COVERABLE = ("long_scoreboard", "short_scoreboard", "wait", "branch_resolving", "no_instruction", "imc_miss")
# Of a rule that holds uneven_share against uneven_by_grid and chip_room.
UNEVEN_USES = (
    "grid_size", "sm_count", "dram_throughput", "sm_cycles_active", "sm_cycles_active_max", "sm_cycles_elapsed",
)  # fmt: skip
# Of the time that the mean multiprocessor rests in kernels with equal blocks: at most 0.056 in those at their limit,
# 0.092 in `occupancy_registers_fix` of 21 us (the fault gallery, tuned and blind part, on an H200 and an H100).
EVEN_RESTS = 0.10
# Of the warps that equal blocks would keep running: where warps do the same and some are served first, up to 0.45 of
# them end early on average (the fault gallery on an H200: `constant_same_for_all`, `pipe_xu_sines`).
EVEN_ENDS = 0.5
# From the end of a block to the first instruction of the next in its place: 180 to 430 cycles in kernels of short equal
# blocks, on 7.5, 8.6, 8.9 and 9.0 (docs/sources.md, Starts of blocks).
BLOCK_START_CYCLES = 400.0
ISSUE_SLOTS = RESOURCES["instruction issue"]
CHIP_WIDE = (*(one.name for one in PARTS if one.group in ("DRAM", "L2")), HOST_LINK)


def of_each_shape(find: Callable[[Facts], Finding | None], facts: Facts) -> Finding | None:
    """Return what a rule finds of launches of one shape; of several shapes what costs most, with the time of all.

    The finding names the launches of that shape, which its message and evidence are of.
    Grids and limits of different kernels must not be mixed: the blocks of one and the idle time of another say nothing.
    """
    if len(facts.by_shape) < 2:
        return find(facts)
    parts = ((part.combined.launches, find(part)) for part in facts.by_shape)
    found = [(own, one) for own, one in parts if one]
    if not found:
        return None
    own, worst = max(found, key=lambda pair: pair[1].saved_ns)
    total, most = sum(one.saved_ns for _, one in found), sum(one.most_ns for _, one in found)
    elsewhere, launches = sum(len(some) for some, _ in found) - len(own), tuple(one.index for one in own)
    return replace(worst, saved_ns=total, whole_ns=most, launches=launches, elsewhere=elsewhere)


def warps_a_block(facts: Facts) -> float:
    """Return the warps of a block; one that is not full counts."""
    return -(-facts.value("block_size") // LANES)


def block_words(facts: Facts) -> str:
    """Return how many threads a block has, in words."""
    threads = facts.value("block_size")
    return "a single thread" if threads == 1 else f"{threads:.0f} threads"


def working_share(facts: Facts) -> float:
    """Return the part of the time in which at least one multiprocessor had a warp, 0 to 1; 1 where not counted.

    Where the longest was not counted, a single block tells: its multiprocessor has all cycles that the mean is of.
    """
    longest, elapsed = facts.get("sm_cycles_active_max"), facts.get("sm_cycles_elapsed")
    if longest and elapsed:
        return min(1.0, longest / elapsed)
    return with_a_block(facts) if facts.get("grid_size") == 1 else 1.0


def used_share(facts: Facts) -> float:
    """Return the part of the multiprocessors that get a block, 0 to 1; 1 where not known."""
    blocks, count = facts.get("grid_size"), facts.get("sm_count")
    return min(1.0, blocks / count) if blocks and count else 1.0


def with_a_block(facts: Facts) -> float:
    """Return the part of the time in which the mean of the multiprocessors that get a block had a warp, 0 to 1.

    1 where that was not counted.
    """
    return min(1.0, working_part(facts) / used_share(facts))


def uncovered_part(facts: Facts) -> float:
    """Return which part of the waits is for latency, so that other warps could cover it, 0 to 1.

    All of them while no unit is at BUSY of what it can reach, looked at while multiprocessors had a warp; none once one
    takes the time: then warps queue for it. In between it falls evenly, as the queue grows.
    """
    return min((_not_queued(name, load) for name, load in _loads_at_work(facts)), default=1.0)


def _not_queued(name: str, load: float) -> float:
    full = takes_from(name)
    return max(0.0, min(1.0, (full - load) / (full - BUSY)))


def has_room(facts: Facts) -> bool:
    """Tell whether no resource takes the time, looked at while multiprocessors had a warp: more blocks could win."""
    return not any(takes_the_time(name, load) for name, load in _loads_at_work(facts))


def _loads_at_work(facts: Facts) -> Iterator[tuple[str, float]]:
    """Yield how busy each unit was, of what it can reach; those of multiprocessors while these had a warp.

    What ncu calls the throughput of the memory or of the SM is said of no known part, unless it is more than each. That
    of a cache stands in where no part of it was counted: it may be as busy as that.
    """
    sms = sms_a_block(facts)
    active, found = min(1.0, sms * working_part(facts)), dict(loads(facts))
    for whole, parts in ((MEMORY, PARTS), (SM, SM_PARTS)):
        if not any(facts.busy(one) >= NEARLY * facts.busy(whole) for one in parts):
            found[whole.name] = facts.busy(whole) / REACHABLE * (sms if whole is SM else 1.0)
    yield from ((name, load / (active if name in ON_EACH_SM else 1.0)) for name, load in found.items())
    yield from ((cache, share / REACHABLE) for cache, share in uncounted_caches(facts))


def coverable_share(facts: Facts) -> float:
    """Return the part of warp states in which another warp could have issued, 0 to 1.

    Where warp states were not counted, the part of the time of working SMs in which schedulers did not issue: an upper
    bound. Where that was not counted either, the part that is left beside the SM's throughput, of which issuing is a
    part; 0 where nothing tells.
    """
    if facts.combined.stalls:
        return sum(facts.stall(reason) for reason in COVERABLE) / 100.0
    issuing = ISSUE_SLOTS if not facts.lacks("issue_slots_busy") else SM
    if issuing is SM and facts.lacks("sm_throughput"):
        return 0.0
    return max(0.0, 1.0 - facts.busy(issuing) / working_part(facts))


def working_part(facts: Facts) -> float:
    """Return the part of the time in which the mean multiprocessor had a warp, 0 to 1; 1 where not counted."""
    return (facts.get("sm_active_share") or 100.0) / 100.0


def chip_room(facts: Facts) -> float:
    """Return what DRAM, L2 and the link to the host could still take, 0 to 1 of what they can reach.

    They serve all multiprocessors: while they are busy, one that has no warp costs nothing, the others get its share.
    """
    taken = filled(facts)
    return max(0.0, 1.0 - max(taken[name] for name in CHIP_WIDE))


def room_beside(facts: Facts, relieved: tuple[str, ...] = ()) -> float:
    """Return the part of the time that the resources but some do not need, at the rate that they can reach, 0 to 1."""
    return max(0.0, 1.0 - max(share for name, share in filled(facts).items() if name not in relieved))


def room_at_work(facts: Facts, relieved: tuple[str, ...] = ()) -> float:
    """Return the part of the time that the resources but some do not need, 0 to 1, as ``room_beside``.

    Those of multiprocessors work only while these have a warp: a fix gives no work to one that rests.
    """
    active = min(1.0, sms_a_block(facts) * working_part(facts))
    needs = ((name, load / (active if name in ON_EACH_SM else 1.0)) for name, load in loads(facts).items())
    return max(0.0, 1.0 - max(need for name, need in needs if name not in relieved))


def uneven_share(facts: Facts) -> float:
    """Return the part of the time that the mean multiprocessor rests while the longest works, 0 to 1.

    Where the longest was not counted, the part that the mean rests but for the start of a kernel: at most so much, as
    none works longer than the kernel takes. 1 where that was not counted either.
    """
    longest, mean, elapsed = (
        facts.get(key) for key in ("sm_cycles_active_max", "sm_cycles_active", "sm_cycles_elapsed")
    )
    if mean is None or not elapsed:
        return 1.0
    if longest is None:
        starting = START_NS / facts.duration_ns if facts.duration_ns else 0.0
        return max(0.0, 1.0 - mean / elapsed - starting)
    return max(0.0, (longest - mean) / elapsed)


def uneven_work(facts: Facts) -> float:
    """Return the part of the time that the mean multiprocessor rests and even blocks do not explain, 0 to 1."""
    waves = facts.value("waves_per_sm")
    ragged_end = 0.5 / waves if waves > 1 else 0.0  # half a block, where blocks follow one another
    return max(0.0, uneven_share(facts) - uneven_by_grid(facts) - max(EVEN_RESTS, ragged_end))


def equal_warps(facts: Facts) -> float:
    """Return how many warps a working multiprocessor would have on average if all took equally long; 0 if not known."""
    waves, blocks, count, fitting = (
        facts.get(key) or 0.0 for key in ("waves_per_sm", "grid_size", "sm_count", "theoretical_warps")
    )
    if not (waves and blocks and count):
        return 0.0
    if waves > 1:
        return fitting * waves / -(-waves // 1)
    return min(fitting, warps_a_block(facts) * blocks / min(blocks, count))


def early_ends(facts: Facts) -> float:
    """Return the part of the warps of equal blocks that do not run on average, and that nothing even explains, 0 to 1.

    Their multiprocessor works on: with a few warps that last longer, or with fewer blocks than should fit. The start of
    the kernel and those of blocks are left out.
    """
    running, equal, cycles = facts.get("achieved_warps"), equal_warps(facts), facts.get("sm_cycles_elapsed")
    if not running or not equal or not cycles or not facts.duration_ns:
        return 0.0
    starts = START_NS * len(facts.combined.launches) / facts.duration_ns
    if facts.value("waves_per_sm") > 1:
        starts += BLOCK_START_CYCLES / cycles_a_block(facts, cycles)
    return max(0.0, 1.0 - running / equal - starts - EVEN_ENDS)


def cycles_a_block(facts: Facts, cycles: float) -> float:
    """Return the cycles from the start of a block to that of the next in its place, in a launch of many."""
    at_once = max(1.0, facts.value("theoretical_warps") / warps_a_block(facts))
    return cycles * at_once * facts.value("sm_count") / facts.value("grid_size")


def knows_uneven(facts: Facts) -> bool:
    """Tell whether it was counted how long multiprocessors rested, and what memory did meanwhile."""
    return not facts.lacks("dram_throughput", "sm_cycles_active", "sm_cycles_active_max", "sm_cycles_elapsed")


def uneven_by_grid(facts: Facts) -> float:
    """Return the part of the time that multiprocessors rest because the blocks do not divide evenly, 0 to 1.

    Within one wave every block runs at once: the fullest multiprocessor has ceil(blocks / multiprocessors) of them.
    """
    waves, blocks, count = (facts.value(key) for key in ("waves_per_sm", "grid_size", "sm_count"))
    if waves > 1 or not count:
        return 1.0 - waves / -(-waves // 1) if waves > 0 else 0.0
    return 1.0 - blocks / (count * -(-blocks // count)) if blocks else 0.0
