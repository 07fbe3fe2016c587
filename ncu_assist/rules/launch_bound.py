"""The kernel is too short for what it costs to start one.

To start a kernel the GPU fetches its code and arguments, hands out blocks, waits for the first loads, and at the end
waits for the last stores before the next may start. A kernel of one load and one store a thread takes 2 to 3 µs on an
H200, however little it moves; of that a node of a CUDA graph still costs 0.8 µs. Nothing inside the kernel helps.

What it could save: 2.5 µs a launch, in the middle of what the smallest kernels take; of several launches judged
together one stays. Said of launches below 10 µs, of which that is a quarter and more; from there on the kernel itself
is worth looking at first.

What to try: fuse it with what runs before or after it, do the steps of a chain in one launch, batch small problems, put
the chain into a CUDA graph, overlap launches (programmatic dependent launch, streams).
"""

from __future__ import annotations

from ncu_assist.rules.base import Finding
from ncu_assist.rules.bounds import START
from ncu_assist.rules.facts import Facts

ID = "launch-bound"
NEEDS: tuple[str, ...] = ("duration",)
# Between the 2 and 3 us that kernels of one load and one store a thread take on an H200 (the fault gallery, and
# ncu_facts.md, "Measuring"): the smallest launch that does anything.
LAUNCH_NS = 2_500.0
SHARE = 0.25  # of a launch that its cost must be: within it the rest can no longer be told from noise (5 % of 3 us)


def find(facts: Facts) -> Finding | None:
    """Return that launches cost more than what they do; None for launches of 10 us and longer."""
    typical, launches = facts.combined.typical_ns or 0.0, len(facts.combined.launches)
    if not 0 < typical < LAUNCH_NS / SHARE:
        return None
    avoidable = max(1, launches - 1)
    each = min(LAUNCH_NS, facts.duration_ns / max(1, launches))
    what = f"{launches} launches of {typical / 1000:.1f} µs" if launches > 1 else f"a launch of {typical / 1000:.1f} µs"
    return Finding(
        ID,
        f"{what}, where starting a kernel costs 2 to 3 µs however little it does: fuse it with its neighbours, "
        "or put the chain into a CUDA graph",
        avoidable * each,
        ("duration", "grid_size", "threads", "sm_active_share"),
        relieves=(START,),
    )
