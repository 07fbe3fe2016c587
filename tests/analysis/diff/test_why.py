"""Why the time changed: what binds each side, and the change as a product that multiplies to the whole."""

from __future__ import annotations

from math import prod

import pytest
from factories import STALL
from hypothesis import given
from hypothesis import strategies as st
from ladder import counters
from made_counters import MADE, every, side
from recorded_family import ROOT

from ncu_assist.analysis.diff import DiffOptions
from ncu_assist.analysis.diff.why import USED, Why, factors, why
from ncu_assist.ceilings.chips import SECTOR_BYTES
from ncu_assist.ncu.catalogue.metrics import CATALOGUE
from ncu_assist.pipeline.reading import compare
from ncu_assist.project import Project
from ncu_assist.render.words.why import resource_lines
from ncu_assist.rules.model.resources import RESOURCES, SHARED, Bottleneck, bottleneck, bottleneck_of_launch

LONG = STALL.format("long_scoreboard")


sizes = st.floats(1.0, 1e12)
times_ns = st.floats(1e3, 1e9)
shares = st.floats(0.1, 100.0)


@given(st.tuples(sizes, sizes), st.tuples(shares, shares), st.tuples(times_ns, times_ns), st.integers(1, 4))
def test_the_factors_multiply_to_the_ratio_of_times(
    number: tuple[float, float], share: tuple[float, float], times: tuple[float, float], launches: int
) -> None:
    before = side(*[every(number[0], share[0])] * launches, duration_ns=times[0])
    after = side(every(number[1], share[1]), duration_ns=times[1])
    ratio = launches * times[0] / times[1]
    for resource in MADE:
        made = factors(resource, before, after)
        if made is None:  # a side hardly uses it
            assert min(share) ** 2 < 100.0 * 100.0 * USED or resource.name == SHARED
            continue
        assert prod(part.gain for part in made.parts) == pytest.approx(ratio, rel=1e-6), resource
        assert prod(part.gain for part in made.in_short) == pytest.approx(ratio, rel=1e-6), resource


def tiled(wavefronts: float, busy: float) -> dict[str, float]:
    """A launch of 1e5 cycles on 100 SMs with so many wavefronts of shared memory; ``busy`` is of the whole pipe."""
    work = {"shared_wavefronts_all": wavefronts, "sm_clock": 1e9, "sm_count": 100.0, "sm_cycles_elapsed": 1e5}
    return {**work, "l1_data_pipe": busy, "memory_throughput": busy, "sm_throughput": 10.0}


def test_a_resource_that_one_side_does_not_use_is_no_factor() -> None:
    """A thousand wavefronts against eight millions say nothing of the time that the thousand took."""
    without, with_tile = side(tiled(1e3, 70.0)), side(tiled(8e6, 80.0))
    for pair in ((without, with_tile), (with_tile, without)):
        found = why(*pair)
        assert found is not None
        assert SHARED not in [one.resource for one in found.factors]
        assert all(0.01 < part.gain < 100 for one in found.factors for part in one.parts)
    used = why(side(tiled(4e6, 70.0)), with_tile)
    assert used is not None
    assert used.main is not None
    assert (used.main.resource, used.main.parts[0].gain) == (SHARED, 0.5)


@pytest.mark.parametrize("pair", [(3, 4), (4, 5), (5, 6), (6, 7), (2, 7), (9, 10), (10, 7), (0, 2)])
def test_they_do_on_the_recorded_ladder(pair: tuple[int, int]) -> None:
    found = why(counters(pair[0]), counters(pair[1]))
    assert found is not None
    assert found.factors
    for made in found.factors:
        assert prod(part.gain for part in made.parts) == pytest.approx(found.time_ratio, rel=1e-6)


def explained(before: int, after: int) -> Why:
    found = why(counters(before), counters(after))
    assert found is not None
    assert found.baseline is not None
    assert found.candidate is not None
    return found


def gains(found: Why, resource: str) -> dict[str, float]:
    (made,) = [one for one in found.factors if one.resource == resource]
    return {part.kind: part.gain for part in made.parts}


def test_padding_leaves_the_work_that_binds_as_it_was() -> None:
    """v4 to v5: bank conflicts go, but the stores into L2 bind, and those stay."""
    found = explained(4, 5)
    assert not found.bound_changed
    assert found.candidate.bottleneck.name == "L2 input"  # type: ignore[union-attr]
    assert gains(found, "L2 input")["work"] == pytest.approx(1, abs=0.01)
    assert gains(found, "L2 input")["rate"] == pytest.approx(found.time_ratio, rel=0.01)


def test_a_coalesced_store_takes_the_work_from_what_bound() -> None:
    """v5 to v6: what the stores sent to L2 falls eightfold; the strided loads in the L1 data pipe are left."""
    found = explained(5, 6)
    assert [one.resource for one in found.factors] == ["L1 data pipe", "L2 input"]
    assert gains(found, "L2 input")["work"] == pytest.approx(8.4, rel=0.1)
    assert gains(found, "L1 data pipe")["work"] == pytest.approx(1.8, rel=0.1)


def test_registers_and_wide_loads_reach_dram() -> None:
    """v6 to v7: the same bytes at three times the rate, with a thirteenth of the wavefronts in L1."""
    found = explained(6, 7)
    assert [one.resource for one in found.factors] == ["DRAM", "L1 data pipe"]
    dram = gains(found, "DRAM")
    assert (dram["work"], dram["rate"]) == (pytest.approx(1, abs=0.01), pytest.approx(3.07, rel=0.03))
    assert gains(found, "L1 data pipe")["work"] == pytest.approx(13.6, rel=0.1)


@pytest.mark.parametrize("number", [2, 5, 7])
def test_the_rate_of_dram_is_its_share_of_peak(number: int) -> None:
    values = counters(number)
    (made,) = [one for one in [factors(RESOURCES["DRAM"], values, values)] if one]
    peak, busy = values.values["dram_peak_bytes_per_cycle"], values.values["dram_throughput"]
    assert peak
    assert busy
    rate = made.of("rate")
    assert rate is not None
    assert 100 * rate.candidate / peak == pytest.approx(busy, rel=0.02)


@pytest.mark.parametrize("number", [2, 5, 6, 7])
def test_littles_law_gives_the_latency_that_ncu_counted(number: int) -> None:
    values = counters(number)
    made = factors(RESOURCES["latency"], values, values)
    assert made is not None
    latency = made.of("latency")
    assert latency is not None
    assert latency.candidate == pytest.approx(values.values["warp_cycles_per_instruction"], rel=0.05)


@pytest.mark.parametrize(
    ("values", "name", "group"),
    [
        ({"dram_throughput": 83.0, "sm_throughput": 25.0}, "DRAM", "DRAM"),
        ({"l2_input_busy": 82.0, "l2_tags_busy": 72.0, "memory_throughput": 82.0}, "L2 input", "L2"),
        ({"l1_data_pipe": 82.0, "shared_wavefronts_all": 2e6}, "L1 data pipe", "L1"),
        ({"l1_data_pipe": 82.0, "shared_wavefronts_all": 9e6}, "shared memory", "shared memory"),
        ({"sm_throughput": 90.0, "issue_slots_busy": 88.0, "pipe_xu": 50.0}, "instruction issue", "SM"),
        ({"sm_throughput": 90.0, "pipe_xu": 100.0}, "XU pipe", "SM"),
        ({"sm_throughput": 90.0, "pipe_xu": 60.0}, "SM", "SM"),  # something that the catalogue does not have
        ({"dram_throughput": 30.0, "memory_throughput": 75.0}, "memory", "memory"),
        ({"dram_throughput": 63.0, "memory_throughput": 64.0}, "DRAM", "DRAM"),  # the mean of the largest is above
        ({"dram_throughput": 30.0, "memory_throughput": 30.0, "sm_throughput": 59.0}, "latency", "latency"),
    ],
)
def test_a_bottleneck_is_as_fine_as_the_counters(values: dict[str, float], name: str, group: str) -> None:
    around = {"sm_cycles_elapsed": 1e5, "sm_cycles_active": 9.5e4, "sm_count": 132.0}
    named = {CATALOGUE[key].names[0]: value for key, value in (around | values).items()}
    for found in (bottleneck_of_launch(named), bottleneck(side(around | values).values)):
        assert found is not None
        assert (found.name, found.group) == (name, group)
    assert Bottleneck("something new", 1.0).group == "something new"


def test_a_busy_pipe_counts_for_the_time_that_its_sm_had_a_warp() -> None:
    idle = {"sm_throughput": 61.0, "pipe_fma": 90.0, "sm_cycles_active": 3e4, "sm_cycles_elapsed": 1e5}
    found = bottleneck(side(idle).values)
    assert found is not None
    assert found.name == "SM"  # 27 % of the time: the pipe is not what ncu means by 61 %


BASIC = {"dram_throughput": 75.0, "memory_throughput": 80.0, "sm_throughput": 20.0, "sm_clock": 1.9e9}


def test_what_was_not_counted_is_not_said() -> None:
    basic = side(BASIC)
    found = why(basic, basic)
    assert found is not None
    assert found.candidate is not None
    assert (found.candidate.bottleneck.name, found.factors) == ("DRAM", ())  # its clock and its bytes are not there
    assert why(side({}), side({})) is None
    assert why(side(BASIC, duration_ns=None), basic) is None
    half = why(side({}), basic)
    assert half is not None
    assert (half.baseline, half.bound_changed) == (None, False)


def test_a_part_of_the_launches_is_not_the_whole() -> None:
    full = every(1e6, 80.0)
    some = {key: value for key, value in full.items() if key not in ("dram_bytes_read", "dram_clock")}
    whole, part = side(full, full), side(full, some)
    assert factors(RESOURCES["DRAM"], whole, whole) is not None
    assert factors(RESOURCES["DRAM"], whole, part) is None
    assert factors(RESOURCES["L2 input"], whole, part) is not None


def test_no_work_at_all_is_no_factor() -> None:
    """A candidate that moves its data by TMA has no wavefronts of loads in L1: nothing divides by that."""
    before, after = every(1e6, 80.0), every(1e6, 80.0) | {"l1_data_pipe": 0.0, "tma_loads": 5.0}
    assert factors(RESOURCES["L1 data pipe"], side(before), side(after)) is None
    found = why(side(before | {"l1_data_pipe": 99.0}), side(after))
    assert found is not None
    assert found.baseline is not None
    assert found.baseline.bottleneck.name == "L1 data pipe"
    assert [one.resource for one in found.factors] == [found.candidate.bottleneck.name]  # type: ignore[union-attr]


def test_launches_are_a_factor_where_their_number_changed() -> None:
    found = why(side(*[every(1e6, 80.0)] * 4, duration_ns=50_000.0), side(every(1e6, 80.0), duration_ns=100_000.0))
    assert found is not None
    assert (found.launches, found.time_ratio) == ((4, 1), 2.0)
    made = found.main
    assert made is not None
    assert made.parts[0].kind == "launches"
    assert made.parts[0].gain == 4.0
    assert found.factors[0].of("work").gain == pytest.approx(1.0)  # type: ignore[union-attr]


def test_latency_says_what_warps_wait_for() -> None:
    slow = side(every(1e6, 20.0), by_name={LONG: 20.0, STALL.format("barrier"): 2.0})
    found = why(slow, slow)
    assert found is not None
    assert found.candidate is not None
    assert (found.candidate.bottleneck.name, found.candidate.stall) == ("latency", "long_scoreboard")
    (made,) = found.factors
    assert [part.kind for part in made.parts] == ["work", "warps", "latency", "clock"]
    assert made.busy == (None, None)


def from_l2(asked: float, came: float) -> dict[str, float]:
    """A launch bound by DRAM whose SMs read ``asked`` bytes from L2, of which DRAM brought ``came``."""
    moved = {"dram_bytes_read": came, "l2_sectors_read": asked / SECTOR_BYTES, "dram_throughput": 80.0}
    return {**moved, "memory_throughput": 80.0, "sm_throughput": 10.0}


@pytest.mark.parametrize(
    ("before", "after", "reuse"),
    [
        ((8e9, 4e9), (8e9, 1e9), (2.0, 8.0)),
        ((8e9, 1e9), (8e9, 4e9), (8.0, 2.0)),
        ((8e9, 4e9), (2e9, 1e9), None),  # larger tiles: SMs ask for less
        ((4e9, 4e9), (4e9, 3e9), None),  # each byte is asked for once or so: no blocks share it
        ((8e9, 1e9), (8e9, 1.04e9), None),  # a trifle
        ((8e9, 4e9), (8e9, 0.0), None),
    ],
)
def test_reuse_in_l2_is_told_where_that_is_why_dram_brings_more_or_less(
    before: tuple[float, float], after: tuple[float, float], reuse: tuple[float, float] | None
) -> None:
    found = why(side(from_l2(*before)), side(from_l2(*after)))
    assert found is not None
    assert found.l2_reuse == (None if reuse is None else pytest.approx(reuse))


def test_heads_that_go_together_are_found_in_l2() -> None:
    """v19 of flash attention changes the order of its blocks alone."""
    diff = compare(Project(ROOT), ("flash_attention/v18", "flash_attention/v19"), None, DiffOptions("d128_causal"))
    assert diff.why is not None
    assert diff.why.l2_reuse == pytest.approx((2.24, 8.65), abs=0.01)
    assert "L2: hands out what DRAM brings 2.2 → 8.6 times: blocks that share run closer" in resource_lines(
        diff.why, ("v18", "v19")
    )
    even = compare(Project(ROOT), ("flash_attention/v18", "flash_attention/v19"), None, DiffOptions("d128"))
    assert even.why is not None
    assert even.why.l2_reuse is None
