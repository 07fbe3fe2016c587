"""Samples that are not paired: never a hard word for few, likely only far outside the noise, no input that throws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from factories import times
from hypothesis import given, settings
from hypothesis import strategies as st

from ncu_assist.ncu.catalogue.noise import SHORT_NS, recording
from ncu_assist.verdict import (
    LIKELY_LONG,
    LIKELY_SHORT,
    MINIMUM_SAMPLES,
    REASONS,
    Verdict,
    compare_durations,
    compare_unpaired,
)

MHZ = [1980.0] * 100


def test_ranges_apart_are_faster_or_slower_if_cycles_say_so_too() -> None:
    slow, fast = times(1.2e5, 1), times(1e5, 2)
    assert compare_unpaired(slow, fast, MHZ, MHZ).verdict == "faster"
    verdict = compare_unpaired(fast, slow, MHZ, MHZ)
    assert (verdict.verdict, verdict.likely, verdict.reason) == ("slower", None, "robust-apart")
    assert (verdict.low, verdict.high, verdict.pairs, verdict.samples) == (None, None, 0, (100, 100))
    assert verdict.speedup == pytest.approx(1 / 1.2, rel=0.01)


def test_a_change_that_is_all_clock_is_no_change() -> None:
    at_boost = times(1e5, 1)
    verdict = compare_unpaired(at_boost, at_boost * 1980 / 1500, MHZ, [1500.0] * 100)
    assert (verdict.verdict, verdict.likely, verdict.reason) == ("unclear", None, "clocks-disagree")
    assert verdict.clocks_mhz == (1980, 1500)


@pytest.mark.parametrize("unknown", [None, [], [math.nan] * 100, [0.0] * 100, [-1.0] * 100, [math.inf] * 100])
def test_without_clocks_nothing_is_faster_but_something_may_be_the_same(unknown: list[float] | None) -> None:
    slow, fast = times(1.2e5, 1), times(1e5, 2)
    for clocks in ((unknown, MHZ), (MHZ, unknown), (unknown, unknown)):
        verdict = compare_unpaired(slow, fast, *clocks)
        assert (verdict.verdict, verdict.likely, verdict.reason) == ("unclear", "faster", "clocks-unknown")
        same = compare_unpaired(fast, fast, *clocks)
        assert (same.verdict, same.reason) == ("same", "robust-alike-in-time")
    assert compare_unpaired(fast, fast, MHZ, MHZ).reason == "robust-alike"


def test_neither_apart_nor_alike_is_unclear_with_its_reason() -> None:
    fast = times(1e5, 2)
    assert compare_unpaired(fast, fast * 1.02, MHZ, MHZ).reason == "robust-between"
    rng = np.random.default_rng(1)
    steady = np.full(100, 1e5) * np.exp(rng.normal(0, 1e-4, 100))
    stray = np.where(np.arange(100) < 10, steady * 1.2, steady)
    assert compare_unpaired(steady, stray, MHZ, MHZ).reason == "robust-scattered"


@pytest.mark.parametrize("count", [2, 5, MINIMUM_SAMPLES - 1])
def test_few_samples_are_unclear_at_best_likely(count: int) -> None:
    verdict = compare_unpaired(times(3e5, 1, count), times(1e5, 2, 50), MHZ[:count], MHZ[:50])
    assert (verdict.verdict, verdict.likely, verdict.reason) == ("unclear", "faster", "too-few-samples")
    assert verdict.samples == (count, 50)
    assert "farther apart than identical binaries have been seen" in verdict.meaning
    assert "farther apart" not in compare_unpaired(times(1.3e5, 1, count), times(1e5, 2, 50)).meaning
    assert compare_unpaired(times(1.05e5, 1, count), times(1e5, 2, 50)).likely is None
    enough = [times(median_ns, 1, MINIMUM_SAMPLES) for median_ns in (3e5, 1e5)]
    assert compare_unpaired(*enough, *[MHZ[:MINIMUM_SAMPLES]] * 2).verdict == "faster"


def test_one_sample_a_side_is_never_a_hard_verdict() -> None:
    expected = Verdict("unclear", "faster", "one-sample", 1.78, None, None, 0, (1, 1))
    assert compare_durations(178_000.0, 100_000.0) == expected
    assert compare_durations(100_000.0, 178_000.0).likely == "slower"
    for change in (1.0, 1.5, 2.0, 100.0, 1e6):
        assert compare_durations(1e5 * change, 1e5).verdict == compare_durations(1e5, 1e5 * change).verdict == "unclear"


@pytest.mark.parametrize(
    ("baseline_ns", "candidate_ns", "likely"),
    [
        (124_000, 125_000, None),  # 0.8 %: noise of a long kernel
        (60_000, 63_000, None),  # 5 %: the same cache-resident binary
        (60_000, 69_000, "slower"),
        (2_000, 1_820, None),  # -9 %: the same binary
        (12_000, 13_440, None),  # +12 %: an untouched kernel
        (11_000, 14_200, None),
        (11_000, 15_000, "slower"),
        (3_000, 2_000, "faster"),
        (25_000, 19_900, None),  # one side is short: 26 % is not enough
        (25_000, 20_100, "faster"),  # both are long
        (1e6, 1.09e6, None),
        (1e6, 1.11e6, "slower"),
    ],
)
def test_likely_is_what_is_far_outside_the_noise_of_kernels_of_that_length(
    baseline_ns: float, candidate_ns: float, likely: str | None
) -> None:
    assert compare_durations(baseline_ns, candidate_ns).likely == likely
    turned = {"faster": "slower", "slower": "faster", None: None}
    assert compare_durations(candidate_ns, baseline_ns).likely == turned[likely]


def test_likely_is_far_outside_the_recorded_noise() -> None:
    known = recording("gh100")
    assert known is not None
    for limit, duration_ns in ((LIKELY_LONG, SHORT_NS), (LIKELY_SHORT, SHORT_NS / 2)):
        strays = known.of("duration", duration_ns)
        assert strays is not None
        assert limit > 2 * strays.relative  # two samples may stray to both sides


def test_samples_that_share_values_are_not_likely_anything() -> None:
    rng = np.random.default_rng(2)
    wild = [1e5 * np.exp(rng.normal(0, 0.5, 9)) for _ in range(2)]
    assert compare_unpaired(wild[0], wild[1] * 1.2).likely is None
    assert compare_unpaired(wild[0], wild[1] * 10).likely == "slower"


def test_two_states_hide_no_big_change() -> None:
    """The rule for ranges sees nothing, because one fast sample is enough; the medians say what is likely."""
    slow = np.where(np.arange(100) < 5, 1e5, 2e5)
    verdict = compare_unpaired(slow, times(1e5, 1), MHZ, MHZ)
    assert (verdict.verdict, verdict.likely, verdict.reason) == ("unclear", "faster", "robust-between")


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, -math.inf, 1e-300, 1e300])
def test_what_is_no_time_is_a_reason(bad: float) -> None:
    nothing = Verdict("unclear", None, "bad-samples", None, None, None, 0)
    assert compare_durations(bad, 100.0) == compare_durations(100.0, bad) == nothing
    assert compare_unpaired([1e5] * 20, [1e5] * 19 + [bad]) == nothing


def test_sides_without_samples_are_a_reason() -> None:
    nothing = Verdict("unclear", None, "no-samples", None, None, None, 0)
    assert compare_durations(None, 100.0) == compare_durations(100.0, None) == compare_durations(None, None) == nothing
    assert compare_unpaired([], [1.0]) == compare_unpaired([1.0], []) == compare_unpaired([], []) == nothing


NUMBERS = st.lists(st.floats(width=32) | st.floats(1e3, 1e7), max_size=30)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(NUMBERS, NUMBERS, st.none() | NUMBERS, st.none() | NUMBERS)
def test_no_input_throws(
    baseline: list[float], candidate: list[float], baseline_mhz: list[float] | None, candidate_mhz: list[float] | None
) -> None:
    verdict = compare_unpaired(baseline, candidate, baseline_mhz, candidate_mhz)
    assert verdict.reason in REASONS
    if min(len(baseline), len(candidate)) < MINIMUM_SAMPLES:
        assert verdict.verdict == "unclear"
    if verdict.speedup is not None:
        assert 0 < verdict.speedup < math.inf
