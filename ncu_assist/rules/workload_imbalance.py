"""Some multiprocessors work on while others have nothing left to do.

A launch ends with its last block. If a few blocks have much more to do, or if the long ones land on the same
multiprocessor, the rest of the chip waits for them.

What it could save: the time that the mean multiprocessor rests while the one that works longest goes on, less what the
number of blocks explains by itself (`tail-effect`, `grid-underfill`), and less the larger of two things that even work
shows as well. Half a block where blocks follow one another: multiprocessors end up to a block apart. And a tenth of the
time: kernels of the fault gallery with equal blocks rest by up to 9.2 % on average (the sum of 512 MiB by 5.1 %, the
inner product by 5.0 % on an H200 and 5.6 % on an H100, one wave of 21 µs by 9.2 %), because neither do blocks start in
the same cycle nor is DRAM as near to every multiprocessor. While DRAM or L2 is busy a resting multiprocessor costs
nothing, so only the room that they had counts. Less than 2 % of the time is not said. Where the cycles of the longest
were not counted, none works longer than the kernel takes: the rest of the mean is then an upper bound, *assumed*.
Uneven warps within every block do not show here, as each multiprocessor stays active.

What to try: start the long pieces first; split them (several warps or blocks a row, merge-based partitions); sort or
bin the work by length; deal it out in small pieces by an atomic counter instead of in one stretch a block.
"""

from __future__ import annotations

from ncu_assist.rules.base import LEAST_WORTH, Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.shape import (
    UNEVEN_USES,
    chip_room,
    knows_uneven,
    of_each_shape,
    uneven_work,
)

ID = "workload-imbalance"
NEEDS: tuple[str, ...] = ("duration", "waves_per_sm", "sm_cycles_active", "sm_cycles_elapsed")
USES: tuple[str, ...] = tuple(key for key in UNEVEN_USES if key not in NEEDS)


def find(facts: Facts) -> Finding | None:
    """Return that some multiprocessors work much longer than the mean; None where blocks explain it or it is small."""
    return of_each_shape(_find, facts)


def _find(facts: Facts) -> Finding | None:
    saved = uneven_work(facts) * chip_room(facts)
    if saved < LEAST_WORTH:
        return None
    mean, longest = facts.value("sm_cycles_active"), facts.get("sm_cycles_active_max")
    times = (facts.value("sm_cycles_elapsed") if longest is None else longest) / mean if mean else 0.0
    at_most = "up to " if longest is None else ""
    return Finding(
        rule=ID,
        message=f"the multiprocessor that works longest works {at_most}{times:.2f} times as long as the mean, "
        "the rest wait for it",
        saved_ns=saved * facts.duration_ns,
        evidence=("sm_cycles_active_min", "sm_cycles_active", "sm_cycles_active_max", "sm_imbalance", "waves_per_sm"),
        assumed=not knows_uneven(facts),
        advice="split the long pieces of work, start them first, or deal work out in small pieces",
    )
