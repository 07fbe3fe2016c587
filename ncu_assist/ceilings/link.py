"""What the link to the host can deliver: its measured rate, which is the floor of what reads memory of the host."""

from __future__ import annotations

from ncu_assist.ceilings.records import Ceiling, Ceilings

COPY_ENGINE = "host_to_device"


def link_ceiling(ceilings: Ceilings | None) -> Ceiling | None:
    """Return the rate at which the copy engine fetches pinned memory of the host, None where nobody measured it.

    Nothing was seen to be faster: kernels that read the same memory reached 0.92 of it on an H200 and an H100.
    """
    points = [point for point in ceilings.link if point.name == COPY_ENGINE] if ceilings else []
    if ceilings is None or not points:
        return None
    live = ceilings.origin == "live"
    where = "this GPU" if live else f"another {ceilings.device.name}"
    return Ceiling(max(point.bytes_per_second for point in points), not live, f"measured on {where}")
