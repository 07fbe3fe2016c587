"""Lanes of a warp want different words of the same bank of shared memory.

What the hardware does: shared memory has 32 banks of 4 bytes, and successive words are in successive banks. One pass (a
wavefront) serves each bank once. Lanes that want different words of one bank need further passes: up to 32 for one
instruction. Lanes that want the same word share it at no cost.

Why it costs time: L1 and shared memory have one data pipe an SM, with one wavefront a cycle. If the pipe is busy, the
time is proportional to the wavefronts. If it is mostly idle, the conflicts are hidden behind something else.

What to try: pad the rows of a tile by one element (33 instead of 32), or by 16 bytes where lanes access 8 or 16 at a
time, which a shift by less would misalign; mix bits of the row into the column (a swizzle);
let lanes walk the banks in another order; store an array of structures as separate arrays.

When it is reported: more than 2 % of the wavefronts of shared memory are excessive. Up to 2 % are left alone, because
arbitration between warps looks the same. Conflicts of atomics do not count: padding does not help against them.

How the saving is estimated: excessive wavefronts over all wavefronts of the data pipe, times how busy it was. The work
of DRAM and the other units limits the saving. If no unit is busy, so does the share of time that warps wait for shared
memory.
"""

from __future__ import annotations

from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.resources import L1_DATA
from ncu_assist.rules.model.savings import assumes_start, busiest_unit, loads, saved_ns, worth_saying
from ncu_assist.rules.model.traffic import l1_wavefronts

ID = "shared-bank-conflict"
NEEDS: tuple[str, ...] = (
    "shared_wavefronts", "shared_wavefronts_excessive", "l1_data_pipe", "sm_cycles_elapsed", "sm_count",
)  # fmt: skip
USES: tuple[str, ...] = ()
EVIDENCE = ("bank_conflict_ways", "shared_wavefronts_excessive", "shared_wavefronts", "l1_data_busy")
IGNORED = 0.02  # of all wavefronts (docs/sources.md: up to 2 % of raw conflicts are arbitration)

WAITS = ("mio_throttle", "short_scoreboard")
ADVICE = "pad the rows of the tile by {}, or swizzle its columns"
ACCESSES = ("shared_load_instructions", "shared_store_instructions", "shared_atomics")
OF_TWO_BYTES = ("float16", "bfloat16")


def find(facts: Facts) -> Finding | None:
    """Return what bank conflicts of loads and stores cost."""
    excessive, every, shared = _excessive(facts), l1_wavefronts(facts), facts.value("shared_wavefronts")
    if every <= 0 or shared <= 0 or excessive <= IGNORED * shared:
        return None
    gone = min(1.0, excessive / every)
    saved = worth_saying(min(saved_ns(facts, {L1_DATA: 1.0 - gone}), _waited_ns(facts, gone)), facts)
    if not saved:
        return None
    share = 100.0 * excessive / shared
    return Finding(
        rule=ID,
        message=f"{share:.0f} % of the passes through shared memory are caused by bank conflicts",
        saved_ns=saved,
        evidence=EVIDENCE,
        relieves=(L1_DATA,),
        left={L1_DATA: 1.0 - gone},
        waste="wavefronts_excessive",
        stalls=WAITS,
        assumed=assumes_start(facts),
        advice=ADVICE.format(_padding(facts)),
    )


def _padding(facts: Facts) -> str:
    """Return what shifts a row to other banks and leaves each access aligned: as much as the widest takes.

    Without conflicts an access of 4 bytes a lane is one pass, one of 8 two, one of 16 and `ldmatrix` up to four.
    """
    accesses = sum(facts.get(key) or 0.0 for key in ACCESSES)
    if accesses and facts.value("shared_wavefronts_ideal") > (1.0 + IGNORED) * accesses:
        return "16 bytes, which keeps wide accesses aligned"
    return "4 bytes, a whole bank" if facts.dtype in OF_TWO_BYTES else "one element"


def _waited_ns(facts: Facts, gone: float) -> float:
    """Return the most that shorter queues can win: the passes that go.

    As many accesses stay as there were, with the time that the pipe rests between them. Where no unit is busy, no more
    than warps wait for shared memory.
    """
    busiest, passes = busiest_unit(facts), gone * min(1.0, loads(facts)[L1_DATA])
    if busiest is None or busiest.is_busy or not facts.combined.stalls:
        return facts.duration_ns * passes
    return facts.duration_ns * min(passes, gone * sum(facts.stall(reason) for reason in WAITS) / 100.0)


def _excessive(facts: Facts) -> float:
    """Return the excessive wavefronts of loads and stores: hardware's conflicts say how many are the atomics'."""
    plain = facts.value("bank_conflicts_load") + facts.value("bank_conflicts_store")
    atomic = facts.value("bank_conflicts_atomic")
    part = plain / (plain + atomic) if atomic > 0 else 1.0
    return part * facts.value("shared_wavefronts_excessive")
