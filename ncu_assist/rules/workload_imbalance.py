"""Some multiprocessors work on while others have nothing left to do.

A launch ends with its last block. If a few blocks have much more to do, or if the long ones land on the same
multiprocessor, the rest of the chip waits for them.

What it could save: the time that the mean multiprocessor rests while the one that works longest goes on, less what the
number of blocks explains by itself (`tail-effect`, `grid-underfill`), and less half a block where blocks follow one
another: however even they are, multiprocessors end up to a block apart. While DRAM or L2 is busy a resting
multiprocessor costs nothing, so only the room that they had counts. Below 2 % of the time nothing is said, because
multiprocessors never end in the same cycle. Uneven warps within every block do not show here, as each multiprocessor
stays active.

What to try: start the long pieces first; split them (several warps or blocks a row, merge-based partitions); sort or
bin the work by length; deal it out in small pieces by an atomic counter instead of in one stretch a block.
"""

from __future__ import annotations

from ncu_assist.rules.base import Finding
from ncu_assist.rules.facts import Facts
from ncu_assist.rules.shape import LEAST_WORTH, UNEVEN_NEEDS, chip_room, of_each_shape, uneven_by_grid, uneven_share

ID = "workload-imbalance"
NEEDS: tuple[str, ...] = UNEVEN_NEEDS


def find(facts: Facts) -> Finding | None:
    """Return that some multiprocessors work much longer than the mean; None where blocks explain it or it is small."""
    return of_each_shape(_find, facts)


def _find(facts: Facts) -> Finding | None:
    saved = max(0.0, uneven_share(facts) - uneven_by_grid(facts) - _ragged_end(facts)) * chip_room(facts)
    if saved < LEAST_WORTH:
        return None
    mean = facts.value("sm_cycles_active")
    times = facts.value("sm_cycles_active_max") / mean if mean else 0.0
    return Finding(
        ID,
        f"the multiprocessor that works longest works {times:.2f} times as long as the mean, the rest wait for it: "
        "split the long pieces of work, start them first, or deal work out in small pieces",
        saved * facts.duration_ns,
        ("sm_cycles_active_min", "sm_cycles_active", "sm_cycles_active_max", "sm_imbalance", "waves_per_sm"),
    )


def _ragged_end(facts: Facts) -> float:
    """Return half the length of a block as a part of the time; 0 where all blocks run at once."""
    waves = facts.value("waves_per_sm")
    return 0.5 / waves if waves > 1 else 0.0
