"""Decide a verdict from stored samples: paired by round within one bench, by the robust rule across two benches."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from math import comb, exp, log, pi, sqrt, tan
from statistics import median
from typing import TYPE_CHECKING, Any, Protocol

from ncu_assist.verdict.records import KILO, Cycles, Verdict, Word, unclear
from ncu_assist.verdict.samples import are_times, as_numbers, likely, median_clocks, resolution, spread_ratios
from ncu_assist.verdict.unpaired import compare_unpaired

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    Columns = dict[str, np.ndarray[Any, Any]]


OUTLIER_SIGMAS = 3.0  # samples further out are drawn in before autocorrelation is estimated
# A correlation of neighbours above this means lasting noise. 1 in 500 sets of 100 independent samples exceeds it, and
# none of 780 pairs in a recorded bench (largest 0.29), so the correction costs no power.
LASTING = 0.3
LASTING_SIGMAS = 2.0  # how far the correlation may be above its estimate


def correlation_length(values: np.ndarray[Any, Any]) -> float:
    """Return how many neighbouring samples count as one, at least 1."""
    covariance = _autocovariance(values)
    if len(covariance) < 2 or covariance[0] <= 0:
        return 1.0
    return max(_summed(covariance, len(values)), _lasting(float(covariance[1] / covariance[0]), len(values)))


def _autocovariance(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the autocovariance up to a lag of half of the samples, an even number of lags; outliers drawn in."""
    import numpy as np

    centre = np.median(values)
    sigma = 1.4826 * np.median(np.abs(values - centre))
    drawn_in = np.clip(values - centre, -OUTLIER_SIGMAS * sigma, OUTLIER_SIGMAS * sigma)
    spectrum = np.fft.rfft(drawn_in - drawn_in.mean(), 2 * len(values))
    covariance: np.ndarray[Any, Any] = np.fft.irfft(np.abs(spectrum) ** 2)[: 2 * (len(values) // 4)]
    return covariance


def _summed(covariance: np.ndarray[Any, Any], count: int) -> float:
    """Return the integrated autocorrelation of noise of any shape that decays well before the samples end.

    Summed over the initial positive pairs (Geyer, Practical Markov Chain Monte Carlo, 1992, section 3.3), and corrected
    for the mean being estimated from the same samples; never above a third of the samples.
    """
    import numpy as np

    pairs = covariance.reshape(-1, 2).sum(axis=1) / covariance[0]
    positive = int(np.argmax(pairs < 0)) if (pairs < 0).any() else len(pairs)
    length = max(1.0, 2 * float(pairs[:positive].sum()) - 1)
    return length if length == 1.0 else min(length / (1 - min(0.8, length / count)), count / 3)


def _lasting(alike: float, count: int) -> float:
    """Return the length for noise of which each sample keeps a share of the one before, if the share is large.

    The sum above falls short when the noise outlasts the samples. The share is estimated too low by (1 + 3 share) / n
    (Kendall, Note on bias in the estimation of autocorrelation, 1954) and strays by sqrt((1 - share^2) / n).
    """
    if alike <= LASTING:
        return 1.0
    share = alike + (1 + 3 * alike) / count
    share += LASTING_SIGMAS * sqrt(max(0.0, 1 - share**2) / count)
    share = min(share, 1 - 1 / count)
    return (1 + share) / (1 - share)


CONFIDENCE = 0.99
NORMAL_QUANTILE = 2.5758  # of 99.5 %
RESAMPLES = 1000
RESAMPLED_VALUES = 100_000  # bounds the work for long benches
MINIMUM_RESAMPLES = 400  # two beyond each end of a 99 % interval
SEED = 20_000_003
NORMAL_FROM = 1000  # pairs above which the binomial is taken as normal: exact to a rank by then
SERIES_FROM = 30.0  # degrees of freedom of Student's t
FEW = 30  # with fewer pairs, lasting noise cannot be detected: the interval is stretched by sqrt(30 / pairs)


def median_interval(values: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Return a 99 % interval of the median of ``values``, which are in the order of measurement."""
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
    """Return the interval of the medians of block resamples; it is deterministic."""
    import numpy as np

    count = len(values)
    drawn = np.sort(values[_drawn(count)], axis=1)  # a sixth of the time of np.median
    medians = (drawn[:, (count - 1) // 2] + drawn[:, count // 2]) / 2
    low, high = np.quantile(medians, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


@functools.lru_cache(maxsize=4)  # benches of a kernel mostly have the same number of rounds
def _drawn(count: int) -> np.ndarray[Any, Any]:
    """Return the sample indices of each resample, in blocks that may wrap around the end."""
    import numpy as np

    length = round(sqrt(count))
    resamples = int(np.clip(RESAMPLED_VALUES // count, MINIMUM_RESAMPLES, RESAMPLES))
    starts = np.random.default_rng(SEED).integers(0, count, (resamples, -(-count // length)))
    places = starts[:, :, np.newaxis] + np.arange(length)
    return places.reshape(resamples, -1)[:, :count] % count


def order_statistics(values: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Return the interval between the two samples that hold the median of independent samples in 99 %."""
    import numpy as np

    ordered, rank = np.sort(values), _median_rank(len(values))
    return float(ordered[rank]), float(ordered[-1 - rank])


@functools.cache
def _median_rank(count: int) -> int:
    """Return the largest rank (0 is the minimum) that is above the median in at most 0.5 % of all samples."""
    if count > NORMAL_FROM:
        return int(count / 2 - NORMAL_QUANTILE * sqrt(count) / 2)
    below, rank, limit = 1, 0, (1 - CONFIDENCE) / 2 * 2.0**count
    while below + comb(count, rank + 1) <= limit:
        rank += 1
        below += comb(count, rank)
    return rank


def _stretch(values: np.ndarray[Any, Any]) -> float:
    """Return how much wider the interval gets because neighbours are correlated, or too few to know."""
    count, alike = len(values), correlation_length(values)
    few = sqrt(max(1.0, FEW / count))
    if alike <= 1:
        return few
    return few * sqrt(alike) * student_quantile(max(2.0, count / alike - 1)) / NORMAL_QUANTILE


def student_quantile(freedom: float) -> float:
    """Return the 99.5 % quantile of Student's t for a freedom of at least 2, which need not be whole.

    From 30 on by Abramowitz and Stegun 26.7.5. Its four terms fall short of few degrees of freedom, by 12 % at 2, 3 %
    at 3; there the two tails are integrated.
    """
    if freedom < SERIES_FROM:
        return _by_tails(freedom)
    z = NORMAL_QUANTILE
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return sum(term / freedom**power for power, term in enumerate(terms))


@functools.cache
def _by_tails(freedom: float) -> float:
    """Return the quantile by halving: with t = sqrt(freedom) / tan(x), the tails are the integral of sin^(freedom - 1).

    From 0 to x, over that from 0 to a right angle, at which t is 0. Gauss's nodes make it exact to nine digits.
    """
    import numpy as np

    nodes, weights = _gauss()

    def tails(angle: float) -> float:
        return angle / 2 * float(weights @ np.sin(angle / 2 * (nodes + 1)) ** (freedom - 1))

    wanted, low, high = (1 - CONFIDENCE) * tails(pi / 2), 0.0, pi / 2
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if tails(middle) < wanted else (low, middle)
    return sqrt(freedom) / tan(low)


@functools.cache
def _gauss() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return Gauss's nodes and weights: they are eigenvalues, which take 7 ms."""
    import numpy as np

    nodes, weights = np.polynomial.legendre.leggauss(64)
    return nodes, weights


MARGIN = 0.005  # a smaller change is no change: NVBench's robust comparison asks for the same 0.5 % (docs/sources.md)


def is_one_ratio(one: float, other: float | None) -> bool:
    """Return whether two ratios differ by no more than what is a change of a time: who says both says one thing twice.

    None is no ratio, and none other.
    """
    return bool(one and other) and max(one / (other or 1.0), (other or 1.0) / one) <= 1 + MARGIN


MINIMUM_PAIRS = 10  # the smallest and largest of 8 hold the median in 99.2 %; two more, because rounds may be alike


def compare_paired(baseline_ns: np.ndarray[Any, Any], candidate_ns: np.ndarray[Any, Any]) -> Verdict:
    """Return the verdict over good times, one a round on each side, in the order of the rounds.

    At 0.8 % noise a side, slow-downs by 2 % are found in 92 % of benches of 30 rounds and in all of 100 rounds; by 1 %
    in 13 % of 30 rounds, 67 % of 100, 96 % of 200 and all of 400 (500 generated pairs each).
    """
    pairs = len(baseline_ns)
    if pairs == 0:
        return unclear("too-few-pairs")
    if pairs < MINIMUM_PAIRS:
        speedup = _middle_ratio(baseline_ns, candidate_ns)
        return Verdict("unclear", likely(baseline_ns, candidate_ns), "too-few-pairs", speedup, None, None, pairs)
    return decide(spread_ratios(baseline_ns, candidate_ns), resolution(baseline_ns, candidate_ns))


def paired_speedup(baseline: SampleTable, candidate: SampleTable) -> float | None:
    """Return the speed-up that ``compare`` gives, without its interval; None for samples that cannot be paired."""
    kept = [_good(side) for side in (baseline, candidate)]
    if not all(len(side["time_ns"]) and are_times(as_numbers(side["time_ns"])) for side in kept):
        return None
    before, after = (side[:, 0] for side in _by_round(*kept))
    return _middle_ratio(before, after) if len(before) else None


def _middle_ratio(baseline_ns: np.ndarray[Any, Any], candidate_ns: np.ndarray[Any, Any]) -> float:
    """Return the median of the ratios, one per pair; with many pairs, the clock's steps are spread first."""
    import numpy as np

    few = len(baseline_ns) < MINIMUM_PAIRS
    ratios = np.log(baseline_ns) - np.log(candidate_ns) if few else spread_ratios(baseline_ns, candidate_ns)
    return exp(float(np.median(ratios)))


def with_cycles(verdict: Verdict, baseline: np.ndarray[Any, Any], candidate: np.ndarray[Any, Any]) -> Verdict:
    """Add the verdict by SM cycles to a verdict by time, and whether a different clock explains it.

    Each row is a round: time in ns and SM clock in MHz, NaN if unknown. The clock explains a version that is faster in
    time but not in cycles if it is certainly higher and gives the larger part of the gain; likewise for a slower one.
    """
    import numpy as np

    known = (np.isfinite(baseline) & (baseline > 0) & np.isfinite(candidate) & (candidate > 0)).all(axis=1)
    if verdict.low is None or known.sum() < MINIMUM_PAIRS:
        return verdict
    (before_ns, before_mhz), (after_ns, after_mhz) = baseline[known].T, candidate[known].T
    clocks = np.log(after_mhz) - np.log(before_mhz)
    by = decide(spread_ratios(before_ns, after_ns) - clocks, resolution(before_ns, after_ns))
    assert by.speedup is not None
    medians = float(np.median(before_ns * before_mhz)) / KILO, float(np.median(after_ns * after_mhz)) / KILO
    cycles = Cycles(by.verdict, by.reason, by.speedup, by.low, by.high, medians)
    by_clock = by.verdict != verdict.verdict and _explains(clocks, verdict.verdict, log(by.speedup))
    return replace(verdict, cycles=cycles, by_clock=by_clock)


def _explains(clocks: np.ndarray[Any, Any], word: Word, cycles: float) -> bool:
    """Return whether the candidate's clock, as log-ratios to the baseline's, made it faster or slower."""
    import numpy as np

    if word not in ("faster", "slower"):
        return False
    sign = 1 if word == "faster" else -1
    return min(end * sign for end in median_interval(clocks)) > 0 and sign * float(np.median(clocks)) > sign * cycles


def decide(log_ratios: np.ndarray[Any, Any], resolved: float = 0.0) -> Verdict:
    """Return the verdict over log(baseline / candidate), one per pair, in the order of the rounds.

    Faster or slower if the 99 % interval of their median is beyond 0.5 % and beyond the timer's resolution, given as a
    fraction of the time; same if it is within 0.5 %, else unclear.
    """
    import numpy as np

    low, high = median_interval(log_ratios)
    word, reason = _place(low, high, log(1 + resolved))
    return Verdict(word, None, reason, exp(float(np.median(log_ratios))), exp(low), exp(high), len(log_ratios))


def _place(low: float, high: float, resolved: float) -> tuple[Word, str]:
    margin = log(1 + MARGIN)
    if low > max(margin, resolved):
        return "faster", "interval-beyond"
    if high < -max(margin, resolved):
        return "slower", "interval-beyond"
    if -margin <= low and high <= margin:
        return "same", "interval-inside"
    within_ticks = resolved > margin and -resolved <= low and high <= resolved  # more rounds do not refine it
    if low > margin or high < -margin or within_ticks:
        return "unclear", "not-resolved"
    return "unclear", "interval-across"


ROUND = ("bench_id", "round")


class SampleTable(Protocol):
    """Columns by name: a data frame, or samples read without one."""

    def __len__(self) -> int: ...
    def __getitem__(self, name: str, /) -> Any: ...


def compare(baseline: SampleTable, candidate: SampleTable) -> Verdict:
    """Return the verdict over the samples of two versions on one workload; late ones are dropped.

    Samples of one bench are paired by round, see ``decide``; without a common bench, see ``compare_unpaired``.
    """
    kept = [_good(side) for side in (baseline, candidate)]
    if not len(baseline) or not len(candidate):
        return unclear("no-samples")
    if any(not len(side["time_ns"]) for side in kept):
        return unclear("only-late-samples")
    times = [as_numbers(side["time_ns"]) for side in kept]
    if not all(are_times(side) for side in times):
        return unclear("bad-samples")
    clocks = [as_numbers(side["sm_clock_mhz"]) for side in kept]
    if set(kept[0]["bench_id"]).isdisjoint(kept[1]["bench_id"]):
        return compare_unpaired(times[0], times[1], clocks[0], clocks[1])
    rounds = _by_round(*kept)
    verdict = compare_paired(*(side[:, 0] for side in rounds))
    verdict = with_cycles(verdict, *rounds)
    return replace(verdict, clocks_mhz=median_clocks(clocks[0], clocks[1]))


def select(samples: pd.DataFrame, version: str, workload: str) -> pd.DataFrame:
    """Return the samples of one version on one workload."""
    return samples[(samples["version"] == version) & (samples["workload"] == workload)]


def _good(samples: SampleTable) -> dict[str, np.ndarray[Any, Any]]:
    """Return the columns of the samples that are not late."""
    import numpy as np

    good = ~np.asarray(samples["late"]).astype(bool)
    return {name: np.asarray(samples[name])[good] for name in (*ROUND, "time_ns", "sm_clock_mhz")}


def _by_round(baseline: Columns, candidate: Columns) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return time and SM clock of both sides in the order of rounds; a round that one side lacks is left out."""
    import numpy as np

    before, after = _of_rounds(baseline), _of_rounds(candidate)
    rounds = sorted(before.keys() & after.keys())
    return tuple(np.array([side[key] for key in rounds]).reshape(-1, 2) for side in (before, after))  # type: ignore[return-value]


def _of_rounds(samples: Columns) -> dict[tuple[str, int], tuple[float, float]]:
    """Return the median time and SM clock of each bench and round; a round nearly always has one sample."""
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    columns = (samples[name].tolist() for name in (*ROUND, "time_ns", "sm_clock_mhz"))
    for bench, round_, time_ns, mhz in zip(*columns, strict=True):  # in pandas it took 4 ms for 100 rounds
        if isinstance(bench, str):
            found.setdefault((bench, round_), []).append((time_ns, math.nan if mhz is None else mhz))
    return {key: of[0] if len(of) == 1 else _middle(of) for key, of in found.items()}


def _middle(samples: list[tuple[float, float]]) -> tuple[float, float]:
    times, clocks = zip(*samples, strict=True)
    known = [mhz for mhz in clocks if not math.isnan(mhz)]
    return median(times), median(known) if known else math.nan
