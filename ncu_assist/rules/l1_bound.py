"""L1 is at its limit, because the same data is loaded from it again and again.

What the hardware does: an SM's L1 hands out 128 bytes a cycle, one wavefront. A sum of products takes a quarter of
that time in each of the four schedulers, so a kernel that loads an operand for every sum of products waits for L1
long before the arithmetic is busy, even when each load hits.

Why it costs time: loads that hit are cheap, not free. Where L1's pipe is the busiest unit, the time follows the
number of loads.

What to try: keep in registers what is used again: several results a thread, so that one load serves all of them;
a sliding window in a filter; a tile of registers in a product. Wider loads, 16 bytes a lane, where the requests
rather than the bytes are at their limit.

How it is told: a part of L1 or the LSU pipe is the busiest unit, at 60 % or more (below that NVIDIA's own
speed-of-light rule calls a kernel bound by latency), global loads are most of its wavefronts, coalesced, and at least
half of them hit. The time saved is that of the loads that hit: data that is there already could have been kept.
"""

from __future__ import annotations

from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.bounds import assumes_start, is_worth_saying, saved_ns
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.resources import L1_DATA
from ncu_assist.rules.model.traffic import global_share_of_l1, is_coalesced, l1_wavefronts

ID = "l1-bound"
NEEDS: tuple[str, ...] = (
    "l1_data_pipe", "l1_hit_rate_load", "global_load_requests", "global_load_sectors",
    "sectors_per_request_load_ideal", "shared_wavefronts", "sm_cycles_elapsed", "sm_count",
)  # fmt: skip
USES: tuple[str, ...] = ()
EVIDENCE = ("l1_busy", "pipe_lsu", "l1_hit_rate_load", "global_load_requests", "sectors_per_request_load")
UNITS = (L1_DATA, "L1 input", "L1 writeback", "LSU pipe")
ADVICE = "keep in registers what is used again: several results a thread, so that one load serves all of them"
BUSY = 0.60
MOST = 0.5
SECTORS_A_WAVEFRONT = 4  # 128 bytes a cycle


def find(facts: Facts) -> Finding | None:
    """Return what it costs to load again what a register could have kept."""
    busiest, loads = facts.busiest(), _share_of_loads(facts)
    hits = facts.value("l1_hit_rate_load") / 100.0
    if busiest is None or busiest[0].name not in UNITS or busiest[1] < BUSY:
        return None
    if loads < MOST or hits < MOST or not is_coalesced(facts):
        return None
    saved = saved_ns(facts, dict.fromkeys(UNITS, 1.0 - loads * hits))
    if not is_worth_saying(saved, facts):
        return None
    message = f"L1 is {100 * busiest[1]:.0f} % busy, mostly with loads of what it has already: {100 * hits:.0f} % hit"
    stalls = ("lg_throttle", "long_scoreboard", "mio_throttle")
    detail = {"pipe": "lsu"}
    return Finding(
        rule=ID,
        message=message,
        saved_ns=saved,
        evidence=EVIDENCE,
        relieves=UNITS,
        waste="samples",
        stalls=stalls,
        detail=detail,
        assumed=assumes_start(facts),
        advice=ADVICE,
    )


def _share_of_loads(facts: Facts) -> float:
    """Return the share of global loads in the wavefronts of the data pipe; one a request at least."""
    every = l1_wavefronts(facts)
    loads = max(facts.value("global_load_requests"), facts.value("global_load_sectors") / SECTORS_A_WAVEFRONT)
    return min(global_share_of_l1(facts), loads / every) if every else 0.0
