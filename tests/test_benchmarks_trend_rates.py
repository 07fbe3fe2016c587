"""The rates that `trend` promises, on made-up histories of recorded noise: few of them here, more in the script."""

from __future__ import annotations

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


@pytest.fixture(scope="module", params=["one_gpu", "several_gpus"])
def noise(rates: Any, request: pytest.FixtureRequest) -> Any:
    between = rates.one_gpu() if request.param == "one_gpu" else rates.several_gpus(ROOT / "reports")
    return rates.Noise(between, rates.sample_sets(ROOT / "reports"))


def test_the_noise_is_as_large_as_recorded(noise: Any) -> None:
    assert 0.0025 < noise.between.std() < 0.0045
    assert len(noise.between) >= 16
    assert len(noise.within) > 10


def test_less_than_one_false_alarm_in_1000_runs(rates: Any, noise: Any) -> None:
    count, runs = rates.false_alarms(noise, 50, np.random.default_rng(7))
    assert runs == 3000
    assert count <= 6  # more than chance makes of one in 1,000 in 19 of 20 cases (Poisson)


def test_a_step_of_one_per_cent_is_found_within_five_runs(rates: Any, noise: Any) -> None:
    rng = np.random.default_rng(7)
    steady = noise.steady(rng)
    assert len(steady.within) >= 0.8 * len(noise.within)
    found = rates.found_after(steady, [1.0] * 30 + [1.01] * 5, 30, 60, rng)
    # the script finds 92 % on one GPU and 84 to 93 % on several; of 60 histories that strays by 5 points
    assert found[5] >= (0.82 if len(noise.between) > 20 else 0.74)


def test_a_creep_is_found_by_run_ten(rates: Any, noise: Any) -> None:
    shape = [1.0] * 10 + [1.003**n for n in range(1, 11)]
    rng = np.random.default_rng(7)
    steady = noise.steady(rng)
    assert rates.found_after(steady, shape, 10, 40, rng)[10] >= 0.97
    assert rates.found_after(steady, shape[10:], 0, 40, rng)[10] >= 0.9
