"""What cannot be is found, each in its own words; what was measured is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from made_ceilings import MADE_UP, MIB, ceilings, point

from ncu_assist.ceilings import Ceilings, Rate, Spread, shipped
from ncu_assist.ceilings.storage import problems

GOOD = ceilings()


@pytest.mark.parametrize("one", list(shipped()), ids=lambda one: one.device.name)
def test_what_was_measured_is_possible(one: Ceilings) -> None:
    assert problems(one) == ()


def _device(**changed: object) -> Callable[[Ceilings], Ceilings]:
    return lambda one: replace(one, device=replace(MADE_UP, **changed))  # type: ignore[arg-type]


def _point(**changed: object) -> Callable[[Ceilings], Ceilings]:
    return lambda one: replace(one, dram=(replace(one.dram[0], **changed), *one.dram[1:]))  # type: ignore[arg-type]


def _rate(**changed: object) -> Callable[[Ceilings], Ceilings]:
    return lambda one: replace(one, rates=(replace(one.rates[0], **changed),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_device(name=" "), "no GPU is named"),
        (_device(compute_capability="nine"), "'nine' is no compute capability"),
        (_device(name="NVIDIA T4"), "NVIDIA T4 has compute capability 7.5, not 9.0"),
        (_device(sm_count=0), "a GPU with 0 multiprocessors"),
        (lambda one: replace(one, created="yesterday"), "'yesterday' is no time (ISO 8601)"),
        (lambda one: replace(one, dram=()), "nothing of DRAM was measured"),
        (lambda one: replace(one, dram=(*one.dram, one.dram[0])), "dram: copy of 33.6 MB under ncu is there twice"),
        (_point(read_bytes=1), "dram copy, 33.6 MB: 1 read and 16777216 written are not 33554432"),
        (_point(bytes_per_second=1e9), "33.6 MB in 3.35544e-05 s are not 1e+09 byte/s: other units?"),
        (_point(seconds=Spread(1.0, 2.0, 1.0, 3)), "times of 2, 1 and 1 s are no quartiles"),
        (_point(seconds=Spread(0.0, 0.0, 0.0, 3)), "1e+12 byte/s is no rate"),
        (_rate(per_cycle_per_sm=5.0), "pipe fma: 5 inst a cycle and SM, where there are 4 at most"),
        (_rate(unit="op"), "pipe fma: is in inst, not in op"),
        (_rate(pct_of_peak=140.0), "pipe fma: 140 % of its peak"),
        (_rate(per_second=1e9), "pipe fma: 3.9 a cycle and SM at 1500 MHz on 100 SMs are not 1e+09 a second"),
        (_rate(per_second=float("inf")), "pipe fma: inf a second is no rate"),
    ],
)
def test_what_cannot_be_is_said(change: Callable[[Ceilings], Ceilings], words: str) -> None:
    found = problems(change(_consistent(GOOD)))
    assert words in found or any(one.endswith(words) for one in found), found


def test_no_memory_moves_more_than_its_widest_bus() -> None:
    """GDDR at 5,000 MHz over 512 bits moves 640 GB/s."""
    gddr = replace(MADE_UP, compute_capability="8.6")
    fast = ceilings(point("copy", 1, 1, 1024 * MIB, 700e9), device=gddr)
    clocked = replace(fast, conditions=replace(fast.conditions, memory_clock_mhz=5000.0), rates=())
    assert problems(clocked) == ("dram copy, 1.07 GB: 700 GB/s, GDDR at 5000 MHz has 640 GB/s",)
    assert problems(replace(fast, rates=())) == ()


def _consistent(one: Ceilings) -> Ceilings:
    """Return the made-up ceilings with a rate that its own clock gives."""
    rate = Rate("pipe", "fma", "inst", "ncu", Spread(1e-3, 1e-3, 1e-3, 2), 5.85e11, 3.9, 97.5, "made__up", 1500.0)
    return replace(one, rates=(rate,))
