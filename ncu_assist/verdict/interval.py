"""A 99 % interval of a median whose samples may hang together: the widest of three, so that it never cries wolf.

A block bootstrap for noise that lasts a few rounds; order statistics, exact for few independent samples where a
bootstrap is too narrow; and order statistics stretched by the autocorrelation that is seen, for noise that lasts.
"""

from __future__ import annotations

from math import comb, sqrt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

CONFIDENCE = 0.99
NORMAL_QUANTILE = 2.5758  # of 99.5 %
RESAMPLES = 2000
RESAMPLED_VALUES = 400_000  # bounds the work for long benches: 35 ms for 1,000 pairs
MINIMUM_RESAMPLES = 400  # two beyond each end of a 99 % interval
SEED = 20_000_003
NORMAL_FROM = 1000  # pairs above which the binomial is taken as normal: exact to a rank by then
OUTLIER_SIGMAS = 3.0  # samples further out are drawn in before autocorrelation is estimated


def median_interval(values: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Return a 99 % interval of the median of ``values``, which stand in the order in which they were measured."""
    import numpy as np

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
    starts = np.random.default_rng(SEED).integers(0, count, (resamples, -(-count // length), 1))
    drawn = (starts + np.arange(length)).reshape(resamples, -1)[:, :count] % count  # around the end: circular
    medians = np.median(values[drawn], axis=1)
    low, high = np.quantile(medians, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def order_statistics(values: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Return the interval between the two samples that hold the median of independent samples in 99 %."""
    import numpy as np

    ordered, rank = np.sort(values), _median_rank(len(values))
    return float(ordered[rank]), float(ordered[-1 - rank])


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
    """Return how much wider the interval gets because neighbours are alike: 1 for independent samples."""
    alike = correlation_length(values)
    if alike <= 1:
        return 1.0
    return sqrt(alike) * _student_quantile(max(2.0, len(values) / alike - 1)) / NORMAL_QUANTILE


def correlation_length(values: np.ndarray[Any, Any]) -> float:
    """Return how many neighbouring samples count as one: the integrated autocorrelation, at least 1.

    Summed over the initial positive pairs (Geyer, Practical Markov Chain Monte Carlo, 1992, section 3.3), and corrected
    for the mean being estimated from the same samples; never above a third of the samples.
    """
    import numpy as np

    count = len(values)
    centre = np.median(values)
    sigma = 1.4826 * np.median(np.abs(values - centre))
    drawn_in = np.clip(values - centre, -OUTLIER_SIGMAS * sigma, OUTLIER_SIGMAS * sigma)
    spectrum = np.fft.rfft(drawn_in - drawn_in.mean(), 2 * count)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2)[: 2 * (count // 4)]
    if covariance[0] <= 0:
        return 1.0
    pairs = covariance.reshape(-1, 2).sum(axis=1) / covariance[0]
    positive = int(np.argmax(pairs < 0)) if (pairs < 0).any() else len(pairs)
    length = max(1.0, 2 * float(pairs[:positive].sum()) - 1)
    return length if length == 1.0 else min(length / (1 - min(0.8, length / count)), count / 3)


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
