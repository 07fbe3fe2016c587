"""The interval of a median: it holds what it promises, and sees samples that hang together or come in ticks."""

from __future__ import annotations

import numpy as np
import pytest
from noises import TICK_NS, lasting, ticked

from ncu_assist.verdict.deciding import (
    block_bootstrap,
    compare_paired,
    correlation_length,
    median_interval,
    order_statistics,
    student_quantile,
)
from ncu_assist.verdict.records import REASONS
from ncu_assist.verdict.samples import clock_step, spread_ratios


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [10, 30, 100])
def test_the_interval_holds_the_median_in_99_percent(rounds: int) -> None:
    inside = 0
    for seed in range(300):
        low, high = median_interval(np.random.default_rng(seed).standard_t(3, rounds))
        inside += low <= 0 <= high
    assert inside >= 300 * 0.98


def test_order_statistics_are_the_binomial_ranks() -> None:
    assert order_statistics(np.arange(10.0)) == (0.0, 9.0)
    assert order_statistics(np.arange(100.0)) == (36.0, 63.0)  # P(binomial(100, 1/2) <= 36) = 0.33 %, <= 37: 0.60 %
    low, high = order_statistics(np.arange(2000.0))
    assert low == pytest.approx(2000 / 2 - 2.5758 * np.sqrt(2000) / 2, abs=1.5)
    assert high == 1999 - low


@pytest.mark.parametrize(  # scipy.stats.t.ppf(0.995, freedom) of scipy 1.17
    ("freedom", "quantile"),
    [
        (2, 9.924843), (2.3, 8.003745), (3, 5.840909), (3.7, 4.869252), (5, 4.032143), (10, 3.169273),
        (29.9, 2.750614), (30, 2.749996), (100, 2.625891),
    ],
)  # fmt: skip
def test_the_quantile_of_few_degrees_of_freedom(freedom: float, quantile: float) -> None:
    assert student_quantile(freedom) == pytest.approx(quantile, rel=2e-5)


def test_the_bootstrap_is_wider_where_neighbours_are_alike() -> None:
    mixed, alike = np.random.default_rng(1).normal(0, 1, 400), np.sort(np.random.default_rng(1).normal(0, 1, 400))
    low, high = block_bootstrap(mixed)
    assert 0.15 < high - low < 0.6  # independent: 2 x 2.58 x 1.25 / sqrt(400) = 0.32
    low, high = block_bootstrap(alike)
    assert high - low > 0.9


def test_correlation_is_seen() -> None:
    rng = np.random.default_rng(3)
    assert correlation_length(rng.normal(0, 1, 1000)) < 1.5
    assert 5 < correlation_length(lasting(1, 0.8)(rng, 1000)) < 20  # (1 + 0.8) / (1 - 0.8) = 9
    assert correlation_length(lasting(1, 0.99)(rng, 100)) > 60  # 199, of which only a part is there to see
    assert correlation_length(np.ones(50)) == 1.0


def test_the_step_of_a_clock_is_seen() -> None:
    rng = np.random.default_rng(4)
    read = ticked(3000 * np.exp(rng.normal(0, 0.01, 100)), rng)
    assert clock_step(read) == TICK_NS
    assert clock_step(read + 1e-3 * rng.random(100)) == TICK_NS  # as a float32 in ms has it
    assert clock_step(3000 * np.exp(rng.normal(0, 0.01, 100))) <= 1
    assert clock_step(np.full(100, 100_000.0)) == 0  # one value is no step


@pytest.mark.parametrize("change", [0.0, 0.007, 0.01])
def test_a_coarse_timer_does_not_shift_the_speedup(change: float) -> None:
    """2 us in ticks of 32 ns: the median of the ratios alone would be 1.000 or 1.016."""
    found = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        slow = ticked(2000 * (1 + change) * np.exp(rng.normal(0, 0.003, 400)), rng)
        fast = ticked(2000 * np.exp(rng.normal(0, 0.003, 400)), rng)
        verdict = compare_paired(slow, fast)
        assert verdict.verdict != ("same" if change > 0.005 else "faster")
        found.append(verdict.speedup)
    assert np.mean(found) == pytest.approx(1 + change, abs=0.0006)


def test_spreading_turns_with_the_sides_and_leaves_fine_times_alone() -> None:
    rng = np.random.default_rng(5)
    left, right = (ticked(3000 * np.exp(rng.normal(0, 0.01, 50)), rng) for _ in range(2))
    assert np.allclose(spread_ratios(left, right), -spread_ratios(right, left), rtol=0, atol=1e-15)
    assert not np.allclose(spread_ratios(left, right), np.log(left / right), atol=1e-4)
    assert not spread_ratios(left, left).any()
    assert np.array_equal(spread_ratios(left * 100, right * 100), np.log(left * 100) - np.log(right * 100))


@pytest.mark.parametrize(("true_ns", "reason"), [(4000, "not-resolved"), (400_000, "interval-across")])
def test_within_two_ticks_no_more_rounds_are_asked_for(true_ns: float, reason: str) -> None:
    """Two ticks of 32 ns are 1.6 % of 4 µs: whatever lies within them is told by a larger workload only."""
    rng = np.random.default_rng(7)
    before, after = (ticked(true_ns * np.exp(rng.normal(0, 0.015, 100)), rng) for _ in range(2))
    found = compare_paired(before, after)
    assert (found.verdict, found.reason) == ("unclear", reason)
    assert ("--rounds" in REASONS[found.reason].command) == (reason == "interval-across")
