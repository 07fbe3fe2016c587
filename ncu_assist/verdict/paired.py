"""The rule for samples of one bench: paired by round, the median of their log-ratios, a 99 % interval that decides."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log
from typing import TYPE_CHECKING, Any

from ncu_assist.verdict.interval import median_interval
from ncu_assist.verdict.records import KILO, Cycles, Verdict, Word, unclear
from ncu_assist.verdict.samples import likely, resolution, spread_ratios

if TYPE_CHECKING:
    import numpy as np

MARGIN = 0.005  # a smaller change is no change: NVBench's robust comparison asks for the same 0.5 % (docs/sources.md)
MINIMUM_PAIRS = 10  # the smallest and largest of 8 hold the median in 99.2 %; two more, because rounds may be alike


def compare_paired(baseline_ns: np.ndarray[Any, Any], candidate_ns: np.ndarray[Any, Any]) -> Verdict:
    """Return the verdict over good times, one a round on each side, in the order of the rounds.

    At 0.8 % noise a side, slow-downs by 2 % are found in 92 % of benches of 30 rounds and in all of 100 rounds; by 1 %
    in 13 % of 30 rounds, 67 % of 100, 96 % of 200 and all of 400 (500 generated pairs each).
    """
    import numpy as np

    pairs = len(baseline_ns)
    if pairs == 0:
        return unclear("too-few-pairs")
    if pairs < MINIMUM_PAIRS:
        speedup = exp(float(np.median(np.log(baseline_ns) - np.log(candidate_ns))))
        return Verdict("unclear", likely(baseline_ns, candidate_ns), "too-few-pairs", speedup, None, None, pairs)
    return decide(spread_ratios(baseline_ns, candidate_ns), resolution(baseline_ns, candidate_ns))


def with_cycles(verdict: Verdict, baseline: np.ndarray[Any, Any], candidate: np.ndarray[Any, Any]) -> Verdict:
    """Return a verdict by time with that by SM cycles, and whether the other clock explains it.

    Each row is a round: time in ns and SM clock in MHz, NaN where unknown. The clock explains a version that is faster
    in time and not in cycles, where it is higher for sure and is the larger part of the gain; so of a slower one.
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
    """Tell whether the clock of the candidate, log-ratios to the baseline's, made it faster or slower."""
    import numpy as np

    if word not in ("faster", "slower"):
        return False
    sign = 1 if word == "faster" else -1
    return min(end * sign for end in median_interval(clocks)) > 0 and sign * float(np.median(clocks)) > sign * cycles


def decide(log_ratios: np.ndarray[Any, Any], resolved: float = 0.0) -> Verdict:
    """Return the verdict over log(baseline / candidate), one a pair, in the order of the rounds.

    Faster or slower if the 99 % interval of their median lies beyond 0.5 % and beyond what the timer resolves, a part
    of the time; same if it lies within 0.5 %, else unclear.
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
    if low > margin or high < -margin:
        return "unclear", "not-resolved"
    return "unclear", "interval-across"
