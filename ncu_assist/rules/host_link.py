"""What the link to the host needs for the bytes that crossed it, at the rate that it can reach."""

from __future__ import annotations

from ncu_assist.ceilings.chips import SECTOR_BYTES
from ncu_assist.rules.facts import Facts

# Bytes a second of 16 lanes, by the first digits of the compute capability: PCIe 3.0, 4.0, 5.0 (PCI-SIG: 8, 16 and 32
# GT/s a lane, 128 of 130 bits are data).
LANES = {"7": 15.75e9, "8": 31.5e9, "9": 63e9, "10": 63e9, "12": 63e9}
SLOWEST, REACHED = "7", 0.85
NS = 1e9


def link_ns(facts: Facts) -> float:
    """Return the time that the larger of what was read and written takes across the link, at most that of the launch.

    0 where nothing crossed, or that was not counted.
    """
    crossed = max(facts.value("host_sectors_read"), facts.value("host_sectors_write"))
    return min(facts.duration_ns, SECTOR_BYTES * crossed / link_rate(facts)[0] * NS)


def link_rate(facts: Facts) -> tuple[float, bool]:
    """Return what the link delivers in bytes a second, and whether that is assumed."""
    if facts.ceilings and facts.ceilings.link:
        return max(point.bytes_per_second for point in facts.ceilings.link), facts.ceilings.origin != "live"
    capability = facts.device.compute_capability if facts.device else ""
    return REACHED * LANES.get(capability.partition(".")[0], LANES[SLOWEST]), True
