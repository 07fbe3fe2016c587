"""The rates that `trend` promises, on histories of the recorded benches that its thresholds were not chosen on."""

from __future__ import annotations

from dataclasses import replace
from math import exp, factorial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def rates() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        import trend_rates

        yield trend_rates


@pytest.fixture(scope="module")
def judged(rates: Any) -> Any:
    return [one.half(1) for one in rates.recorded() if one.is_long]


def test_the_noise_is_that_of_real_benches(rates: Any, judged: Any) -> None:
    assert len(judged) == 20
    spreads = [one.strays.std() for one in judged]
    assert 0.001 < min(spreads) < max(spreads) < 0.003
    whole = [one for one in rates.recorded() if one.is_long]
    assert all(len(one.half(0).medians) + len(one.half(1).medians) == len(one.medians) for one in whole)


def test_at_most_one_false_alarm_in_1000_runs(rates: Any, judged: Any) -> None:
    """So few alarms in 24,000 runs that at a rate of one in 1,000 less than one sample in twenty has as few."""
    count, runs = rates.false_alarms(judged, 400, np.random.default_rng(7))
    assert runs == 24_000
    as_many = runs / 1000
    assert sum(exp(-as_many) * as_many**k / factorial(k) for k in range(count + 1)) < 0.05


@pytest.mark.parametrize("before", [10, 20])
def test_a_step_of_one_per_cent_is_found_within_five_runs(rates: Any, judged: Any, before: int) -> None:
    shape = [1.0] * before + [1.01] * 5
    found = rates.found_after(judged, shape, before, 60, np.random.default_rng(7))
    assert found[5] >= 0.95
    assert found[1] == 0  # one run alone is no level


@pytest.mark.parametrize("before", [0, 10])
def test_a_creep_is_found_by_run_ten(rates: Any, judged: Any, before: int) -> None:
    shape = [1.0] * before + [1.003**n for n in range(1, 11)]
    assert rates.found_after(judged, shape, before, 40, np.random.default_rng(7))[10] >= 0.95


def test_in_four_times_the_noise_a_step_takes_longer_and_repeated_benches_bring_it_back(
    rates: Any, judged: Any
) -> None:
    loud = [replace(one, medians=np.exp(4 * np.log(one.medians)), errors=4 * one.errors) for one in judged]
    rng, shape = np.random.default_rng(7), [1.0] * 20 + [1.01] * 10
    alone, of_sixteen = (rates.found_after(loud, shape, 20, 40, rng, repeats) for repeats in (1, 16))
    assert alone[5] < 0.6
    assert of_sixteen[5] > 0.9


def test_no_test_finds_more_than_the_best_one(rates: Any) -> None:
    """A CUSUM that knows the noise: where runs differ by as much as the step, it is seldom found in five runs."""
    rng = np.random.default_rng(7)
    quiet, loud = (rates.cusum_found(shift, rng) for shift in (4.0, 1.0))
    assert quiet[5] > 0.99
    assert loud[5] < 0.25
