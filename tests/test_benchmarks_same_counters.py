"""Counters of the same kernel, profiled by two processes: nothing changed, and nothing may be said to have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ncu_assist.analysis.diff.noise import NoiseModel
from ncu_assist.ncu.catalogue.noise import recording

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def same_counters(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import same_counters

    return same_counters


@pytest.mark.parametrize("turned", [False, True])
def test_noise_learned_on_one_recording_flags_nothing_in_another(same_counters: Any, turned: bool) -> None:
    learnt, tested = same_counters.HALVES[:: -1 if turned else 1]
    noise = same_counters.noise_of(learnt)
    words, named = same_counters.tally(same_counters.pairs_of_launches(tested), noise, every=False)
    assert words["pairs"] > 150
    assert (words["flagged"], named) == (0, {})
    assert words["undecided"] <= 0.01 * words["unchanged"]


def test_repeated_calls_of_two_processes_differ_in_nothing(same_counters: Any) -> None:
    first, second = (half[1] for half in same_counters.HALVES)
    for noise in (NoiseModel(None), NoiseModel(recording("gh100"))):
        words, named = same_counters.tally(same_counters.pairs_of_processes(first, second), noise, every=True)
        assert words["pairs"] == 10
        assert words["unchanged"] > 20_000
        assert named == {}


def test_a_change_is_seen_all_the_same(same_counters: Any) -> None:
    """The tally can fail: other kernels differ in most of what is looked at."""
    first = same_counters.repeated(same_counters.HALVES[0][1])
    long = sorted(first.values(), key=lambda one: -(one.duration_ns or 0))
    noise = NoiseModel(recording("gh100"))
    words, named = same_counters.tally(iter([(long[0], long[1])]), noise, every=False)
    few = same_counters.summary(words, named, every=False)
    assert few["wrong"] == words["improved"] + words["regressed"] + words["changed"] > 10
    assert few["worse"] == words["regressed"] >= few["flagged"] > 0
    more = same_counters.summary(*same_counters.tally(iter([(long[0], long[1])]), noise, every=True), every=True)
    assert more["worse"] > few["worse"]
    assert "flagged" not in more  # as in a diff, which flags only what it always looks at
