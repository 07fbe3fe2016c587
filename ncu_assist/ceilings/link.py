"""What the link to the host can deliver, measured: bytes, the floor of what reads memory of the host, and requests."""

from __future__ import annotations

from ncu_assist.ceilings.chips import SECTOR_BYTES
from ncu_assist.ceilings.records import Ceiling, Ceilings

COPY_ENGINE = "host_to_device"
SECTORS = "zero_copy_sectors"  # a kernel that reads a sector of every line: each is a request of its own


def link_ceiling(ceilings: Ceilings | None) -> Ceiling | None:
    """Return the rate at which the copy engine fetches pinned memory of the host, None where nobody measured it.

    Nothing was seen to be faster: kernels that read the same memory reached 0.92 of it on an H200 and an H100.
    """
    points = [point for point in ceilings.link if point.name == COPY_ENGINE] if ceilings else []
    if ceilings is None or not points:
        return None
    rate = max(point.bytes_per_second for point in points)
    return Ceiling(rate, ceilings.origin != "live", f"measured on {ceilings.where}")


def most_requests(ceilings: Ceilings | None) -> float | None:
    """Return how many reads a second of a kernel the link carries, None where nobody measured it.

    However small they are: requests of one sector do not fill the link with bytes.
    """
    points = [point for point in ceilings.link if point.name == SECTORS] if ceilings else []
    return max((point.bytes_per_second / SECTOR_BYTES for point in points), default=None)
