"""Times of many runs to levels: what is found, how soon, and how seldom nothing is taken for something."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
import pytest

from ncu_assist.verdict.levels import FEWEST, RUN_TO_RUN_FREEDOM, Levels, levels_of, run_to_run, student, usual_slope

ERROR = 0.001


def found(*changes: float, noise: float = 0.0028, seed: int = 3) -> Levels:
    """Return the levels of runs that should take 100 µs times each of ``changes``."""
    strays = np.random.default_rng(seed).normal(0, noise, len(changes))
    times = [1e5 * change * exp(stray) for change, stray in zip(changes, strays, strict=True)]
    return levels_of(times, [ERROR] * len(times))


def test_what_does_not_change_is_one_level() -> None:
    levels = found(*[1.0] * 40).levels
    assert [(one.first, one.last, one.slope) for one in levels] == [(0, 39, 0.0)]
    assert exp(levels[0].start) == pytest.approx(1e5, rel=0.002)


def test_a_step_is_found_where_it_is() -> None:
    made = found(*[1.0] * 20, *[1.01] * 5)
    before, after = made.levels
    assert (after.first, after.last) == (20, 24)
    change, low, high = made.step_between(before, after)
    assert low < 0.01 < high
    assert low > 0
    assert change == pytest.approx(0.01, abs=0.004)


def test_a_creep_is_one_slope_and_no_row_of_steps() -> None:
    made = found(*[1.0] * 10, *[1.003**n for n in range(1, 15)])
    slopes = [one for one in made.levels if one.slope]
    assert len(slopes) == 1
    change, low, high = made.along(slopes[0])
    assert low < 1.003 ** (slopes[0].last - slopes[0].first) - 1 < high
    assert change > 0.025
    assert not any(made.is_step(a, b) for a, b in zip(made.levels, made.levels[1:], strict=False))


@pytest.mark.parametrize("alone", [1, 2])
def test_one_or_two_runs_on_a_hot_gpu_are_no_change(alone: int) -> None:
    steady = [1.0] * 15
    assert len(found(*steady, *[1.05] * alone, *steady).levels) == 1
    assert len(found(*steady, *[1.05] * alone).levels) == 1


def test_two_far_runs_of_three_are_no_change() -> None:
    """Noise has long tails: what stands four deviations off twice in three runs is no level yet, three times it is."""
    shape = np.random.default_rng(6).normal(0, 0.0028, 43)
    for last, levels in (((4.0, 4.0, 0.8), 1), ((4.0, 4.0, 4.0), 2)):
        shape[40:] = 0.0028 * np.array(last)
        assert len(levels_of(1e5 * np.exp(shape), [ERROR] * 43).levels) == levels


def test_a_guess_that_a_history_refutes_counts_for_nothing() -> None:
    strays = np.random.default_rng(2).normal(0, 1, 12)
    spreads = [run_to_run(np.log(1e5) + size * strays, np.zeros(12)) for size in (0.001, 0.01)]
    (_, with_guess), (far, without) = spreads
    assert with_guess - without == pytest.approx(RUN_TO_RUN_FREEDOM)
    assert far == pytest.approx(0.01, rel=0.4)


def test_a_noisy_kernel_is_learned_to_be_one() -> None:
    quiet, noisy = (found(*[1.0] * 40, noise=noise) for noise in (0.002, 0.02))
    assert len(noisy.levels) == 1
    assert noisy.run_to_run > 5 * quiet.run_to_run
    assert noisy.run_to_run == pytest.approx(0.02, rel=0.3)


def test_a_short_kernel_strays_by_a_tenth_of_a_microsecond() -> None:
    """Steps of a few ticks of the GPU's clock are noise at 4 µs, from the first runs on, and a change at 400 µs."""
    shape = np.array([1.0] * 6 + [1.02] * 6)
    for microseconds, levels in ((4, 1), (400, 2)):
        assert len(levels_of(shape * microseconds * 1e3, [ERROR] * len(shape)).levels) == levels


def test_a_run_in_four_at_another_level_is_noise() -> None:
    """A process may time a short kernel a tenth longer for as long as it lives; three such in a row are no change."""
    rng = np.random.default_rng(5)
    shape = np.where(np.arange(60) % 4 == 3, 1.1, 1.0) * np.exp(rng.normal(0, 0.001, 60))
    shape[40:43] = 1.1
    assert len(levels_of(shape * 1e5, [ERROR] * 60).levels) == 1


def test_the_step_that_is_found_grows_with_the_noise_and_falls_with_the_runs() -> None:
    few, many = (found(*[1.0] * runs).least_step for runs in (8, 40))
    assert 0 < many < few
    assert found(*[1.0] * 40, noise=0.02).least_step > 4 * many


def test_neither_steps_nor_slopes_count_as_noise() -> None:
    times = np.log(1e5 * np.array([1.0] * 20 + [1.1] * 20) * 1.002 ** np.arange(40))
    spread, _ = run_to_run(times + np.random.default_rng(1).normal(0, 0.003, 40), np.zeros(40))
    assert spread == pytest.approx(0.003, rel=0.4)


@pytest.mark.parametrize("count", range(1, 2 * FEWEST))
def test_too_few_runs_for_a_change_are_one_level(count: int) -> None:
    levels = found(*[1.0, 1.5, 2.0, 1.2, 3.0][:count]).levels
    assert [(one.first, one.last) for one in levels] == [(0, count - 1)]


def test_the_quantiles_of_student_are_those_of_tables() -> None:
    # one-sided 0.5 % and 0.05 %, where the normal quantiles are 2.5758 and 3.2905
    assert student(2.5758, 10) == pytest.approx(3.169, rel=0.01)
    assert student(2.5758, 30) == pytest.approx(2.750, rel=0.005)
    assert student(3.2905, 10) == pytest.approx(4.587, rel=0.01)
    assert student(3.2905, 1e6) == pytest.approx(3.2905, rel=1e-3)


def test_the_division_is_the_best_of_all() -> None:
    """Held against trying every division of a short history into levels and slopes."""
    made = found(*[1.0] * 4, *[1.02] * 5, *[1.0] * 3, noise=0.004, seed=8)
    times = np.random.default_rng(8).normal(0, 0.004, 12)
    logs = np.log([1.0] * 4 + [1.02] * 5 + [1.0] * 3) + times
    weight, penalty = 1 / (ERROR**2 + made.run_to_run**2), made.sigmas**2

    def cost(first: int, end: int) -> float:
        y, x = logs[first:end], np.arange(first, end)
        flat = float(((y - y.mean()) ** 2).sum())
        slope = float(((y - np.polyval(np.polyfit(x, y, 1), x)) ** 2).sum())
        return min(weight * flat, weight * slope + penalty)

    def best(end: int) -> float:
        starts = [0, *range(FEWEST, end - FEWEST + 1)]
        return min(cost(first, end) + penalty + (best(first) if first else -penalty) for first in starts)

    own = sum(cost(one.first, one.last + 1) + penalty for one in made.levels) - penalty
    assert own == pytest.approx(best(12), rel=1e-6)
    assert sqrt(made.levels[0].error ** 2) > 0


@pytest.mark.parametrize("runs", [11, 20])
@pytest.mark.parametrize("per_run", [0.003, 0.005, 0.01, 0.015, 0.03])
def test_the_size_of_an_even_creep_is_true(per_run: float, runs: int) -> None:
    """Of 200 histories: one creep each, on average as steep as it was made, and inside the 99 % interval."""
    slopes, inside = [], 0
    for seed in range(200):
        made = found(*[(1 + per_run) ** place for place in range(runs)], noise=0.0015, seed=seed)
        (level,) = made.levels
        _, low, high = made.along(level)
        inside += low < (1 + per_run) ** (runs - 1) - 1 < high
        slopes.append(level.slope)
    assert exp(float(np.mean(slopes))) - 1 == pytest.approx(per_run, rel=0.03)
    assert inside >= 0.97 * 200


@pytest.mark.parametrize("place", [5, 10, 14, 19])
def test_a_far_run_does_not_turn_a_creep(place: int) -> None:
    shape = [1.01**run * (1.05 if run == place else 1.0) for run in range(20)]
    made = found(*shape, noise=0.0015)
    (level,) = made.levels
    assert exp(level.slope) - 1 == pytest.approx(0.01, rel=0.1)


def test_the_slope_at_an_end_is_that_of_most_runs_there() -> None:
    line = 3.0 + 0.02 * np.arange(7)
    line[[1, 6]] += (5.0, -4.0)
    assert usual_slope(line) == pytest.approx(0.02)
