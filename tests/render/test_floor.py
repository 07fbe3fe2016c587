"""The floor in words: what sets the least time, what was timed beside the version, or what is missing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_ceilings import MIB, ceilings, point

from ncu_assist.record import Timing, WorkloadFacts
from ncu_assist.render.facts import WorkloadRow
from ncu_assist.render.floor import UNMEASURED, floor_words

TIMING = Timing("w", "b", 10, 0, 4e6, 4e6, 4e6, 4e6, None, None, None)
MEASURED = replace(ceilings(), link=(point("host_to_device", 1, 0, MIB, 50e9),))
FACTS = WorkloadFacts("w", "uint8", {}, 400_000_000, 0, None, 200_000_000)


def _row(host_bytes: int | None, share: float | None = None, **times: float) -> WorkloadRow:
    facts = WorkloadFacts("w", "uint8", {}, 400_000_000, 0, host_bytes)
    return WorkloadRow(facts, None, replace(TIMING, **times), None, None, share)


def test_of_a_device_workload_it_is_dram_and_the_copy_beside() -> None:
    measured = ceilings(point("copy", 1, 1, 400_000_000, 200e9, "events"))
    words = floor_words(replace(_row(None, 0.5, copy_ns=2e6), workload=FACTS), measured)
    dram = "2 ms, 400 MB at the 200 GB/s of DRAM (measured on this GPU), 2.00x away"
    assert words == f"{dram}; a device copy of the same bytes takes 2 ms, 2.00x away"


def test_without_a_curve_there_is_the_copy_alone() -> None:
    words = floor_words(_row(None, 0.5, copy_ns=2e6), None)
    assert words == "a device copy of the same bytes takes 2 ms, 2.00x away"
    assert floor_words(_row(None), None) == ""


@pytest.mark.parametrize("copy_ns", [1e5, 3e6])
def test_of_bytes_from_the_host_it_is_the_link_whatever_a_device_copy_took(copy_ns: float) -> None:
    words = floor_words(_row(100_000_000, copy_ns / 4e6, copy_ns=copy_ns, link_ns=2.1e6), MEASURED)
    assert words.startswith(
        "2 ms, 100 MB at the 50 GB/s of the link from the host (measured on this GPU), 2.00x away; "
    )
    assert words.endswith("the copy engine takes 2.10 ms for them")
    assert "device copy" not in words


def test_without_a_measured_link_it_says_so() -> None:
    assert floor_words(_row(100_000_000), None) == f"not known for 100 MB from the host; {UNMEASURED}"
    beside = floor_words(_row(100_000_000, link_ns=2e6), ceilings())
    engine = "the copy engine takes 2 ms for them, 2.00x away"
    assert beside == f"not known for 100 MB from the host; {UNMEASURED}; {engine}"


def test_of_what_was_not_timed_there_is_none() -> None:
    assert floor_words(None, MEASURED) == ""
    assert floor_words(replace(_row(100), timing=None), MEASURED) == ""
