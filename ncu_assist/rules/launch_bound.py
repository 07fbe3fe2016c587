"""The kernel is too short for what it costs to start one.

What the hardware does: to start a kernel the GPU fetches its code and arguments, hands out blocks and waits for the
first loads. At the end it waits for the last stores before the next kernel may start.

Why it costs time: a kernel with one load and one store a thread takes 2 to 3 µs on an H200, however little it moves,
and from 1 µs on other GPUs. As a node of a CUDA graph it still costs 0.8 µs. ncu times a launch alone, so the gap
between two launches of a program comes on top. Nothing inside the kernel helps.

What to try: fuse the kernel with the one before or after it, or batch small problems. One kernel alone gains from
nothing else. For a chain of kernels, do the steps in one launch, put the chain into a CUDA graph, which starts each
kernel sooner after the one before, or overlap launches (programmatic dependent launch, streams).

When it is reported: the launch takes less than 10 µs, so that its start is a quarter of the time or more. In longer
launches look at the kernel itself first.

How the saving is estimated: 2.5 µs a launch, in the middle of what the smallest kernels take. If several launches are
judged together, one of them stays. A single launch saves 2.5 µs only if it is fused or batched. Its work stays: the
time for its bytes, and at least the 0.8 µs that a tiny kernel takes as a node of a CUDA graph, where launches cost
hardly anything. The figures were measured on an H200; on a GPU that was not measured they are *assumed*.
"""

from __future__ import annotations

from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.savings import START

ID = "launch-bound"
NEEDS: tuple[str, ...] = ("duration",)
USES: tuple[str, ...] = ()
# Between the 2 and 3 us that kernels of one load and one store a thread take on an H200 (the fault gallery, and
# docs/sources.md, Rates): the smallest launch that does anything.
LAUNCH_NS = 2_500.0
WORK_NS = 800.0  # of a tiny kernel in a CUDA graph on an H200, start and work together (docs/sources.md)
SHARE = 0.25  # of a launch that its cost must be: within it the rest can no longer be told from noise (5 % of 3 us)

CHAIN = "do the steps in one launch, or put the chain into a CUDA graph"
SINGLE = "fuse it with the kernel before or after, or batch small problems; a CUDA graph helps only a chain of kernels"


def find(facts: Facts) -> Finding | None:
    """Return that launches cost more than what they do; None for launches of 10 us and longer."""
    typical, launches = facts.combined.typical_ns or 0.0, len(facts.combined.launches)
    if not 0 < typical < LAUNCH_NS / SHARE:
        return None
    avoidable = max(1, launches - 1)
    kept = WORK_NS if launches < 2 else 0.0  # of several the one that stays keeps the work of all
    each = min(LAUNCH_NS, max(0.0, facts.duration_ns / max(1, launches) - kept))
    what = f"{launches} launches of {typical / 1000:.1f} µs" if launches > 1 else f"a launch of {typical / 1000:.1f} µs"
    least = "where even one that does next to nothing takes 1 to 3 µs under ncu, without the gap to the next"
    return Finding(
        rule=ID,
        message=f"{what}, {least}" + ("" if launches > 1 else "; one launch alone saves that only if fused or batched"),
        saved_ns=avoidable * each,
        evidence=("duration", "grid_size", "threads", "sm_active_share"),
        relieves=(START,),
        assumed=facts.ceilings is None,
        advice=CHAIN if launches > 1 else SINGLE,
    )
