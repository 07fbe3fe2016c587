"""Some multiprocessors work on while others have nothing left to do.

What the hardware does: a launch ends with its last block.

Why it costs time: if a few blocks have much more work, or if the long ones run on the same multiprocessor, the rest of
the chip waits for them.

What to try: start the long pieces first; split them (several warps or blocks a row, merge-based partitions); sort or
bin the work by length; hand it out in small pieces by an atomic counter instead of one range a block.

When it is reported: the saving is at least 2 % of the time. Uneven warps within every block do not show here, because
each multiprocessor stays active.

How the saving is estimated: the time that the mean multiprocessor is idle while the longest one works, less what the
number of blocks explains by itself (`tail-effect`, `grid-underfill`), and less the larger of two things that even work
shows as well. The first is half a block if blocks follow one another, because multiprocessors end up to a block apart.
The second is a tenth of the time: in kernels of the fault gallery with equal blocks, multiprocessors are idle for up to
9.2 % on average (the sum of 512 MiB 5.1 %, the inner product 5.0 % on an H200 and 5.6 % on an H100, one wave of 21 µs
9.2 %), because blocks do not start in the same cycle and DRAM is not equally near to every multiprocessor. While DRAM
or L2 is busy an idle multiprocessor costs nothing, so only the room that they had counts. If the cycles of the longest
were not counted, it worked no longer than the kernel took. The idle time of the mean is then an upper bound, *assumed*.
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
        f"and the others wait for it{_as_if(facts.get('sm_count'), times)}",
        saved_ns=saved * facts.duration_ns,
        evidence=("sm_cycles_active_min", "sm_cycles_active", "sm_cycles_active_max", "sm_imbalance", "waves_per_sm"),
        assumed=not knows_uneven(facts),
        advice="split the long pieces of work, start them first, or deal work out in small pieces",
    )


def _as_if(count: float | None, times: float) -> str:
    """Say how many multiprocessors would have done all of the work, where that is less than half of them."""
    if not count or times <= 2.0:
        return ""
    return f", as if {count / times:.1f} of the {count:.0f} did all of the work"
