"""Time and SM cycles together: a version that only ran at another clock is told from one that takes fewer cycles."""

from __future__ import annotations

import numpy as np
import pytest
from factories import samples_frame, times

from ncu_assist.verdict import Verdict, compare, compare_durations, compare_unpaired

ROUNDS = 100


def held(baseline: tuple[float, float], candidate: tuple[float, float], clock_noise: float = 0.0) -> Verdict:
    """The verdict of interleaved rounds; a side is its time in ns and its SM clock in MHz, as noisy as said."""
    frames = []
    for seed, (time_ns, mhz) in enumerate((baseline, candidate)):
        frame = samples_frame(times(time_ns, seed, ROUNDS, noise=0.002), sm_clock_mhz=mhz)
        frame["sm_clock_mhz"] *= np.exp(np.random.default_rng(90 + seed).normal(0, clock_noise, ROUNDS))
        frames.append(frame)
    return compare(*frames)


def test_as_many_cycles_at_a_higher_clock_is_faster_at_a_higher_clock() -> None:
    verdict = held((1.03e5, 1700), (1e5, 1751))
    assert (verdict.verdict, verdict.by_clock, verdict.words) == ("faster", True, "faster at a higher clock")
    assert verdict.speedup == pytest.approx(1.03, abs=2e-3)
    assert verdict.cycles is not None
    assert (verdict.cycles.verdict, verdict.cycles.speedup) == ("same", pytest.approx(1.0, abs=2e-3))
    assert verdict.cycles.low is not None
    assert verdict.cycles.high is not None
    assert verdict.cycles.low < 1 < verdict.cycles.high
    assert verdict.cycles.medians == (pytest.approx(1.03e5 * 1.7, rel=2e-3), pytest.approx(1e5 * 1.751, rel=2e-3))


def test_more_cycles_at_a_higher_clock_too() -> None:
    verdict = held((1.03e5, 1700), (1e5, 1785))
    assert verdict.words == "faster at a higher clock"
    assert verdict.cycles is not None
    assert verdict.cycles.verdict == "slower"


def test_the_other_way_round_is_slower_at_a_lower_clock() -> None:
    verdict = held((1e5, 1751), (1.03e5, 1700))
    assert (verdict.verdict, verdict.words) == ("slower", "slower at a lower clock")


def test_fewer_cycles_are_faster_whatever_the_clock() -> None:
    assert [held((1.05e5, 1700), (1e5, mhz)).words for mhz in (1690, 1700, 1720)] == ["faster"] * 3
    assert held((1e5, 1700), (1.05e5, 1690)).words == "slower"


def test_a_clock_that_nobody_knows_explains_nothing() -> None:
    verdict = held((1.03e5, float("nan")), (1e5, 1751))
    assert (verdict.words, verdict.cycles) == ("faster", None)


def test_a_clock_that_is_not_higher_for_sure_explains_nothing() -> None:
    verdict = held((1.01e5, 1700), (1e5, 1700), clock_noise=0.05)  # the cycles are too noisy to tell
    assert verdict.cycles is not None
    assert (verdict.words, verdict.cycles.verdict) == ("faster", "unclear")


def test_of_what_was_not_interleaved_the_clock_makes_nothing_faster_or_likely() -> None:
    assert compare_durations(1.5e5, 1e5, 1000, 1000).likely == "faster"
    assert compare_durations(1.5e5, 1e5).likely == "faster"  # as a report without clocks
    assert compare_durations(1.5e5, 1e5, 1000, 1500).likely is None
    few = [1.5e5] * 5, [1e5] * 5, [1000.0] * 5
    assert compare_unpaired(*few, [1000.0] * 5).likely == "faster"
    assert compare_unpaired(*few, [1500.0] * 5).likely is None
    many = [1.5e5] * 50, [1e5] * 50, [1000.0] * 50
    assert compare_unpaired(*many, [1000.0] * 50).words == "faster"
    explained = compare_unpaired(*many, [1500.0] * 50)
    assert (explained.words, explained.likely, explained.reason) == ("unclear", None, "clocks-disagree")
    assert explained.cycles is not None
    assert explained.cycles.speedup == pytest.approx(1.0)
