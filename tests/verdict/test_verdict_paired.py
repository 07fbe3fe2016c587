"""Samples of one bench: paired by round, late ones dropped, clocks named, a reason for all that cannot be decided."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from factories import samples_frame, times
from patience import grows_linearly

from ncu_assist.verdict import MINIMUM_PAIRS, Verdict, clock_note, compare, select


def test_a_verdict_carries_speedup_and_interval() -> None:
    verdict = compare(samples_frame(times(3.42e5, 1)), samples_frame(times(1e5, 2)))
    assert (verdict.verdict, verdict.reason, verdict.pairs) == ("faster", "interval-beyond", 100)
    assert verdict.speedup == pytest.approx(3.42, rel=0.005)
    assert verdict.low is not None
    assert verdict.high is not None
    assert 3.38 < verdict.low < verdict.speedup < verdict.high < 3.46  # type: ignore[operator]
    assert verdict == compare(samples_frame(times(3.42e5, 1)), samples_frame(times(1e5, 2)))


def test_swapped_sides_turn_the_verdict() -> None:
    left, right = samples_frame(times(1.02e5, 1)), samples_frame(times(1e5, 2))
    there, back = compare(left, right), compare(right, left)
    assert (there.verdict, back.verdict) == ("faster", "slower")
    assert (back.low, back.high) == (pytest.approx(1 / there.high), pytest.approx(1 / there.low))  # type: ignore[operator]


def test_a_run_against_itself_is_the_same() -> None:
    for samples in (samples_frame(times(1e5, 1)), samples_frame(np.rint(times(2e3, 1) / 32) * 32)):
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


def test_a_round_with_several_samples_counts_once_by_their_median() -> None:
    flat = np.full(100, 1e5)
    thrice = pd.concat([samples_frame(flat * factor) for factor in (1.0, 1.1, 9.0)])
    verdict = compare(thrice, samples_frame(flat))
    assert (verdict.pairs, verdict.speedup) == (100, pytest.approx(1.1))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 0.0, -1.0, 1e-300, 1e300])
def test_a_sample_that_is_no_time_is_a_reason(bad: float) -> None:
    broken = times(1e5, 1)
    broken[7] = bad
    for pair in ((broken, times(1e5, 2)), (times(1e5, 2), broken)):
        verdict = compare(*(samples_frame(side) for side in pair))
        assert verdict == Verdict("unclear", None, "bad-samples", None, None, None, 0)
    assert compare(samples_frame(broken, late=[7]), samples_frame(times(1e5, 2))).pairs == 99


def test_samples_of_one_side_only_are_a_reason() -> None:
    full, none, late = samples_frame(times(1e5, 1)), samples_frame([]), samples_frame(times(1e5, 1), late=range(100))
    for one, other in ((full, none), (none, full), (none, none)):
        assert compare(one, other) == Verdict("unclear", None, "no-samples", None, None, None, 0)
    for one, other in ((full, late), (late, full)):
        assert compare(one, other) == Verdict("unclear", None, "only-late-samples", None, None, None, 0)


def test_few_pairs_are_unclear_at_best_likely() -> None:
    full, few = samples_frame(times(1e5, 1)), times(1e5, 2, rounds=MINIMUM_PAIRS - 1)
    near, far = compare(full, samples_frame(few)), compare(full, samples_frame(few * 1.5))
    assert (near.verdict, near.likely, near.reason, near.pairs) == ("unclear", None, "too-few-pairs", 9)
    assert (far.verdict, far.likely) == ("unclear", "slower")
    assert far.speedup == pytest.approx(1 / 1.5, rel=0.02)
    apart = samples_frame(few, late=range(5)), samples_frame(few, late=range(5, 9))  # no round has both
    assert compare(*apart) == Verdict("unclear", None, "too-few-pairs", None, None, None, 0)


def test_samples_of_two_benches_are_not_paired() -> None:
    full = samples_frame(times(1e5, 1), sm_clock_mhz=1980)
    other = compare(full, samples_frame(times(2e5, 1), bench_id="other", sm_clock_mhz=1980))
    assert (other.verdict, other.reason, other.pairs, other.low) == ("slower", "robust-apart", 0, None)
    assert other.samples == (100, 100)
    unknown = compare(full, samples_frame(times(2e5, 1), bench_id="other"))
    assert (unknown.verdict, unknown.likely, unknown.reason) == ("unclear", "slower", "clocks-unknown")


@pytest.mark.parametrize("bench_id", ["bench-1", "other"])
def test_clocks_that_differ_are_named(bench_id: str) -> None:
    def clocks(*mhz: float) -> tuple[Verdict, str]:
        sides = [
            samples_frame(times(1e5, place), bench_id=name, sm_clock_mhz=one)
            for place, (name, one) in enumerate(zip(("bench-1", bench_id), mhz, strict=True))
        ]
        verdict = compare(*sides)
        return verdict, clock_note(verdict)

    verdict, said = clocks(1980, 1755)
    assert said == "SM clocks 1980 and 1755 MHz: part of the difference may be theirs"
    faster, slower = replace(verdict, verdict="faster"), replace(verdict, verdict="slower")
    assert clock_note(faster).endswith("at one clock the difference would be larger")  # faster at a lower clock
    assert clock_note(slower).endswith("part of the difference may be theirs")
    assert clocks(1980, 1755)[0].clocks_mhz == (1980, 1755)
    for near in ((1980, 1965), (1980, 1980), (1980, float("nan")), (float("nan"), 1980), (0, 1980)):
        assert clocks(*near)[0].clocks_mhz is None
        assert clocks(*near)[1] == ""


def test_a_clock_that_is_known_for_some_samples_counts_by_these() -> None:
    left, right = samples_frame(times(1e5, 1)), samples_frame(times(1e5, 2), sm_clock_mhz=1755)
    left.loc[:10, "sm_clock_mhz"] = 1980.0
    assert compare(left, right).clocks_mhz == (1980, 1755)


def test_select_takes_one_version_on_one_workload() -> None:
    frames = [samples_frame([1.0], version=v, workload=w) for v in ("v1", "(copy)") for w in ("a", "b")]
    assert len(select(pd.concat(frames), "v1", "b")) == 1


def test_a_verdict_of_many_samples_takes_no_time() -> None:
    frames = {size: [samples_frame(times(1e5, seed, size)) for seed in (1, 2)] for size in (100, 200)}
    assert grows_linearly(lambda size: compare(*frames[size]), 100)
