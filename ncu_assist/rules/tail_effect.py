"""The last wave of blocks is nearly empty.

What the hardware does: blocks start in waves: as many as the chip holds, then one more whenever one ends.

Why it costs time: if all blocks take the same time, a launch of 1.06 waves takes as long as one of 2, and during the
second wave nearly all multiprocessors have nothing to do. In a last wave that is a quarter full, each of them has a
quarter of its warps.

What to try: choose a block or tile size so that the blocks are just below a whole number of waves; smaller blocks,
which make more and finer waves; a persistent kernel of one wave whose blocks take pieces of work in turn; stream-K or
split-K for matrix products; let the next kernel start early (programmatic dependent launch).

When it is reported: there is more than one wave, and the saving is at least 2 % of the time, because no last wave is
ever quite full.

How the saving is estimated: the empty part of the last wave, over all waves, but no more than multiprocessors were
really idle (the mean against the one that worked longest): blocks of unequal length or many waves even it out. While
DRAM or L2 is busy an idle multiprocessor costs nothing, so only the room that they had counts. Without the cycles of
multiprocessors or DRAM's throughput the estimate comes from the shape of the launch alone. It is then an upper bound,
*assumed*.
"""

from __future__ import annotations

from math import ceil

from ncu_assist.rules.base import LEAST_WORTH, Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.shape import (
    UNEVEN_USES,
    chip_room,
    knows_uneven,
    of_each_shape,
    uneven_by_grid,
    uneven_share,
)

ID = "tail-effect"
NEEDS: tuple[str, ...] = ("duration", "waves_per_sm")
USES: tuple[str, ...] = UNEVEN_USES


def find(facts: Facts) -> Finding | None:
    """Return that the last wave leaves the chip empty; None up to one wave, or where it hardly costs anything."""
    return of_each_shape(_find, facts)


def _find(facts: Facts) -> Finding | None:
    waves = facts.value("waves_per_sm")
    if waves <= 1:
        return None
    saved = min(uneven_by_grid(facts), uneven_share(facts)) * chip_room(facts)
    if saved < LEAST_WORTH:
        return None
    return Finding(
        rule=ID,
        message=f"the last of {ceil(waves)} waves of blocks fills {100 * (waves % 1 or 1):.0f} % of the places for "
        f"blocks: multiprocessors have few warps then, {_rest(facts)}",
        saved_ns=saved * facts.duration_ns,
        evidence=("waves_per_sm", "last_wave_fill", "sm_imbalance", "sm_idle_share", "grid_size"),
        assumed=not knows_uneven(facts),
        advice="use smaller blocks or tiles, or one wave that shares it all",
    )


def _rest(facts: Facts) -> str:
    if knows_uneven(facts):
        return f"and rest {100 * uneven_share(facts):.0f} % of the time on average"
    rest = min(uneven_by_grid(facts), uneven_share(facts))  # no more than multiprocessors had no warp, where counted
    return f"which costs up to {100 * rest:.0f} % of the time if all blocks take as long"
