"""Savings that rest on the start of a kernel, as it was measured on two GPUs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_ceilings import ceilings
from shape_facts import made

from ncu_assist.ceilings import shipped
from ncu_assist.rules.model.savings import START_NS, assumes_start, saved_ns


def test_the_start_is_that_of_the_first_two_sizes_of_the_shipped_curves() -> None:
    starts = []
    for one in shipped():
        for name in {point.name for point in one.dram}:
            curve = [point for point in one.dram if point.name == name and point.source == "ncu"]
            first, second = sorted(curve, key=lambda point: point.bytes)[:2]
            each = (second.seconds.median - first.seconds.median) / (second.bytes - first.bytes)
            starts.append(1e9 * (first.seconds.median - each * first.bytes))
    assert min(starts) < START_NS < max(starts)
    assert sorted(starts)[len(starts) // 2] == pytest.approx(START_NS, rel=0.15)


@pytest.mark.parametrize(("duration_ns", "assumed"), [(50_000.0, True), (200_000.0, False)])
def test_a_short_launch_on_a_gpu_that_nobody_measured_assumes_it(duration_ns: float, assumed: bool) -> None:
    facts = made({}, duration_ns=duration_ns)
    assert assumes_start(facts) is assumed
    assert assumes_start(replace(facts, ceilings=ceilings())) is False
    assert assumes_start(made({}, {}, duration_ns=duration_ns)) is assumed


@pytest.mark.parametrize(("load", "gone"), [(0.9, 1.0), (0.81, 1.0), (0.6, 0.6)])
def test_the_whole_time_goes_with_a_unit_that_takes_the_time(load: float, gone: float) -> None:
    """From 80 % of what it can reach on: what rests between its work is waiting for it."""
    facts = made({"l2_data_busy": 90.0 * load}, duration_ns=1e7)
    assert saved_ns(facts, {"L2 data": 0.5}) == pytest.approx(0.5 * gone * 1e7, rel=1e-3)
