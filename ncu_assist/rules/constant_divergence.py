"""Reads constant memory at diverging addresses.

Hardware: the constant cache hands out one address a cycle to all lanes of a warp. An instruction whose lanes ask for n
different addresses is carried out n times, one after the other, by the address divergence unit (ADU).

Cost: the unit is busy n times as long; other warps wait for their turn (`mio_throttle`) and for the value
(`short_scoreboard`). A table that misses the small cache of an SM waits for the next one at each address as well.

What to try: read the table from shared memory (fill it once a block) or through plain global loads; sort the work so
that lanes of a warp want the same entry; keep a few entries in registers and choose by comparison.

Thresholds: at most every fourth instruction is a load of a constant (its address has to be worked out or loaded, and
something must use the value), so requests beyond a quarter of the instructions are repeats. The time is the share of
warps' waits for such units, times the constants' part of what the units do; where the ADU takes the time, at 80 % of
what it can reach, all other waits are for it as well. What stays is a read for every fourth instruction, and of those
only the two cycles of the unit: a request takes longer where it misses the small cache, as no table elsewhere does.
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
        message=f"reads constants at diverging addresses: {requests / instructions:.1f} reads an instruction executed",
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
