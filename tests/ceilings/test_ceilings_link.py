"""The rates of the host link, the copy engine's in bytes and a kernel's in requests; None where nobody measured."""

from __future__ import annotations

from dataclasses import replace

from made_ceilings import MIB, ceilings, point

from ncu_assist.ceilings.records import link_ceiling, most_requests


def test_the_rate_is_that_of_the_copy_engine() -> None:
    points = (point("host_to_device", 1, 0, MIB, 50e9), point("device_to_host", 1, 0, MIB, 60e9))
    found = link_ceiling(replace(ceilings(), link=points))
    assert found is not None
    assert round(found.bytes_per_second) == 50e9
    assert (found.assumed, found.why) == (False, "measured on this GPU")
    recorded = link_ceiling(replace(ceilings(), link=points, origin="recorded"))
    assert recorded is not None
    assert (recorded.assumed, recorded.why) == (True, "measured on another NVIDIA Made Up 9000")


def test_without_a_measurement_there_is_none() -> None:
    assert link_ceiling(None) is None
    assert link_ceiling(ceilings()) is None
    assert link_ceiling(replace(ceilings(), link=(point("zero_copy_read", 1, 0, MIB, 50e9),))) is None


def test_requests_of_a_sector_each_are_no_rate_in_bytes() -> None:
    points = (point("host_to_device", 1, 0, MIB, 50e9), point("zero_copy_sectors", 1, 0, MIB, 32 * 0.6e9))
    assert most_requests(replace(ceilings(), link=points)) == 0.6e9
    assert most_requests(replace(ceilings(), link=points[:1])) is None
    assert most_requests(None) is None
