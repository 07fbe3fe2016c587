"""Too few warps fit on a multiprocessor to hide latency.

What the hardware does: a scheduler issues from any of its warps that is ready. While one waits for memory or for an
earlier result, another can issue. How many blocks fit depends on what each takes: registers, shared memory, hardware
barriers, slots for blocks and for warps. The scarcest of these is the limiter.

Why it costs time: with few warps, none may be ready, and the cycle is lost.

What to try, by limiter. Registers: smaller blocks, if the registers that are left over have room for one more of them;
`__launch_bounds__` with a number of blocks; smaller tiles a thread; loads next to their use; beware of spills. Shared
memory: smaller or fewer buffers, smaller types, a larger carve-out, a table that larger blocks share. Blocks: larger
blocks. Warps: a block size that divides the warp slots evenly. Barriers: named barriers with constant numbers; a number
known only at run time reserves all sixteen.

When it is reported: waiting is the problem, that is, no resource is busy for 60 % of the time in which multiprocessors
had work (the threshold of Nsight Compute's own rule SOLBottleneck). More warps do not speed up a kernel at the limit of
DRAM or of a pipe, at any occupancy. For a unit that can reach nearly all of its peak, the threshold is two thirds of
what was measured as reachable, as in `near-ceiling`. The limit by shared memory of a kernel that uses none does not
count: it is only what the driver set aside. If fewer than half of the warps that fit run on average, the limit holds
for less than half of the time. If small blocks are many, they end sooner than the next start, and the finding says so:
larger ones start as fast and bring more warps each. Otherwise nothing is reported.

A launch with too few blocks to fill the slots it has is `grid-underfill`. A launch with exactly as many blocks as slots
was sized for them, and would be given more. A product by `wgmma` is left to `tensor-underfed`. Its warps wait for
tensor cores and TMA, which work on their own; how much is in flight depends on stages and on products issued ahead, and
the registers that let only one block in hold its results. A kernel whose data comes by bulk copies needs stages as
well, and is left to `low-bytes-in-flight`.

How the saving is estimated: in a kernel that waits, the time is inversely proportional to the warps that share the
wait. The warp states that others could hide shrink in the ratio of the warps now to the warps that fit without the
limiter. The next limit and the blocks of the launch bound that number. Every unit needs room: more warps fill at most
nine tenths of its peak, because they do not make a loop of nothing else. This is the most that can be won. The nearest
change that lets more warps in seldom brings all of them; what it wins by the same model is next to the advice. If the
kernel already spills registers at a cost, fewer of them would spill more, and the finding says so. Without warp states
the time in which no scheduler issued takes their place, and without throughputs nobody knows whether waiting is the
problem. In both cases the saving is *assumed*.
"""

from __future__ import annotations

from dataclasses import replace

from ncu_assist.ceilings.chips import SCHEDULERS
from ncu_assist.rules.base import LEAST_WORTH, Finding
from ncu_assist.rules.model import local_traffic
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.occupancy import UNITS, next_steps
from ncu_assist.rules.model.pipes import is_matrix_work
from ncu_assist.rules.model.savings import REACHABLE, bounded_ns
from ncu_assist.rules.model.shape import (
    coverable_share,
    latency_bound,
    of_each_shape,
    room_beside,
    warps_a_block,
    working_share,
)
from ncu_assist.rules.model.traffic import come_by_copies

ID = "low-occupancy"
# Of equal limits the first is named: what the block takes before the places that there are. Shared memory comes last,
# because the driver sets aside as little of L1 as the others need.
LIMITS = {
    "registers": "block_limit_registers",
    "blocks": "block_limit_blocks",
    "barriers": "block_limit_barriers",
    "warps": "block_limit_warps",
    "shared": "block_limit_shared_memory",
}
NEEDS: tuple[str, ...] = (
    "duration", "theoretical_warps", "block_size", "block_limit_registers", "block_limit_shared_memory",
    "block_limit_blocks", "block_limit_warps",
)  # fmt: skip
USES: tuple[str, ...] = (
    "max_warps", "theoretical_occupancy", "grid_size", "sm_count", "dram_throughput", "issue_slots_busy",
    "warps_selected", "warps_long_scoreboard", "achieved_warps", "waves_per_sm",
)  # fmt: skip
REACHED = 0.5  # of the warps that fit, on average: with fewer the limit holds for less than half of the time
LAST_WAVE = 2.0  # from here on blocks wait for a place most of the time, and free places are for want of starts
TRY = {  # registers are a case of their own
    "shared": "use less shared memory a block, or larger blocks that share it",
    "barriers": "use fewer barriers, with numbers that the compiler knows",
    "blocks": "use larger blocks",
    "warps": "use blocks whose warps divide the places evenly",
}
SPREAD = "spread a tile over more threads, so that each keeps fewer values"
SPILLING = "; it spills registers already, and with fewer it would spill more"


def find(facts: Facts) -> Finding | None:
    """Return that too few warps fit, and what limits them; None where more would not help or cannot be had."""
    return of_each_shape(_find, facts)


def _find(facts: Facts) -> Finding | None:
    if come_by_copies(facts) or (is_matrix_work(facts) and facts.get("pipe_tensor_gmma")):
        return None
    limiter = limited_by(facts)
    now, then = facts.value("theoretical_warps"), warps_without(limiter, facts)
    if now <= 0 or then <= now or not latency_bound(facts):
        return None
    is_reached = _is_reached(now, facts)
    if not is_reached and (limiter != "blocks" or facts.value("waves_per_sm") < LAST_WAVE):
        return None
    saved = min(working_share(facts) * coverable_share(facts) * (1.0 - now / then), _room(facts))
    if saved < LEAST_WORTH:
        return None
    is_spilling = limiter == "registers" and _spills(facts)
    finding = Finding(
        rule=ID,
        message=f"{now:.0f} warps fit on a multiprocessor of {places(facts):.0f}, limited by {limiter}, and "
        f"{_waiting(facts)}; without that limit {then:.0f} would run{SPILLING if is_spilling else ''}"
        if is_reached
        else f"{facts.value('achieved_warps'):.1f} warps run on a multiprocessor where {now:.0f} fit: blocks of "
        f"{facts.value('block_size'):.0f} threads end sooner than the next start, and {_waiting(facts)}",
        saved_ns=saved * facts.duration_ns,
        evidence=("theoretical_warps", "achieved_warps", LIMITS[limiter], "warps_long_scoreboard", "issue_slots_busy"),
        stalls=("long_scoreboard", "short_scoreboard", "wait"),
        detail={"limiter": limiter},
        assumed=facts.lacks("dram_throughput", "issue_slots_busy", "warps_selected"),
        advice=_advice(limiter, facts, is_spilling),
    )
    return replace(finding, figures=_figures(limiter, facts, finding))


def _is_reached(fitting: float, facts: Facts) -> bool:
    """Return whether so many warps run for half of the time at least; True where the warps that run were not counted.

    Blocks that end sooner than the next start, or that SMs have too few of, never fill the places that there are.
    """
    achieved = facts.get("achieved_warps")
    return achieved is None or achieved >= REACHED * fitting


def _room(facts: Facts) -> float:
    """Return the part of the time that units leave to more warps, 0 to 1: no more of a peak than any mix reaches."""
    busiest = facts.busiest(without=("DRAM",))
    return min(room_beside(facts), 1.0 - busiest[1] / REACHABLE if busiest else 1.0)


def _waiting(facts: Facts) -> str:
    share = f"{100 * coverable_share(facts):.0f} %"
    if not facts.combined.stalls:
        return f"schedulers issue nothing in {share} of the cycles in which they have warps"
    return f"they wait for {share} of their time"


def _advice(limiter: str, facts: Facts, is_spilling: bool) -> str:
    """Return what to try, the cheapest first, with the numbers to type where the curves of occupancy have them."""
    if limiter != "registers":
        return TRY[limiter]
    points = {over: then for over, _, then in next_steps(facts, limiter)}
    fewer, smaller = points.get("registers"), points.get("block_size")
    blocks = [f"use blocks of {smaller.value} threads"] if smaller else []
    if is_spilling:
        return ", or ".join([*blocks, SPREAD])
    bounds = f"({facts.value('block_size'):.0f}, {fewer.blocks})" if fewer else " with more blocks"
    either = ", ".join([*blocks, f"give it __launch_bounds__{bounds}"])
    return f"{either}{',' if blocks else ''} or keep fewer values a thread"


def _figures(limiter: str, facts: Facts, finding: Finding) -> str:
    """Return how many warps the nearest changes let in and what these win, and how many there are without the limit.

    By the model of the estimate, which is of the last: nothing that is nearer wins more than it.
    """
    now, every = facts.value("theoretical_warps"), warps_without(limiter, facts)
    most = min(finding.saved_ns, bounded_ns(finding, facts)) / facts.duration_ns
    waits = working_share(facts) * coverable_share(facts)
    said: list[str] = []
    furthest = now
    for over, here, point in next_steps(facts, limiter):
        warps = min(float(point.warps), every)
        speedup = 1.0 / (1.0 - min(waits * (1.0 - now / warps), most))
        won = f": {min(speedup, facts.times_floor or speedup):.2f}x{' if none spills' if over == 'registers' else ''}"
        fit, unit = "" if said else " warps fit", UNITS[over].removesuffix(" a thread")
        said.append(f"{point.warps}{fit} with {point.value} {unit}, {here.warps} with {here.value}{won}")
        furthest = max(furthest, warps)
    of_all = [f"estimated for {every:.0f}"] if said and every > furthest else []
    return "; ".join([*said, *of_all])


def _spills(facts: Facts) -> bool:
    """Return whether spilled registers cost time; no where that was not counted."""
    if facts.lacks(*local_traffic.NEEDS):
        return False
    return local_traffic.cost_ns(facts, facts.value("local_spilling_requests")) > 0.0


def places(facts: Facts) -> float:
    """Return the warps that a multiprocessor of this chip can hold: by its occupancy where that was not said."""
    occupancy = facts.get("theoretical_occupancy")
    if facts.get("max_warps") is None and occupancy:
        return facts.value("theoretical_warps") / occupancy * 100.0
    return facts.value("max_warps") * (facts.chip.schedulers if facts.chip else SCHEDULERS)


def limited_by(facts: Facts) -> str:
    """Return what allows the fewest blocks; of equals the first of LIMITS."""
    allowed = allowed_blocks(facts)
    return min(allowed, key=lambda word: allowed[word])


def allowed_blocks(facts: Facts) -> dict[str, float]:
    """Return how many blocks a multiprocessor could hold by each limit that was counted, in the order of LIMITS."""
    known = {word: facts.get(key) for word, key in LIMITS.items()}
    if facts.get("shared_memory_static") == 0 and facts.get("shared_memory_dynamic") == 0:
        known["shared"] = None
    return {word: blocks for word, blocks in known.items() if blocks is not None}


def warps_without(limiter: str, facts: Facts) -> float:
    """Return the warps that would run on a multiprocessor if this limit, and what is as tight, were gone.

    No more than the launch has; but one of as many blocks as fit at once was given so many for that.
    """
    each, allowed = warps_a_block(facts), allowed_blocks(facts)
    further = [blocks * each for blocks in allowed.values() if blocks > allowed[limiter]]
    blocks, count = facts.get("grid_size"), facts.get("sm_count")
    at_once = [blocks * each / count] if blocks and count and blocks != count * allowed[limiter] else []
    return min([places(facts), *at_once, *further])
