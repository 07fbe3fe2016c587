"""Lanes of a warp read constant memory at different addresses.

What the hardware does: the constant cache delivers one address a cycle to all lanes of a warp. If the lanes ask for n
addresses, the address divergence unit (ADU) carries the instruction out n times, one after the other.

Why it costs time: the unit is busy n times as long. Other warps wait for their turn (`mio_throttle`) and for the value
(`short_scoreboard`). A table that misses the small cache of an SM also waits for the next cache at each address.

What to try: read the table from shared memory (fill it once a block) or with plain global loads; sort the work so that
lanes of a warp want the same entry; keep a few entries in registers and select by comparison.

When it is reported: constants are requested more than once every four instructions. The address of a constant must be
computed or loaded, and another instruction must use the value, so at most every fourth instruction is a load of a
constant. Requests beyond that are repeats.

How the saving is estimated: the share of the warps' waits for such units, times the constants' part of the work of
these units. If the ADU takes the time, at 80 % of what it can reach, all other waits are for it as well. One read for
every fourth instruction stays, at two cycles of the unit each. A request takes longer if it misses the small cache, but
a table in other memory has no such misses.
"""

from __future__ import annotations

from ncu_assist.rules.base import Finding
from ncu_assist.rules.model.facts import Facts
from ncu_assist.rules.model.pipes import ADU, ADU_A_CYCLE, ISSUE, busy
from ncu_assist.rules.model.savings import loads, takes_the_time

ID = "constant-divergence"
NEEDS: tuple[str, ...] = ("constant_requests", "instructions", "shared_wavefronts_all")
USES: tuple[str, ...] = ("warps_selected",)
MOST_LOADS = 0.25  # of all instructions
WAITS = ("mio_throttle", "short_scoreboard", "imc_miss")


def find(facts: Facts) -> Finding | None:
    """Return what repeated reads of constants cost; None where lanes agree on the address."""
    requests, instructions = facts.value("constant_requests"), facts.value("instructions")
    if requests <= MOST_LOADS * instructions or not instructions:
        return None
    waits = 1.0 if takes_the_time(ADU, loads(facts)[ADU]) else sum(facts.stall(reason) for reason in WAITS) / 100.0
    among = requests / (requests + facts.value("shared_wavefronts_all"))
    kept = MOST_LOADS * instructions / requests * _of_hits(facts, requests)
    return Finding(
        rule=ID,
        message=f"reads constants at diverging addresses: {requests / instructions:.1f} reads per executed instruction",
        saved_ns=facts.duration_ns * min(1.0, waits) * among * (1.0 - kept),
        evidence=("constant_requests", "instructions", "constant_hit_rate", "pipe_adu"),
        relieves=(ADU, ISSUE),
        left={ADU: kept},
        stalls=WAITS,
        advice="read the table from shared memory or through plain global loads",
    )


def _of_hits(facts: Facts, requests: float) -> float:
    """Return the part of the unit's busy time that requests would take if all hit, 0 to 1; 1 if that is not known."""
    cycles = busy(facts, ADU) * facts.value("sm_cycles_elapsed") * (facts.get("sm_count") or 0.0)
    return min(1.0, requests / ADU_A_CYCLE / cycles) if cycles else 1.0
