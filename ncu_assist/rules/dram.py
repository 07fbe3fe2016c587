"""How much of its peak DRAM can reach for the bytes that a launch moved, measured or assumed."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.ceilings import dram_ceiling
from ncu_assist.ceilings.chips import SECTOR_BYTES
from ncu_assist.rules.facts import Facts

OF_CEILING = 0.95  # diagnoses: at or above it of the measured ceiling a kernel is done
OF_PEAK = 0.85  # without a curve, of the peak; a copy of 512 MB reaches 86 %, one of 4 GB 89 % on an H200
OF_PEAK_SMALL = 0.75  # and where less is moved: a copy of 128 MB reaches 76 %
SMALL_BYTES = 1 << 30  # 1 GB; buffers come in powers of two, so it is counted as 1,073,741,824


@dataclass(frozen=True)
class Reach:
    """The share of DRAM's peak, 0 to 1, from which a kernel is done; ``assumed`` where no curve says so."""

    share: float
    assumed: bool
    why: str


def reach(facts: Facts) -> Reach:
    """Return what share of its peak DRAM can be asked for, by bytes a launch moved.

    95 % of the ceiling measured for this mix and size. Without a curve 85 % of the peak, and 75 % where less than 1 GB
    was moved (diagnoses).
    """
    return _measured(facts) or _assumed(facts)


def moved_bytes(facts: Facts) -> float:
    """Return the bytes that one launch moved, the mean of a chain: each launch fills DRAM anew."""
    return (facts.value("dram_bytes_read") + facts.value("dram_bytes_write")) / max(1, len(facts.combined.launches))


def fill(facts: Facts) -> float:
    """Return how far DRAM was from what it can be asked for; 1 is at its limit.

    Measured ceilings are in bytes counted at DRAM. Those without a curve are in bytes that a kernel asked for: what it
    wrote and L2 still held at its end counts as well.
    """
    busy, limit = facts.value("dram_throughput") / 100.0, reach(facts)
    moved = facts.value("dram_bytes_read") + facts.value("dram_bytes_write")
    if moved <= 0 or _measured(facts):
        return busy / limit.share
    return busy * (1.0 + _still_in_l2(facts) / moved) / limit.share


def _still_in_l2(facts: Facts) -> float:
    """Return the bytes that were written and did not reach DRAM: no more than fit in L2, nor than the work needs."""
    written = facts.value("dram_bytes_write")
    requests, ideal = facts.value("global_store_requests"), facts.value("sectors_per_request_store_ideal")
    most = len(facts.combined.launches) * ((facts.device.l2_bytes if facts.device else None) or 0)
    held = min(max(0.0, SECTOR_BYTES * requests * ideal - written), most)
    if facts.algorithmic_bytes is None:
        return held
    return min(held, max(0.0, facts.algorithmic_bytes - facts.value("dram_bytes_read") - written))


def _measured(facts: Facts) -> Reach | None:
    peak = facts.get("dram_peak_bandwidth")
    if facts.ceilings is None or not peak:
        return None
    launches = max(1, len(facts.combined.launches))
    read, written = (facts.value(f"dram_bytes_{what}") / launches for what in ("read", "write"))
    ceiling = dram_ceiling(facts.ceilings, read, written, counted=True)
    return Reach(OF_CEILING * ceiling.bytes_per_second / peak, ceiling.assumed, ceiling.why) if ceiling else None


def _assumed(facts: Facts) -> Reach:
    share = OF_PEAK_SMALL if moved_bytes(facts) < SMALL_BYTES else OF_PEAK
    return Reach(share, True, "no ceiling was measured on this GPU")
