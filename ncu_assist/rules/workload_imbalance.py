"""Some multiprocessors, or a few warps on each, work on while others have nothing left to do.

What the hardware does: a launch ends with its last block, a block with its last warp. Until then the block keeps its
place, its registers and its shared memory.

Why it costs time: if a few blocks have much more work, or if the long ones run on the same multiprocessor, the rest of
the chip waits for them. If a few warps of each multiprocessor have it, there are too few of them to hide one another's
waits.

What to try: start the long pieces first; split them (several warps or blocks a row, merge-based partitions); sort or
bin the work by length; hand it out in small pieces by an atomic counter instead of one range a block.

When it is reported: the saving is at least 2 % of the time. Of multiprocessors that all stay active, it is reported if
fewer than half of the warps run on average that equal blocks would keep running (their starts left out), and waiting is
the problem. Many small blocks, which end sooner than the next start, are `low-occupancy`. Fewer than half, because
warps that do the same end early as well if others are served first: up to 45 % of them in kernels of the fault gallery.
Counters do not tell long warps from blocks that get in later than the limits in the report allow, so the finding names
both.

How the saving is estimated: of multiprocessors, the time that the mean multiprocessor is idle while the longest one
works, less what the number of blocks explains by itself (`tail-effect`, `grid-underfill`), and less the larger of two
things that even work shows as well. The first is half a block if blocks follow one another, because multiprocessors end
up to a block apart. The second is a tenth of the time: in kernels of the fault gallery with equal blocks,
multiprocessors are idle for up to 9.2 % on average (the sum of 512 MiB 5.1 %, the inner product 5.0 % on an H200 and
5.6 % on an H100, one wave of 21 µs 9.2 %), because blocks do not start in the same cycle and DRAM is not equally near
to every multiprocessor. While DRAM or L2 is busy an idle multiprocessor costs nothing, so only the room that they had
counts. If the cycles of the longest were not counted, it worked no longer than the kernel took. The idle time of the
mean is then an upper bound, *assumed*; of more than one wave the finding also says how long a block must last for it.
Of warps, the warp states that others could hide shrink by the part that is missing beyond one half. The larger of the
two is named.
"""

from __future__ import annotations

from ncu_assist.rules.base import LEAST_WORTH, Finding
from ncu_assist.rules.low_occupancy import ends_before_next_start
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.shape import (
    UNEVEN_USES,
    chip_room,
    coverable_share,
    early_ends,
    equal_warps,
    knows_uneven,
    of_each_shape,
    room_beside,
    uncovered_part,
    uneven_share,
    uneven_work,
    working_share,
)

ID = "workload-imbalance"
NEEDS: tuple[str, ...] = ("duration", "waves_per_sm", "sm_cycles_active", "sm_cycles_elapsed")
USES: tuple[str, ...] = (*(key for key in UNEVEN_USES if key not in NEEDS), "theoretical_warps", "achieved_warps")
WARPS = "warps"  # in ``detail``: all multiprocessors stay active
ADVICE = "split the long pieces of work, start them first, or deal work out in small pieces"


def find(facts: Facts) -> Finding | None:
    """Return that some multiprocessors or warps work much longer than the mean; None where it is small or explained."""
    return of_each_shape(_find, facts)


def _find(facts: Facts) -> Finding | None:
    found = [one for one in (_of_multiprocessors(facts), _of_warps(facts)) if one]
    return max(found, key=lambda one: one.saved_ns, default=None)


def _of_multiprocessors(facts: Facts) -> Finding | None:
    saved = uneven_work(facts) * chip_room(facts)
    if saved < LEAST_WORTH:
        return None
    mean, longest = facts.value("sm_cycles_active"), facts.get("sm_cycles_active_max")
    times = (facts.value("sm_cycles_elapsed") if longest is None else longest) / mean if mean else 0.0
    is_known = longest is not None
    how_long = (
        f"works longest works {times:.2f}" if is_known else f"works longest was not counted: it works up to {times:.2f}"
    )
    return Finding(
        rule=ID,
        message=f"the multiprocessor that {how_long} times as long as the mean, and the others wait for it"
        f"{_as_if(facts.get('sm_count'), times)}{'' if is_known else _longest_block(facts)}",
        saved_ns=saved * facts.duration_ns,
        evidence=("sm_cycles_active_min", "sm_cycles_active", "sm_cycles_active_max", "sm_imbalance", "waves_per_sm"),
        assumed=not knows_uneven(facts),
        advice=ADVICE,
    )


def _of_warps(facts: Facts) -> Finding | None:
    if ends_before_next_start(facts):
        return None
    saved = min(
        working_share(facts) * coverable_share(facts) * uncovered_part(facts) * early_ends(facts), room_beside(facts)
    )
    if saved < LEAST_WORTH:
        return None
    if facts.value("waves_per_sm") > 1:
        why = "a few last much longer, or blocks get in later than the limits in the report allow"
    else:
        why = "most end long before the last"
    return Finding(
        rule=ID,
        message=f"{facts.value('achieved_warps'):.1f} warps run on a multiprocessor on average, where equal blocks "
        f"would keep {equal_warps(facts):.0f} running: {why}",
        saved_ns=saved * facts.duration_ns,
        evidence=("achieved_warps", "theoretical_warps", "waves_per_sm", "sm_active_share"),
        detail={"of": WARPS},
        assumed=facts.lacks("dram_throughput", "issue_slots_busy", "warps_selected"),
        advice=ADVICE,
    )


def _longest_block(facts: Facts) -> str:
    """Say how long a block must last where many follow one another and the longest multiprocessor was not counted.

    One rests only when no block waits for a place. So a block that ends last has run since then, and the mean block
    takes no longer than the active time over the waves.
    """
    waves, mean = facts.value("waves_per_sm"), facts.value("sm_cycles_active")
    if waves <= 1 or not mean:
        return ""
    longer = uneven_share(facts) * facts.value("sm_cycles_elapsed") / mean * waves
    return f"; for that, a block must last at least {longer:.0f} times as long as the mean one" if longer >= 2 else ""


def _as_if(count: float | None, times: float) -> str:
    """Say how many multiprocessors would have done all of the work, where that is less than half of them."""
    if not count or times <= 2.0:
        return ""
    return f", as if {count / times:.1f} of the {count:.0f} did all of the work"
