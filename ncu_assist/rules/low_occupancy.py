"""Too few warps fit on a multiprocessor, or run there, to hide latency.

What the hardware does: a scheduler issues from any of its warps that is ready. While one waits for memory or for an
earlier result, another can issue. How many blocks fit depends on what each takes: registers, shared memory, hardware
barriers, slots for blocks and for warps. The scarcest of these is the limiter.

When a block ends, its place is empty until the next one has started, 180 to 430 cycles later.

Why it costs time: with few warps, none may be ready, and the cycle is lost. Many short blocks leave their places empty
for a large part of the time. If only one block fits, the whole multiprocessor is empty meanwhile.

What to try, by limiter. Registers: smaller blocks, if the registers that are left over have room for one more of them;
`__launch_bounds__` with a number of blocks; smaller tiles a thread; loads next to their use; beware of spills. Shared
memory: smaller or fewer buffers, smaller types, a larger carve-out, a table that larger blocks share. Blocks: larger
blocks, of whole warps. Warps: a block size that divides the warp slots evenly. Barriers: named barriers with constant
numbers; a number known only at run time reserves all sixteen. Short blocks: several elements a thread, in a loop over
the grid; smaller blocks if only one fits.

When it is reported: waiting is the problem, that is, no resource takes the time (80 % of what it can reach while
multiprocessors had work, 88 % of DRAM's peak). More warps do not speed up a kernel at the limit of DRAM or of a pipe,
at any occupancy. Up to two thirds of what the busiest resource can reach, which is 60 % of its peak (the threshold of
Nsight Compute's own rule SOLBottleneck), all waits are for latency. From there on warps also queue for it, and evenly
less of their waits counts, down to none where it takes the time. The limit by shared memory of a kernel that uses none
does not count: it is only what the driver set aside. If fewer than half of the warps that fit run on average, the limit
holds for less than half of the time. If small blocks are many, they end sooner than the next start, and the finding
says so: larger ones start as fast and bring more warps each. Whatever the limit, short blocks are also reported if a
launch has at least ten waves (the last is a tenth of the time at most) and places are empty between blocks. If bytes in
flight are too few, `low-bytes-in-flight` asks for the same, more work a thread.

Blocks of less than a warp that are put together make whole warps as well as fewer blocks. If the idle lanes cost more,
`warp-divergence` says so alone.

A launch with too few blocks to fill the slots it has is `grid-underfill`. A launch with exactly as many blocks as slots
was sized for them, and would be given more. A product by `wgmma` is left to `tensor-underfed`. Its warps wait for
tensor cores and TMA, which work on their own; how much is in flight depends on stages and on products issued ahead, and
the registers that let only one block in hold its results. A kernel whose data comes by bulk copies needs stages as
well, and is left to `low-bytes-in-flight`.

How the saving is estimated: in a kernel that waits, the time is inversely proportional to the warps that share the
wait. The warp states that others could hide shrink in the ratio of the warps now to the warps that fit with the change
that the advice names. The blocks of the launch bound that number. Every unit needs room: more warps fill at most nine
tenths of its peak, because they do not make a loop of nothing else.

Another block size is named at its best, because it costs nothing. Fewer registers or less shared memory have a price,
so the nearest step that is worth a change is named: the next one may spill, or leave no room for the tile. A larger
block that shares its shared memory is named only if its warps meet at barriers: without one no warp reads what another
wrote. The estimate is that of the named change that wins most. What all warps up to the next limit would win is next to
it, and is the estimate if no number can be named.

The saving from fewer and longer blocks: what places are empty beyond the start of the launch, at most 400 cycles a
block. What is empty for longer has another cause, such as warps of one block that end at different times. While a
multiprocessor has no block at all, the time is lost. Otherwise the warp states that others could hide shrink as above.

If the kernel already spills registers at a cost, fewer of them would spill more, and the finding says so. Without warp
states the time in which no scheduler issued takes their place, and without throughputs nobody knows whether waiting is
the problem. In both cases the saving is *assumed*.
"""

from __future__ import annotations

from collections.abc import Iterator

from ncu_assist.ceilings.chips import LANES, SCHEDULERS
from ncu_assist.quantity import percent, times_as_fast
from ncu_assist.rules import low_bytes_in_flight, warp_divergence
from ncu_assist.rules.base import LEAST_WORTH, Finding
from ncu_assist.rules.model import local_traffic
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.occupancy import UNITS, Change, changes
from ncu_assist.rules.model.pipes import is_matrix_work
from ncu_assist.rules.model.savings import REACHABLE, START_NS, bounded_ns
from ncu_assist.rules.model.shape import (
    BLOCK_START_CYCLES,
    block_words,
    coverable_share,
    cycles_a_block,
    of_each_shape,
    room_beside,
    uncovered_part,
    warps_a_block,
    working_part,
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
SHORT_BLOCKS = "short blocks"  # in place of a limit: all that fit may run, and do not
MANY_WAVES = 10.0  # from here on the last wave is at most a tenth of the time
LAST_WAVE = 2.0  # from here on blocks wait for a place most of the time, and free places are for want of starts
IN_WORDS = {"shared": "shared memory", "blocks": "places for blocks", "warps": "places for warps"}
TRY = {  # registers are a case of their own
    "shared": "use less shared memory",
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
    if come_by_copies(facts) or (is_matrix_work(facts) and facts.get("pipe_tensor_gmma")) or not uncovered_part(facts):
        return None
    found = [one for one in (_too_few_fit(facts), _short_blocks(facts)) if one]
    return max(found, key=lambda one: one.most_ns, default=None)


def _short_blocks(facts: Facts) -> Finding | None:
    """Return what it costs that places rest from the end of a block to the start of the next; None if hardly anything.

    That is at most BLOCK_START_CYCLES a block: what rests longer does so for another reason, as warps of one block that
    end at different times. While a multiprocessor has no block at all the time is lost, else where the others wait.
    """
    blocks, count, fitting = (facts.get(key) for key in ("grid_size", "sm_count", "theoretical_warps"))
    running, cycles = facts.get("achieved_warps"), facts.get("sm_cycles_elapsed")
    if facts.value("waves_per_sm") < MANY_WAVES or not (blocks and count and fitting and running and cycles):
        return None
    if not facts.lacks(*low_bytes_in_flight.NEEDS) and low_bytes_in_flight.find(facts):
        return None
    at_once, each = max(1.0, fitting / warps_a_block(facts)), cycles_a_block(facts, cycles)
    works, starting = running / fitting * working_part(facts), START_NS / facts.duration_ns
    rests = max(0.0, min(1.0 - works - starting, BLOCK_START_CYCLES / each))
    empty = min(rests, max(0.0, 1.0 - working_share(facts) - starting))
    more = (rests - empty) / (works + rests - empty)
    saved = min(empty + coverable_share(facts) * uncovered_part(facts) * more, _room(facts))
    if saved < LEAST_WORTH:
        return None
    smaller = ", or use smaller blocks, so that one runs while the next starts" if at_once < 2 else ""
    return Finding(
        rule=ID,
        message=f"{running * working_part(facts):.1f} of the {fitting:.0f} warps that fit run on average: each "
        f"multiprocessor gets {blocks / count:.0f} short blocks, and a place is empty for up to {percent(rests)} of "
        "the time before the next one starts",
        saved_ns=saved * facts.duration_ns,
        evidence=("theoretical_warps", "achieved_warps", "waves_per_sm", "sm_active_share", "issue_slots_busy"),
        stalls=("long_scoreboard", "short_scoreboard", "wait"),
        detail={"limiter": SHORT_BLOCKS},
        assumed=facts.lacks("dram_throughput", "issue_slots_busy", "warps_selected"),
        advice=f"let a thread do several elements, in a loop over the grid{smaller}",
    )


def _too_few_fit(facts: Facts) -> Finding | None:
    limiter = limited_by(facts)
    now, then = facts.value("theoretical_warps"), warps_without(limiter, facts)
    if now <= 0 or then <= now:
        return None
    is_reached = _is_reached(now, facts)
    if not is_reached and not ends_before_next_start(facts):
        return None
    named, whole = list(_named(limiter, facts)), _saved_by(then, facts)
    saved, most = max(((_saved_by(warps, facts), warps) for _, warps in named), default=(whole, 0))
    if saved < LEAST_WORTH or (limiter == "blocks" and _fills_warps(facts) >= saved * facts.duration_ns):
        return None
    is_spilling = limiter == "registers" and _spills(facts)
    room = [f"{most} with the next step"] if named else []
    room += [f"{then:.0f} without that limit"] if round(then) > most else []
    is_both = any({"registers", "shared_memory"} <= values.keys() for values, _ in named)
    words = "registers and shared memory" if is_both else IN_WORDS.get(limiter, limiter)
    return Finding(
        rule=ID,
        message=f"{now:.0f} of {places(facts):.0f} warps fit on a multiprocessor, limited by {words}, and "
        f"{_waiting(facts)}; {', '.join(room)}{SPILLING if is_spilling else ''}"
        if is_reached
        else f"{facts.value('achieved_warps'):.1f} warps run on a multiprocessor where {now:.0f} fit: blocks of "
        f"{facts.value('block_size'):.0f} threads end sooner than the next start, and {_waiting(facts)}",
        saved_ns=saved * facts.duration_ns,
        whole_ns=whole * facts.duration_ns,
        evidence=("theoretical_warps", "achieved_warps", LIMITS[limiter], "warps_long_scoreboard", "issue_slots_busy"),
        stalls=("long_scoreboard", "short_scoreboard", "wait"),
        detail={"limiter": limiter},
        assumed=facts.lacks("dram_throughput", "issue_slots_busy", "warps_selected"),
        advice=_advice(limiter, named, facts, is_spilling),
        figures="; ".join(_figures(named, facts)),
    )


def _fills_warps(facts: Facts) -> float:
    """Return what larger blocks save because their warps are whole, in ns: that is `warp-divergence`."""
    found = warp_divergence.find(facts) if facts.value("block_size") < LANES else None
    return found.saved_ns if found else 0.0


def _is_reached(fitting: float, facts: Facts) -> bool:
    """Return whether so many warps run for half of the time at least; True where the warps that run were not counted.

    Blocks that end sooner than the next start, or that SMs have too few of, never fill the places that there are.
    """
    achieved = facts.get("achieved_warps")
    return achieved is None or achieved >= REACHED * fitting


def ends_before_next_start(facts: Facts) -> bool:
    """Tell whether blocks are small and many, and fewer than half of the warps that fit run: starts are the limit."""
    if facts.lacks(*NEEDS, "waves_per_sm") or limited_by(facts) != "blocks":
        return False
    return facts.value("waves_per_sm") >= LAST_WAVE and not _is_reached(facts.value("theoretical_warps"), facts)


def _named(limiter: str, facts: Facts) -> Iterator[Change]:
    """Yield one change of each kind: of block sizes the one that wins most, of others the nearest worth a change."""
    for kind in changes(facts, limiter):
        worth = [one for one in kind if _saved_by(one[1], facts) >= LEAST_WORTH]
        if worth and "block_size" in worth[0][0]:
            yield max(worth, key=lambda one: _saved_by(one[1], facts))
        elif worth:
            yield worth[0]


def _saved_by(warps: float, facts: Facts) -> float:
    """Return the part of the time that so many warps would save, 0 to 1: no more than the launch has, and units allow.

    No unit reaches more of its peak than any mix does.
    """
    then = max(1.0, min(warps, _launched(facts)))
    more = 1.0 - facts.value("theoretical_warps") / then
    return min(working_share(facts) * coverable_share(facts) * uncovered_part(facts) * more, _room(facts))


def _room(facts: Facts) -> float:
    """Return the part of the time that every unit leaves, 0 to 1."""
    busiest = facts.busiest(without=("DRAM",))
    room = min(room_beside(facts), 1.0 - busiest[1] / REACHABLE if busiest else 1.0)
    return min(room, bounded_ns(Finding(rule=ID, message="", saved_ns=0.0, evidence=()), facts) / facts.duration_ns)


def _waiting(facts: Facts) -> str:
    share = f"{100 * coverable_share(facts):.0f} %"
    if not facts.combined.stalls:
        least = "at least " if facts.lacks("issue_slots_busy") else ""
        return f"schedulers issue nothing in {least}{share} of the cycles in which they have warps"
    return f"they wait for {share} of their time"


def _advice(limiter: str, named: list[Change], facts: Facts, is_spilling: bool) -> str:
    """Return what to try, the cheapest first, with the numbers to type where these are known."""
    sizes = [f"blocks of {values['block_size'][1]} threads" for values, _ in named if "block_size" in values]
    if limiter == "shared":
        return ", or ".join([TRY[limiter], *(f"{size} that share it" for size in sizes)])
    if limiter == "blocks" and facts.value("block_size") < LANES:
        return f"{TRY[limiter]}, of whole warps: {_lanes_idle(facts)}"
    if limiter != "registers":
        return TRY[limiter]
    blocks = [f"use {size}" for size in sizes]
    less = f" and {TRY['shared']}" if any("shared_memory" in values for values, _ in named) else ""
    if is_spilling:
        return ", or ".join([*blocks, f"{SPREAD}{less}"])
    threads, each = facts.value("block_size"), warps_a_block(facts)
    more = [f"({threads:.0f}, {warps / each:.0f})" for values, warps in named if "registers" in values]
    if blocks and not more:
        return blocks[0]
    either = ", ".join([*blocks, f"give it __launch_bounds__{''.join(more) or ' with more blocks'}{less}"])
    return f"{either}{',' if blocks or less else ''} or keep fewer values a thread"


def _lanes_idle(facts: Facts) -> str:
    """Say how few lanes a block shorter than a warp has: larger ones need fewer warps for the same work as well."""
    return f"a block is {block_words(facts)}, so {LANES - facts.value('block_size'):.0f} of {LANES} lanes are idle"


def _figures(named: list[Change], facts: Facts) -> Iterator[str]:
    """Yield how many warps each change that is named lets in, and what it wins."""
    here = f"{facts.value('theoretical_warps'):.0f} with"
    fit = " warps fit"
    for values, warps in named:
        then = " and ".join(f"{new} {UNITS[over].partition(' a ')[0]}" for over, (_, new) in values.items())
        now = " and ".join(f"{old}" for old, _ in values.values())
        won, sure = 1.0 / (1.0 - _saved_by(warps, facts)), " if none spills" if "registers" in values else ""
        yield f"{warps}{fit} with {then}, {here} {now}: {times_as_fast(min(won, facts.times_floor or won))}{sure}"
        fit, here = "", "now"


def _spills(facts: Facts) -> bool:
    """Return whether spilled registers cost time; where nobody counted them, what local memory is more likely of."""
    if facts.lacks(*local_traffic.NEEDS):
        return False
    spilled = facts.get("local_spilling_requests")
    if spilled is None and local_traffic.may_be_spills(facts):
        spilled = facts.value("local_load_requests") + facts.value("local_store_requests")
    return local_traffic.cost_ns(facts, spilled or 0.0) > 0.0


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
    """Return the warps that would run on a multiprocessor if this limit, and what is as tight, were gone."""
    each, allowed = warps_a_block(facts), allowed_blocks(facts)
    further = [blocks * each for blocks in allowed.values() if blocks > allowed[limiter]]
    return min([places(facts), _launched(facts), *further])


def _launched(facts: Facts) -> float:
    """Return the warps that a launch has for each multiprocessor; infinite where that is not known.

    No bound for one of as many blocks as fit at once, which was given so many for that.
    """
    blocks, count = facts.get("grid_size"), facts.get("sm_count")
    if not blocks or not count or blocks == count * min(allowed_blocks(facts).values()):
        return float("inf")
    return blocks * warps_a_block(facts) / count
