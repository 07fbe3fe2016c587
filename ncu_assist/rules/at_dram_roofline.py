"""The kernel is done: DRAM is at its ceiling, and what it moves is needed.

What the hardware does: no kernel reaches the nominal bandwidth of DRAM. Rows must be opened, reads and writes take
turns, and the first and last bytes travel alone: a copy of 128 MB reaches 76 % of an H200's peak, one of 4 GB 89 %.

Why there is nothing to win: at that ceiling the time is the bytes over the rate. More warps, fewer instructions or
fewer stalls change neither.

What to try: stop. What is left is to move fewer bytes: fuse with the kernel before or after, smaller types, or data
that stays in L2 from the launch before.

How it is told: 95 % of the bandwidth that a plain kernel reached on a GPU of this model for this mix of reads and
writes and this number of bytes (`ncu-assist ceilings`; curves of known GPUs come with the tool). Without a measured
curve 85 % of the peak, and from 75 % *assumed* where a launch moved less than 1 GB. What L2 still holds of its results
at the end counts as moved. A rate within 1 % of that limit has reached it, below 1 GB within 3.7 %: repeats and GPUs of
one model differ by so much. DRAM bytes that uncoalesced accesses or repeated traffic waste, above 5 %, make it their
fault instead.
"""

from __future__ import annotations

from ncu_assist.rules.base import Finding
from ncu_assist.rules.dram import OF_CEILING, OF_PEAK, STRAYS, asked_share, is_full, reach
from ncu_assist.rules.facts import Facts
from ncu_assist.rules.redundant_traffic import redundant_bytes
from ncu_assist.rules.traffic import wasted_dram_bytes

ID = "at-dram-roofline"
NEEDS: tuple[str, ...] = ("dram_throughput", "dram_bytes_read", "dram_bytes_write")
EVIDENCE = ("dram_throughput", "dram_rate", "dram_peak_bandwidth", "dram_bytes", "dram_read_share")
WASTE = 0.05  # of the bytes: as far as the limit is from the ceiling


def find(facts: Facts) -> Finding | None:
    """Return that the kernel is done; it saves nothing."""
    busy, limit = facts.value("dram_throughput") / 100.0, reach(facts)
    moved = facts.value("dram_bytes_read") + facts.value("dram_bytes_write")
    if moved <= 0 or not is_full(facts) or _wasted(facts) > WASTE * moved:
        return None
    assumed = limit.assumed and (facts.ceilings is not None or busy < (1.0 - STRAYS) * OF_PEAK)
    reached = f"{asked_share(facts):.0%} of its peak"
    message = f"done: DRAM is at {reached}, and this kernel can ask for {limit.share:.0%} ({limit.why})"
    if facts.ceilings is not None:
        ceiling = limit.share / OF_CEILING
        message = f"done: DRAM is at {reached}, a plain kernel of this mix and size at {ceiling:.0%} ({limit.why})"
    return Finding(ID, message, 0.0, EVIDENCE, assumed=assumed)


def _wasted(facts: Facts) -> float:
    return wasted_dram_bytes(facts) + redundant_bytes(facts)
