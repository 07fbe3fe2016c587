"""What the link to the host needs for what crossed it, at the rates that it can reach: of bytes, and of requests."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.ceilings.chips import SECTOR_BYTES
from ncu_assist.ceilings.interpolation import most_requests
from ncu_assist.rules.model.facts import Facts

# Bytes a second of 16 lanes, by the first digits of the compute capability: PCIe 3.0, 4.0, 5.0 (PCI-SIG: 8, 16 and 32
# GT/s a lane, 128 of 130 bits are data). Reports say how many lanes there are; how fast they are, of a link at rest.
LANES = {"7": 15.75e9, "8": 31.5e9, "9": 63e9, "10": 63e9, "12": 63e9}
KERNEL_READS = "zero_copy_read"
ALL_LANES = 16
SLOWEST, REACHED = "7", 0.85
# What ncu counts as written over PCIe while nothing is written to the host: requests for reading, of which each is a
# header of four words (PCI Express Base Specification, memory requests with 64-bit addresses). `host_read` of the fault
# gallery asks for 65,536 lines and shows 67,744 such headers. What is written has them, too: `host_write` shows
# 36.1 bytes a sector, in whole lines.
HEADER_BYTES = 16
LINE_SECTORS = 4  # a request is of a line at most
NS = 1e9


@dataclass(frozen=True)
class Crossed:
    """What crossed the link: sectors read, requests for them, sectors written."""

    read: float
    requests: float
    written: float


def crossed(facts: Facts) -> Crossed:
    """Return what crossed the link; requests are a lower bound, whole lines, where they were not counted.

    A request brings one sector at least and four at most: what else was written over PCIe is no request for reading.
    """
    read, written = facts.value("host_sectors_read"), facts.value("host_sectors_write")
    data = (SECTOR_BYTES + HEADER_BYTES / LINE_SECTORS) * written
    sent = facts.value("pcie_write_bandwidth") * facts.duration_ns / NS - data
    return Crossed(read, min(read, max(read / LINE_SECTORS, sent / HEADER_BYTES)), written)


def link_ns(facts: Facts, what: Crossed | None = None) -> float:
    """Return the time that the link takes for what crossed it, or for a part of that; at most that of the launch.

    The longest of three: bytes read, bytes written, and requests for reading, where their rate was measured. 0 where
    nothing crossed, or that was not counted.
    """
    what = what or crossed(facts)
    return min(facts.duration_ns, max(_bytes_ns(what, link_rate(facts)[0]), _requests_ns(facts, what)))


def are_requests_the_limit(facts: Facts, what: Crossed) -> bool:
    """Return whether requests take the link longer than the bytes that they bring."""
    return _requests_ns(facts, what) > _bytes_ns(what, link_rate(facts)[0])


def link_load(facts: Facts) -> float:
    """Return the share of the time that the link needs for what crossed it, 0 to 1.

    0 where more crossed than PCIe can carry and nobody measured the link: it is another one (C2C), of unknown rate.
    """
    what, time = crossed(facts), facts.duration_ns
    is_measured = facts.ceilings is not None and bool(facts.ceilings.link)
    is_other = not is_measured and _bytes_ns(what, link_rate(facts)[0] / REACHED) > time
    return 0.0 if is_other or not time else link_ns(facts, what) / time


def link_rate(facts: Facts) -> tuple[float, bool]:
    """Return what the link delivers to a kernel in bytes a second, and whether that is assumed.

    That of kernels that read from end to end, which stays below the copy engine's; the latter where they were not run.
    """
    if facts.ceilings and facts.ceilings.link:
        own = [point for point in facts.ceilings.link if point.name == KERNEL_READS]
        return max(point.bytes_per_second for point in own or facts.ceilings.link), facts.ceilings.origin != "live"
    capability = facts.device.compute_capability if facts.device else ""
    width = facts.get("pcie_link_width") or ALL_LANES
    return REACHED * LANES.get(capability.partition(".")[0], LANES[SLOWEST]) * width / ALL_LANES, True


def _bytes_ns(what: Crossed, rate: float) -> float:
    return SECTOR_BYTES * max(what.read, what.written) / rate * NS


def _requests_ns(facts: Facts, what: Crossed) -> float:
    most = most_requests(facts.ceilings)
    return what.requests / most * NS if most else 0.0
