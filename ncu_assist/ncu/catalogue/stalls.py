"""Why a warp cannot issue: ncu's stall reasons in our words, and their rows of the catalogue."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ncu_assist.ncu.catalogue.metric import (
    ALL_BUT_HOPPER,
    BLACKWELL,
    BY_ISSUED,
    LOWER,
    NOISY,
    RELEASE_2019,
    WARP_STATE,
    Better,
    Metric,
    Way,
    over,
    same,
)

STALL_PREFIX = "smsp__average_warps_issue_stalled_"
STALL = re.compile(STALL_PREFIX + r"(\w+)_per_issue_active\.ratio")  # Hopper has 'gmma', others not
SAMPLED = re.compile(r"smsp__pcsamp_warps_issue_stalled_(\w+?)(?:_not_issued)?")
SAMPLED_SHARE = "samples of the program counter: a share of them is a share of warp states, as far as they are many"
ISSUED = "selected"  # the state of a warp that issues: no stall


@dataclass(frozen=True)
class StallReason:
    """One reason in the spelling of ncu's counters; ``sampled_as``: that of its samples, where it is another.

    ``better`` is None where the share rises in a kernel that gets closer to a limit, so that it says nothing alone.
    """

    name: str
    label: str
    waits_for: str
    try_this: str
    better: Better | None = LOWER
    lacking: tuple[str, ...] = ()
    sampled_as: str = ""


# fmt: off
_REASONS = (
    StallReason("barrier", "Stall Barrier",
                "other warps of its block at a barrier (__syncthreads); in ncu also for wgmma",
                "Even out the work between barriers, use fewer of them, or smaller blocks so that fewer warps wait."),
    StallReason("branch_resolving", "Stall Branch Resolving", "the target of a branch to be known",
                "Branch less in the inner loop: unroll, or select instead of branching."),
    StallReason("dispatch_stall", "Stall Dispatch Stall", "the dispatcher, which holds back a chosen instruction",
                "Seldom large; look for register bank conflicts or a pipe that is nearly full."),
    StallReason("drain", "Stall Drain", "its stores to leave for memory, after its last instruction",
                "Write less or in fewer, wider, coalesced stores; a strided store at the end of a kernel shows here, "
                "on the line that a warp leaves by: the queue may be of other lines' stores."),
    StallReason("gmma", "Stall GMMA", "the warpgroup's matrix instructions (wgmma), at an arrive or a wait",
                "Keep more wgmma in flight before waiting, or let other warps load the next tile meanwhile.",
                better=None, lacking=ALL_BUT_HOPPER, sampled_as="warpgroup_arrive"),
    StallReason("imc_miss", "Stall IMC Miss", "a constant that is not in the immediate constant cache",
                "Read constants at one address a warp; move values that differ by thread to shared or global memory.",
                lacking=BLACKWELL),
    StallReason("lg_throttle", "Stall LG Throttle", "room in the queue for local and global memory instructions",
                "Issue fewer, wider accesses (16 bytes a thread); get rid of spills and local arrays."),
    StallReason("long_scoreboard", "Stall Long Scoreboard",
                "data from global, local or texture memory (L1, L2, DRAM); in ncu also mbarriers",
                "Load earlier and more at a time, keep more warps active, coalesce, or reuse data from shared memory."),
    StallReason("math_pipe_throttle", "Stall Math Pipe Throttle", "a math pipe that is busy",
                "See which pipe_* is busy. At its peak: cheaper or fewer instructions, or other pipes. Below it, warps "
                "crowd at it in turns: mix other work between, or keep more warps active.", better=None),
    StallReason("membar", "Stall Membar", "a memory fence: all its earlier accesses must be seen by others first",
                "Fence less often or with a narrower scope (block instead of device or system)."),
    StallReason("mio_throttle", "Stall MIO Throttle",
                "room in the queue of shared memory, special functions and computed branches",
                "Fewer, wider shared accesses; keep values in registers; avoid bank conflicts, diverging constants."),
    StallReason("misc", "Stall Misc", "something that has no reason of its own", "Seldom large; nothing to try."),
    StallReason("no_instruction", "Stall No Instruction", "its next instruction: a cache miss, or a jump",
                "Shrink the inner loop (less unrolling, less inlining); very short kernels always show it.",
                sampled_as="no_instructions"),
    StallReason("not_selected", "Stall Not Selected", "nothing: it could issue, another warp was taken",
                "Warps are plenty, so more of them win nothing; fewer instructions do.", better=None),
    StallReason("selected", "Selected", "nothing: it issues an instruction in this cycle",
                "No stall: its share is the share of warp states that do work.", better=None),
    StallReason("short_scoreboard", "Stall Short Scoreboard",
                "data from shared memory, or the result of a special function or computed branch",
                "Fewer shared accesses a result (registers, warp shuffles); avoid bank conflicts; cheaper functions."),
    StallReason("sleeping", "Stall Sleeping", "the end of a sleep that it asked for (nanosleep)",
                "Sleep shorter, or wait for an event instead of polling."),
    StallReason("tex_throttle", "Stall Tex Throttle",
                "room for texture instructions, and for doubles where FP64 units are few",
                "Issue fewer texture fetches at a time, or read through ordinary loads; floats in place of doubles."),
    StallReason("wait", "Stall Wait", "the fixed latency of its previous instruction",
                "Usual in tight loops: more independent instructions between dependent ones, or more warps.",
                better=None),
)
# fmt: on

# Waits that ncu counts under another reason, and that the instruction which waits tells apart (`ncu.source.tables`).
MBARRIER, WGMMA, CLUSTER_BARRIER = "mbarrier", "wgmma", "cluster_barrier"
BOOKED_AS = {MBARRIER: "long_scoreboard", WGMMA: "barrier", CLUSTER_BARRIER: "barrier"}
# fmt: off
_TOLD_APART = (
    StallReason(MBARRIER, "mbarrier", "the phase of an mbarrier to end: bytes that TMA brings, or other warps that "
                "arrive there",
                "Load tiles earlier: more stages of buffers, or another group of warps that only loads."),
    StallReason(WGMMA, "wgmma", "matrix instructions of its warpgroup (wgmma) to end",
                "Keep more wgmma in flight before waiting, or let other warps load the next tile meanwhile."),
    StallReason(CLUSTER_BARRIER, "cluster barrier", "the other blocks of its cluster at their barrier",
                "Even out the work between the blocks of a cluster, or let them meet less often."),
)
# fmt: on
TOLD_APART: dict[str, StallReason] = {reason.name: reason for reason in _TOLD_APART}

STALL_REASONS: dict[str, StallReason] = {reason.name: reason for reason in _REASONS}
# What the samples call a reason, so the columns of lines and of sass too -> its name.
SAMPLED_AS: dict[str, str] = {reason.sampled_as: reason.name for reason in _REASONS if reason.sampled_as}


def _ways(reason: StallReason) -> tuple[Way, ...]:
    """Return how to know the warps in a state from samples, and under the names of 2019."""
    if reason.lacking:
        return ()
    name = reason.sampled_as or reason.name
    counted = f"smsp__pcsamp_warps_issue_stalled_{name}"
    return (
        same(f"smsp__warp_cycles_per_issue_stall_{name}", RELEASE_2019),
        over(
            (counted, "active_warps"),
            ("smsp__pcsamp_sample_count", "issued_per_cycle"),
            SAMPLED_SHARE,
            approximate=True,
        ),
    )


def _metric(reason: StallReason) -> Metric:
    name = f"{STALL_PREFIX}{reason.name}_per_issue_active.ratio"
    meaning = f"warps in this state, a cycle in which one issues; waits for {reason.waits_for}"
    row = (f"warps_{reason.name}", (name,), WARP_STATE, reason.label, "warp", None, NOISY, BY_ISSUED, meaning)
    return Metric(*row, lacking=reason.lacking, ncu_unit="inst", ways=_ways(reason))


STALL_METRICS: tuple[Metric, ...] = tuple(_metric(reason) for reason in _REASONS)


def as_counted(column: str) -> str:
    """Return what the counters call a column of lines: ``stall_no_instruction``, of samples ``…_instructions``."""
    start, _, reason = column.partition("stall_")
    bare = reason.removesuffix("_not_issued")
    return column if start else column.replace(bare, SAMPLED_AS.get(bare, bare)) if bare else column


def spoken(reason: str) -> str:
    """Return the name of a stall reason for people, also of one as samples spell it: ``lg throttle``, ``gmma``.

    The one place that words it, for terminal, pages, plots and prompts; JSON and tables of numbers keep ncu's name.
    """
    return SAMPLED_AS.get(reason, reason).replace("_", " ")


def in_ncu(reason: str) -> str:
    """Return a stall reason as it is said, with the one that ncu counts it as: ``wgmma (in ncu: barrier)``."""
    booked = BOOKED_AS.get(reason)
    return f"{spoken(reason)} (in ncu: {spoken(booked)})" if booked else spoken(reason)
