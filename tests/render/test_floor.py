"""The floor in words: what sets the least time, what was timed beside the version, or what is missing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_ceilings import MIB, ceilings, point

from ncu_assist.analysis.run_view import WorkloadRow
from ncu_assist.analysis.yardstick import COPY, OPERATIONS
from ncu_assist.ceilings import Ceilings, Floor, Rate, Spread, floor_of
from ncu_assist.record import Bench, Timing, WorkloadFacts
from ncu_assist.render.words.floors import UNMEASURED, floor_words, lowered_words

TIMING = Timing("w", "b", 10, 0, 4e6, 4e6, 4e6, 4e6, None, None, None)
MEASURED = replace(ceilings(), link=(point("host_to_device", 1, 0, MIB, 50e9),))
FACTS = WorkloadFacts("w", "uint8", {}, 400_000_000, 0, None, 200_000_000)


def _row(
    host_bytes: int | None, share: float | None = None, known: Ceilings | None = None, **times: float
) -> WorkloadRow:
    facts = replace(FACTS, host_bytes=host_bytes)
    floor = floor_of(facts, known)
    return WorkloadRow(facts, None, replace(TIMING, **times), None, None, share, floor=floor)


def test_of_a_device_workload_it_is_dram_and_the_copy_beside() -> None:
    measured = ceilings(point("copy", 1, 1, 400_000_000, 200e9, "events"))
    words = floor_words(_row(None, 0.5, measured, copy_ns=2e6))
    dram = "2 ms, 400 MB at the 200 GB/s of DRAM (measured on this GPU), 2.00x away"
    assert words == f"{dram}; a device copy of the same bytes takes 2 ms, 2.00x away"


def test_without_a_curve_there_is_the_copy_alone() -> None:
    words = floor_words(_row(None, 0.5, copy_ns=2e6))
    assert words == "a device copy of the same bytes takes 2 ms, 2.00x away"
    assert floor_words(_row(None)) == ""


@pytest.mark.parametrize("copy_ns", [1e5, 3e6])
def test_of_bytes_from_the_host_it_is_the_link_whatever_a_device_copy_took(copy_ns: float) -> None:
    words = floor_words(_row(100_000_000, copy_ns / 4e6, MEASURED, copy_ns=copy_ns, link_ns=2.1e6))
    assert words.startswith(
        "2 ms, 100 MB at the 50 GB/s of the link from the host (measured on this GPU), 2.00x away; "
    )
    assert words.endswith("the copy engine takes 2.10 ms for them")
    assert "device copy" not in words


def test_without_a_measured_link_it_says_so() -> None:
    assert floor_words(_row(100_000_000)) == f"not known for 100 MB from the host; {UNMEASURED}"
    beside = floor_words(_row(100_000_000, None, ceilings(), link_ns=2e6))
    engine = "the copy engine takes 2 ms for them, 2.00x away"
    assert beside == f"not known for 100 MB from the host; {UNMEASURED}; {engine}"


def test_of_what_was_not_timed_there_is_none() -> None:
    assert floor_words(None) == ""
    assert floor_words(replace(_row(100, None, MEASURED), timing=None)) == ""


def test_of_operations_it_is_the_tensor_cores_and_no_copy() -> None:
    """A copy of the bytes takes a twentieth of the time: it says nothing of a product of matrices."""
    rate = Rate("tensor", "wgmma_bf16", "op", "events", Spread(1e-3, 1e-3, 1e-3, 1), 8e14, None)
    known = replace(ceilings(point("copy", 1, 1, 400_000_000, 4e12, "events")), rates=(rate,))
    facts = replace(FACTS, dtype="bfloat16", flops=16 * 10**11)
    row = replace(_row(None, 0.05, copy_ns=2e5), workload=facts, floor=floor_of(facts, known))
    assert (
        floor_words(row) == "2 ms, 1.60 TFLOP at the 800 TFLOP/s of the tensor cores (measured on this GPU), 2.00x away"
    )
    assert (row.share, row.measure) == (0.5, OPERATIONS)
    assert row.share_of(COPY) is None


@pytest.mark.parametrize(("nearly", "is_told"), [(0.92, True), (0.7, False)])
def test_what_else_takes_nearly_as_long_is_told(nearly: float, is_told: bool) -> None:
    first = Floor("tensor", 10**12, "flop", 1e15, "measured", False)
    second = Floor("xu", int(nearly * 10**9), "op", 1e12, "measured", False)
    floor = replace(first, terms=(first, second))
    words = floor_words(replace(_row(None, 0.5, copy_ns=2e5), floor=floor))
    assert ("; 920 MOP of the special-function unit take 920 µs" in words) == is_told
    assert ("special-function" in words) == is_told


def _timing(workload: str, clock: float | None) -> Timing:
    return Timing(workload, "b", 100, 0, 1e6, 1e6, 1e6, 1e6, clock, None, None)


@pytest.mark.parametrize(
    ("clock", "reasons", "power", "said"),
    [
        (
            1557.0,
            ("software power cap",),
            (698.4, 700.0),
            "1557 MHz while it was timed, 1977 on small; software power cap",
        ),
        (1713.0, (), (None, None), "SM at 1713 MHz while it was timed, 1977 on small"),
        (1960.0, ("software power cap",), (698.4, 700.0), ""),
        (None, (), (None, None), ""),
    ],
)
def test_a_clock_that_was_lowered_is_said(
    clock: float | None, reasons: tuple[str, ...], power: tuple[float | None, float | None], said: str
) -> None:
    timings = _timing("large", clock), _timing("small", 1977.0)
    bench = Bench("b", "read", 100, None, reasons, timings, *power)
    words = lowered_words(bench, timings[0])
    assert said in words
    assert bool(said) == bool(words)
    assert ("698 of 700 W at most" in words) == (bool(said) and power[0] is not None)
    assert lowered_words(bench, timings[1]) == ""
    assert lowered_words(None, timings[0]) == ""
