"""The rates that `trend` promises, on histories of recorded benches, which chose no threshold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ncu_assist.verdict.levels import RUN_TO_RUN, RUN_TO_RUN_FREEDOM

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def rates() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        import trend_rates

        yield trend_rates


@pytest.fixture(scope="module")
def long(rates: Any) -> Any:
    return [one for one in rates.recorded() if one.is_long]


@pytest.fixture(scope="module")
def short(rates: Any) -> Any:
    return [one for one in rates.recorded() if not one.is_long]


def test_the_noise_is_that_of_real_benches(long: Any, short: Any) -> None:
    spreads = [one.strays.std() for one in long]
    assert len(long) == 20
    assert 0.001 < min(spreads) < max(spreads) < 0.003
    assert {one.kernel for one in short} == {"small_scale_v1"}
    assert all(one.strays.std() > 0.01 for one in short)


def test_the_first_guess_is_fitted_to_it(rates: Any) -> None:
    deviation, freedom = rates.guess(rates.recorded())
    assert deviation == pytest.approx(RUN_TO_RUN, rel=0.1)
    assert freedom == pytest.approx(RUN_TO_RUN_FREEDOM, rel=0.2)


@pytest.mark.parametrize(("which", "seed"), [("long", 7), ("short", 11)])
def test_at_most_one_false_alarm_in_1000_runs(
    rates: Any, request: pytest.FixtureRequest, which: str, seed: int
) -> None:
    counts = rates.false_alarms(request.getfixturevalue(which), 400, np.random.default_rng(seed))
    _, high = rates.interval(counts, np.random.default_rng(seed))
    assert len(counts) * rates.LONGEST == 24_000
    assert high < 1


@pytest.mark.parametrize(("times", "far"), [(1, 0.0), (8, 0.0), (4, 0.05)])
def test_nor_in_noise_that_is_larger_than_guessed_or_has_a_long_tail(rates: Any, times: float, far: float) -> None:
    rng = np.random.default_rng(7)
    counts = rates.false_alarms([rates.normal(times, rng, far=far)], 200, rng)
    assert rates.interval(counts, rng)[0] < 1


def test_a_step_as_large_as_is_said_is_found(rates: Any, long: Any, short: Any) -> None:
    for every, least, most in ((long, 0.005, 0.012), (short, 0.05, 0.2)):
        said, share = rates.said_found(every, 10, 100, np.random.default_rng(7))
        assert least < said < most
        assert share > 0.8


@pytest.mark.parametrize("before", [10, 20])
def test_a_step_of_one_per_cent_is_found_within_five_runs(rates: Any, long: Any, before: int) -> None:
    shape = [1.0] * before + [1.01] * 5
    found = rates.found_after(long, shape, before, 60, np.random.default_rng(7))
    assert found[5] >= {10: 0.9, 20: 0.95}[before]
    assert found[1] == 0  # one run alone is no level


@pytest.mark.parametrize("before", [0, 10])
def test_a_creep_is_found_by_run_ten(rates: Any, long: Any, before: int) -> None:
    shape = [1.0] * before + [1.003**n for n in range(1, 11)]
    assert rates.found_after(long, shape, before, 40, np.random.default_rng(7))[10] >= 0.95


def test_in_four_times_the_noise_a_step_takes_longer_and_repeated_benches_bring_it_back(rates: Any, long: Any) -> None:
    loud = [replace(one, medians=np.exp(4 * np.log(one.medians)), errors=4 * one.errors) for one in long]
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


@pytest.mark.parametrize("before", [1, 10])
def test_a_gate_is_green_for_the_same_code_and_red_for_what_is_slower(rates: Any, long: Any, before: int) -> None:
    rng = np.random.default_rng(7)

    def said(of: Any, slower: float) -> str:
        runs = [of.run(rng) for _ in range(before + 1)]
        times, errors = ([run[place] for run in runs] for place in (0, 1))
        return str(rates.gated([*times[:-1], times[-1] * (1 + slower)], errors))

    assert {said(one, 0.0) for one in long * 5} <= {"pass", "noise"}
    assert {said(one, 0.04) for one in long * 5} <= {"regression", "unclear"}
    short = [one for one in rates.recorded() if not one.is_long]
    assert sum(said(one, 0.0) in ("unclear", "regression") for one in short * 20) <= len(short)  # 1 in 20 at most
    assert {said(one, 0.4) for one in short} == {"regression"}


def test_steps_below_the_limit_are_red_by_the_third(rates: Any, long: Any) -> None:
    rng = np.random.default_rng(7)
    firsts = [rates.first_red(one, rng) for one in long * 5]
    assert sum(first <= 3 for first in firsts) >= 0.97 * len(firsts)
