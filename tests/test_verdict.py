"""The paired rule: its error rates on generated samples, and a clear reason for everything it cannot decide."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from factories import samples_frame, times

from ncu_assist.verdict import REASONS, Verdict, compare, compare_durations, not_comparable, select
from ncu_assist.verdict.deciding import decide
from ncu_assist.verdict.interval import correlation_length, median_interval, order_statistics

TRIALS = 500
Numbers = np.ndarray[Any, Any]
Noise = Callable[[np.random.Generator, int], Numbers]


def white(sigma: float) -> Noise:
    return lambda rng, rounds: rng.normal(0, sigma, rounds)


def lasting(sigma: float, memory: float) -> Noise:
    """Noise of which each round keeps a share from the round before."""

    def noise(rng: np.random.Generator, rounds: int) -> Numbers:
        steps = rng.normal(0, sigma * np.sqrt(1 - memory**2), rounds)
        steps[0] = rng.normal(0, sigma)
        for index in range(1, rounds):
            steps[index] += memory * steps[index - 1]
        return steps

    return noise


def words(noise: Noise, slowdown: float = 0.0, rounds: int = 100, trials: int = TRIALS) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        found[decide(noise(rng, rounds) - noise(rng, rounds) - np.log1p(slowdown)).verdict] += 1
    return found


@pytest.mark.parametrize(
    ("noise", "rounds"),
    [
        (white(0.008), 100),
        (white(0.008), 10),
        (white(0.02), 20),
        (white(0.05), 100),
        (lasting(0.008, 0.6), 100),
        (lasting(0.008, 0.8), 100),
        (lasting(0.008, 0.9), 100),
    ],
    ids=["0.8%", "0.8% of 10", "2% of 20", "5%", "memory 0.6", "memory 0.8", "memory 0.9"],
)
def test_two_runs_of_the_same_code_are_never_faster_or_slower(noise: Noise, rounds: int) -> None:
    found = words(noise, rounds=rounds)
    assert found["faster"] + found["slower"] <= TRIALS * 0.01


def test_a_drift_of_both_sides_cancels() -> None:
    found: Counter[str] = Counter()
    for seed in range(100):
        rng = np.random.default_rng(seed)
        drift = np.linspace(0, rng.normal(0, 0.05), 100) + lasting(0.02, 0.95)(rng, 100)
        sides = [samples_frame(1e5 * np.exp(drift + rng.normal(0, 0.008, 100))) for _ in range(2)]
        found[compare(*sides).verdict] += 1
    assert found["faster"] + found["slower"] <= 1
    assert found["same"] > 20


def test_a_slowdown_of_two_percent_is_found() -> None:
    assert words(white(0.008), slowdown=0.02)["slower"] >= TRIALS * 0.95


def test_the_same_code_is_called_same_with_enough_rounds() -> None:
    assert words(white(0.008), rounds=400, trials=100)["same"] >= 95


def test_the_interval_holds_the_median_in_99_percent() -> None:
    for rounds in (10, 30, 100):
        inside = 0
        for seed in range(TRIALS):
            low, high = median_interval(np.random.default_rng(seed).standard_t(3, rounds))
            inside += low <= 0 <= high
        assert inside >= TRIALS * 0.98


def test_order_statistics_are_the_binomial_ranks() -> None:
    assert order_statistics(np.arange(10.0)) == (0.0, 9.0)
    assert order_statistics(np.arange(100.0)) == (36.0, 63.0)  # P(binomial(100, 1/2) <= 36) = 0.33 %, <= 37: 0.60 %
    low, high = order_statistics(np.arange(2000.0))
    assert low == pytest.approx(2000 / 2 - 2.5758 * np.sqrt(2000) / 2, abs=1.5)
    assert high == 1999 - low


def test_correlation_is_seen() -> None:
    rng = np.random.default_rng(3)
    assert correlation_length(rng.normal(0, 1, 1000)) < 1.5
    assert 5 < correlation_length(lasting(1, 0.8)(rng, 1000)) < 20  # (1 + 0.8) / (1 - 0.8) = 9
    assert correlation_length(np.ones(50)) == 1.0


def test_a_verdict_carries_speedup_and_interval() -> None:
    verdict = compare(samples_frame(times(3.42e5, 1)), samples_frame(times(1e5, 2)))
    assert (verdict.verdict, verdict.reason, verdict.pairs) == ("faster", "interval-beyond", 100)
    assert verdict.speedup == pytest.approx(3.42, rel=0.005)
    assert verdict.low is not None
    assert verdict.high is not None
    assert 3.38 < verdict.low < verdict.speedup < verdict.high < 3.46  # type: ignore[operator]
    assert verdict == compare(samples_frame(times(3.42e5, 1)), samples_frame(times(1e5, 2)))


def test_a_run_against_itself_is_the_same() -> None:
    samples = samples_frame(times(1e5, 1))
    assert compare(samples, samples) == Verdict("same", None, "interval-inside", 1.0, 1.0, 1.0, 100)


def test_pairs_are_made_by_round_not_by_place() -> None:
    swing = 1e5 * np.exp(np.random.default_rng(1).normal(0, 0.5, 100))  # each round its own clock
    left, right = samples_frame(swing), samples_frame(swing * 1.05).sample(frac=1, random_state=2)
    assert compare(left, right).speedup == pytest.approx(1 / 1.05)
    assert compare(left, right).verdict == "slower"


def test_late_samples_are_dropped_with_their_partner() -> None:
    slow = times(1e5, 1)
    slow[:20] *= 50
    verdict = compare(samples_frame(slow, late=range(20)), samples_frame(times(1e5, 2)))
    assert verdict.pairs == 80
    assert verdict.verdict in ("same", "unclear")


def test_pairs_are_made_within_one_bench_only() -> None:
    two = pd.concat([samples_frame(times(1e5, s), bench_id=f"bench-{s}") for s in (1, 2)])
    assert compare(two, samples_frame(times(1e5, 3), bench_id="bench-2")).pairs == 100


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 0.0, -1.0])
def test_a_sample_that_is_no_time_is_a_reason(bad: float) -> None:
    broken = times(1e5, 1)
    broken[7] = bad
    for pair in ((broken, times(1e5, 2)), (times(1e5, 2), broken)):
        verdict = compare(*(samples_frame(side) for side in pair))
        assert (verdict.verdict, verdict.reason, verdict.speedup) == ("unclear", "bad-samples", None)
    assert compare(samples_frame(broken, late=[7]), samples_frame(times(1e5, 2))).pairs == 99


def test_what_cannot_be_decided_says_why() -> None:
    full, few, none = samples_frame(times(1e5, 1)), samples_frame(times(1e5, 2, rounds=9)), samples_frame([])
    assert compare(full, few).reason == "too-few-pairs"
    assert compare(full, few).pairs == 9
    assert compare(full, none).reason == compare(none, full).reason == "no-samples"
    other = compare(full, samples_frame(times(2e5, 1), bench_id="other"))
    assert (other.verdict, other.likely, other.reason) == ("unclear", "slower", "no-common-bench")
    assert other.speedup == pytest.approx(0.5)
    near = compare(full, samples_frame(times(1.05e5, 1), bench_id="other"))
    assert (near.verdict, near.likely) == ("unclear", None)


def test_one_sample_a_side_is_never_a_hard_verdict() -> None:
    assert compare_durations(178.0, 100.0) == Verdict("unclear", "faster", "one-sample", 1.78, None, None, 0)
    assert compare_durations(100.0, 178.0).likely == "slower"
    assert compare_durations(100.0, 109.0).likely is None
    assert compare_durations(None, 100.0).reason == "no-samples"
    for bad in (0.0, -1.0, float("nan"), float("inf")):
        assert compare_durations(bad, 100.0).reason == compare_durations(100.0, bad).reason == "bad-samples"


def test_every_reason_is_spelled_out() -> None:
    for code, reason in REASONS.items():
        assert reason.meaning
        assert "{" not in reason.command.format(kernel="k", baseline="v1", candidate="v2"), code
        settled = code in ("interval-beyond", "interval-inside", "other-kernel", "no-common-launch")
        assert settled == (reason.command == "")
    assert not_comparable("other-device").reason in REASONS


def test_select_takes_one_version_on_one_workload() -> None:
    frames = [samples_frame([1.0], version=v, workload=w) for v in ("v1", "(copy)") for w in ("a", "b")]
    assert len(select(pd.concat(frames), "v1", "b")) == 1


def test_a_verdict_takes_no_time() -> None:
    pair = samples_frame(times(1e5, 1)), samples_frame(times(1e5, 2))
    compare(*pair)
    started = time.perf_counter()
    for _ in range(5):
        compare(*pair)
    assert (time.perf_counter() - started) / 5 < 0.1  # 20 ms on a quiet machine
