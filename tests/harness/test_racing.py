"""Which versions drop out of a race: those that are surely slower, and the fastest hardly ever."""

from __future__ import annotations

import random
from math import isclose

from ncu_assist.harness.bench import CHANCE, LOOKS, is_look, losers, tail

ROUNDS = 100


def race(speeds: dict[str, float], seed: int, noise: float = 0.02) -> dict[str, int]:
    """Return after how many rounds each version dropped out, with noise of a round that all share, and of its own."""
    chance = random.Random(seed)
    times: dict[str, dict[int, float]] = {name: {} for name in speeds}
    out: dict[str, int] = {}
    for number in range(ROUNDS):
        shared = chance.gauss(1, 5 * noise)
        for name, rounds in times.items():
            rounds[number] = 1000 * speeds[name] * shared * chance.gauss(1, noise)
        if is_look(number + 1, ROUNDS):
            for name in losers(times, len(speeds)):
                out[name] = number + 1
                del times[name]
    return out


def test_a_tail_of_a_fair_coin() -> None:
    assert tail(10, 11) == 0
    assert isclose(tail(10, 10), 1 / 1024)
    assert isclose(tail(10, 0), 1)
    assert isclose(tail(20, 18), 211 / 2**20)


def test_looks_are_at_fifths_of_the_rounds() -> None:
    assert [done for done in range(1, 101) if is_look(done, 100)] == [20, 40, 60, 80]
    assert sum(is_look(done, 12) for done in range(1, 13)) == LOOKS
    assert not any(is_look(done, 1) for done in range(2, 9))


def test_what_is_surely_slower_drops_out_early_though_the_noise_of_rounds_is_larger() -> None:
    out = race({"a": 1.0, "b": 1.1, "c": 1.5, "d": 1.05}, seed=1)
    assert out["b"] == out["c"] == 20
    assert "d" in out
    assert "a" not in out


def test_the_fastest_of_sixteen_drops_out_of_at_most_one_race_in_a_hundred() -> None:
    """All are as fast, so that any may be called the fastest: none may drop out."""
    speeds = {f"v{number}": 1.0 for number in range(16)}
    dropped = [bool(race(speeds, seed)) for seed in range(200)]
    assert sum(dropped) <= CHANCE * len(dropped)


def test_what_is_slower_by_less_than_verdicts_tell_apart_stays() -> None:
    assert race({"a": 1.0, "b": 1.003}, seed=3, noise=0.0005) == {}
    assert race({"a": 1.0, "b": 1.02}, seed=3, noise=0.0005) == {"b": 20}


def test_without_times_nothing_drops_out() -> None:
    assert losers({"a": {}, "b": {}}, 2) == set()
    assert losers({"a": {1: 5.0}, "b": {}}, 2) == set()
    assert losers({"a": {1: 5.0}, "b": {2: 50.0}}, 2) == set()  # no round of both
