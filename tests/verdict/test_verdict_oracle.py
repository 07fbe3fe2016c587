"""The rule for unpaired samples against NVBench's own: the same word, for the same reason, on thousands of pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from noises import TICK_NS, bimodal, heavy_tail, white
from nvbench_oracle import NO_TIMES, REASONS, Numbers, ask
from requirements import needs

from ncu_assist.verdict import MINIMUM_SAMPLES, compare_unpaired

pytestmark = pytest.mark.slow

PAIRS = 650  # of each shape: 5,200 in all, in about 5 s
Pair = tuple[Numbers, Numbers]
Shape = Callable[[np.random.Generator, int, int], Pair]
CHANGES = (0.0, 0.0, 0.001, 0.004, 0.005, 0.006, 0.01, 0.02, 0.05, 0.3)


def _noisy(noise: Callable[[np.random.Generator, int], Numbers]) -> Shape:
    def shape(rng: np.random.Generator, left: int, right: int) -> Pair:
        change = rng.choice(CHANGES) * rng.choice((-1, 1))
        return np.exp(noise(rng, left)), np.exp(noise(rng, right) + change)

    return shape


def _any_sigma(rng: np.random.Generator, count: int) -> Numbers:
    return white(10 ** rng.uniform(-5, -1))(rng, count)


def _other_noise(rng: np.random.Generator, left: int, right: int) -> Pair:
    """The same median, another spread."""
    sigma = 10 ** rng.uniform(-4, -1.5)
    return np.exp(rng.normal(0, sigma, left)), np.exp(rng.normal(0, sigma * rng.choice((0.1, 0.5, 2, 10)), right))


def _other_shares(rng: np.random.Generator, left: int, right: int) -> Pair:
    """Two states each, not equally far apart, not equally frequent."""
    noises = [bimodal(0.001, 0.004 * rng.integers(1, 9), rng.choice((0.1, 0.5))) for _ in range(2)]
    return np.exp(noises[0](rng, left)), np.exp(noises[1](rng, right))


def _few_values(rng: np.random.Generator, left: int, right: int) -> Pair:
    """Hardly any noise, values apart by exactly the limits: 0.5 % is 1 of 200."""
    steps = rng.choice((200, 201, 202, 400), 2)
    rare = [np.where(rng.random(count) < rng.choice((0, 0.002, 0.01, 0.03)), 3, 0) for count in (left, right)]
    return (steps[0] + rare[0]) / 200, (steps[1] + rare[1]) / 200


def _itself(rng: np.random.Generator, left: int, right: int) -> Pair:
    """Samples of one lot, in part the very same."""
    lot = np.exp(_any_sigma(rng, max(left, right)))
    return lot[:left], np.roll(lot, int(rng.integers(3)))[:right]


SHAPES: dict[str, Shape] = {
    "equal or shifted, any noise": _noisy(_any_sigma),
    "shifted, little noise": _noisy(white(0.001)),
    "other noise": _other_noise,
    "bimodal": _noisy(bimodal(0.001, 0.02)),
    "bimodal, other shares": _other_shares,
    "heavy tail": _noisy(heavy_tail(0.003)),
    "few values": _few_values,
    "itself": _itself,
}


def _clocks(rng: np.random.Generator, count: int, kind: str) -> Numbers:
    """SM clocks: steady, wandering, slower for all of this side, unknown for some, unknown."""
    mhz = rng.choice((1980.0, 1755.0 if kind == "slower" else 1980.0)) * np.exp(rng.normal(0, 0.001, count))
    if kind == "wandering":
        mhz *= np.exp(rng.normal(0, 0.02, count))
    if kind == "some":
        mhz[rng.random(count) < 0.2] = np.nan
    return mhz if kind != "unknown" else np.full(count, np.nan)


def _pair(shape: Shape, seed: int) -> tuple[Pair, Pair]:
    """Return the times and clocks of one pair; half of the times are in ticks of the timer."""
    rng = np.random.default_rng(seed)
    counts = rng.choice((MINIMUM_SAMPLES, 25, 40, 100, 300, 1000), 2)
    length = 10 ** rng.uniform(3.3, 6.5)
    times = [side * length for side in shape(rng, *map(int, counts))]
    if rng.random() < 0.5:
        times = [np.maximum(np.rint(side / TICK_NS), 1) * TICK_NS for side in times]
    kinds = rng.choice(("steady", "steady", "wandering", "slower", "some", "unknown"), 2)
    if rng.random() < 0.7:
        kinds[1] = kinds[0]
    clocks = [_clocks(rng, len(side), kind) for side, kind in zip(times, kinds, strict=True)]
    if rng.random() < 0.2:  # as many cycles as before at another clock
        times[1] = times[0] * 1980 / 1755
        clocks[1] = np.full(len(times[1]), 1755.0) if kinds[0] == "steady" else clocks[0] * 1755 / 1980
    return _single(times), _single(clocks)


def _single(sides: list[Numbers]) -> Any:
    return tuple(side.astype(np.float32) for side in sides)


@pytest.mark.parametrize("shape", SHAPES)
@needs("cuda-bench")
def test_the_word_and_the_reason_are_those_of_nvbench(shape: str) -> None:
    for number in range(PAIRS):
        times, clocks = _pair(SHAPES[shape], seed=number + 1000 * list(SHAPES).index(shape))
        verdict = compare_unpaired(*times, *clocks)
        assert (verdict.verdict, verdict.reason) == ask(times, clocks), number


def test_the_pairs_held_against_it_come_out_in_every_way() -> None:
    pairs = [_pair(shape, seed=1000 * place + n) for place, shape in enumerate(SHAPES.values()) for n in range(60)]
    found = Counter(compare_unpaired(*times, *clocks).reason for times, clocks in pairs)
    assert set(found) == set(REASONS.values()) - {NO_TIMES}
    assert min(found.values()) >= 10


@needs("cuda-bench")
def test_of_few_samples_nvbench_says_more_than_we_do() -> None:
    """The one class of disagreement: it has no least number of samples, ours is 20 a side."""
    theirs: Counter[str] = Counter()
    for seed in range(300):
        rng = np.random.default_rng(seed)
        counts = rng.permutation([rng.integers(1, MINIMUM_SAMPLES), rng.integers(1, 100)])
        times = _single([1e5 * np.exp(rng.normal(0, 0.02, count)) for count in counts])
        clocks = _single([np.full(count, 1980.0) for count in counts])
        verdict = compare_unpaired(*times, *clocks)
        assert (verdict.verdict, verdict.reason) in (("unclear", "too-few-samples"), ("unclear", "one-sample"))
        theirs[ask(times, clocks)[0]] += 1
    assert theirs["faster"] + theirs["slower"] >= 5  # of the same code


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0, -1.0])
@needs("cuda-bench")
def test_what_is_no_time_it_does_not_decide_either(bad: float) -> None:
    good = np.full(20, 1e5, np.float32)
    broken = np.where(np.arange(20) == 7, np.float32(bad), good)
    for times in ((good, broken), (broken, good)):
        assert ask(times, (good, good))[0] == compare_unpaired(*times, good, good).verdict == "unclear"
