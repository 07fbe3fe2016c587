"""Noise for generated samples: relative deviations of rounds, in the shapes that timings have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, Any]
Noise = Callable[[np.random.Generator, int], Numbers]
TICK_NS = 32  # of event timers on an H200


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


def heavy_tail(sigma: float) -> Noise:
    """Most rounds quiet, a few far out, nearly all of them slow: interrupts, refreshes, a neighbour."""

    def noise(rng: np.random.Generator, rounds: int) -> Numbers:
        slow = np.where(rng.random(rounds) < 0.1, rng.pareto(1.5, rounds), 0)
        return np.log1p(0.05 * slow) + rng.normal(0, sigma, rounds)

    return noise


def bimodal(sigma: float, apart: float = 0.03, share: float = 0.4) -> Noise:
    """Two states, say of a cache, drawn anew each round."""
    return lambda rng, rounds: apart * (rng.random(rounds) < share) + rng.normal(0, sigma, rounds)


def ticked(true_ns: Numbers, rng: np.random.Generator, tick_ns: float = TICK_NS) -> Numbers:
    """What a timer with this tick says of calls that start anywhere between two ticks."""
    phase = rng.uniform(0, tick_ns, len(true_ns))
    return (np.floor((phase + true_ns) / tick_ns) - np.floor(phase / tick_ns)) * tick_ns
