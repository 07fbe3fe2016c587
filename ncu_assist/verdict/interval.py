"""A 99 % interval of a median whose samples may hang together: the widest of three, so that it never cries wolf.

A block bootstrap for noise that lasts a few rounds; order statistics, exact for few independent samples where a
bootstrap is too narrow; and order statistics stretched by the autocorrelation that is seen, for noise that lasts.

On generated noise of 0.8 % (500 pairs each) two runs of the same code are never faster or slower if it is
white. Where each round keeps a share of the noise of the one before, at most 0.6 % are for shares up to 0.8, and 0.2 %
for any share from 30 rounds on. Two things remain. Of 10 rounds with a share of 0.9 to 0.98, 3 to 7 % are wrong, of 15
up to 4 %: such noise looks like a change. And where half of the noise is white and hides that the other half outlasts
the bench (share 0.98), 9 % of 30 rounds, 6 % of 100, none of 400; a coarse timer hides it likewise, 2 % of 30 rounds.
Neither has been seen: the largest autocorrelation at lag 1 among 780 recorded pairs is 0.29, the median -0.01.
"""

from __future__ import annotations

import functools
from math import comb, sqrt
from typing import TYPE_CHECKING, Any

from ncu_assist.verdict.correlation import correlation_length

if TYPE_CHECKING:
    import numpy as np

CONFIDENCE = 0.99
NORMAL_QUANTILE = 2.5758  # of 99.5 %
RESAMPLES = 1000
RESAMPLED_VALUES = 100_000  # bounds the work for long benches
MINIMUM_RESAMPLES = 400  # two beyond each end of a 99 % interval
SEED = 20_000_003
NORMAL_FROM = 1000  # pairs above which the binomial is taken as normal: exact to a rank by then
FEW = 30  # pairs below which noise that lasts cannot be told from none: the interval is stretched by sqrt(30 / pairs)


def median_interval(values: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Return a 99 % interval of the median of ``values``, which stand in the order in which they were measured."""
    return _interval(values.astype(float).tobytes())


@functools.lru_cache(maxsize=1024)  # a history asks for the same pairs over and over
def _interval(raw: bytes) -> tuple[float, float]:
    import numpy as np

    values = np.frombuffer(raw)
    low, high = order_statistics(values)
    centre, stretch = float(np.median(values)), _stretch(values)
    stretched = (centre - stretch * (centre - low), centre + stretch * (high - centre))
    bootstrap = block_bootstrap(values)
    return min(low, stretched[0], bootstrap[0]), max(high, stretched[1], bootstrap[1])


def block_bootstrap(values: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Return the interval of medians of resamples, made of blocks of neighbours; the same for the same values."""
    import numpy as np

    count = len(values)
    length = round(sqrt(count))
    resamples = int(np.clip(RESAMPLED_VALUES // count, MINIMUM_RESAMPLES, RESAMPLES))
    circle = np.concatenate((values, values[: length - 1]))  # a block may run around the end
    blocks = np.lib.stride_tricks.sliding_window_view(circle, length)
    starts = np.random.default_rng(SEED).integers(0, count, (resamples, -(-count // length)))
    medians = np.median(blocks[starts].reshape(resamples, -1)[:, :count], axis=1)
    low, high = np.quantile(medians, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def order_statistics(values: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Return the interval between the two samples that hold the median of independent samples in 99 %."""
    import numpy as np

    ordered, rank = np.sort(values), _median_rank(len(values))
    return float(ordered[rank]), float(ordered[-1 - rank])


@functools.cache
def _median_rank(count: int) -> int:
    """Return the largest rank (0 is the minimum) that lies above the median in at most 0.5 % of all samples."""
    if count > NORMAL_FROM:
        return int(count / 2 - NORMAL_QUANTILE * sqrt(count) / 2)
    below, rank, limit = 1, 0, (1 - CONFIDENCE) / 2 * 2.0**count
    while below + comb(count, rank + 1) <= limit:
        rank += 1
        below += comb(count, rank)
    return rank


def _stretch(values: np.ndarray[Any, Any]) -> float:
    """Return how much wider the interval gets because neighbours are alike, or because too few are there to tell."""
    count, alike = len(values), correlation_length(values)
    few = sqrt(max(1.0, FEW / count))
    if alike <= 1:
        return few
    return few * sqrt(alike) * _student_quantile(max(2.0, count / alike - 1)) / NORMAL_QUANTILE


def _student_quantile(freedom: float) -> float:
    """Return the 99.5 % quantile of Student's t (Abramowitz and Stegun 26.7.5, four terms)."""
    z = NORMAL_QUANTILE
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return sum(term / freedom**power for power, term in enumerate(terms))
