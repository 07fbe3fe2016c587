"""Samples of a bench, as stored, to a verdict: paired by round within one bench, by the robust rule across two."""

from __future__ import annotations

import math
from dataclasses import replace
from math import exp, log
from statistics import median
from typing import TYPE_CHECKING, Any

from ncu_assist.verdict.interval import median_interval
from ncu_assist.verdict.records import KILO, Cycles, Verdict, Word, unclear
from ncu_assist.verdict.samples import are_times, as_numbers, likely, median_clocks, resolution, spread_ratios
from ncu_assist.verdict.unpaired import compare_unpaired

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


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


ROUND = ("bench_id", "round")


def compare(baseline: pd.DataFrame, candidate: pd.DataFrame) -> Verdict:
    """Return the verdict over the samples of two versions on one workload; late ones are dropped.

    Samples of one bench are paired by round: see ``decide``. Where no bench is common: see ``compare_unpaired``.
    """
    kept = [frame.loc[~frame["late"].astype(bool)] for frame in (baseline, candidate)]
    if any(frame.empty for frame in (baseline, candidate)):
        return unclear("no-samples")
    if any(frame.empty for frame in kept):
        return unclear("only-late-samples")
    times = [as_numbers(frame["time_ns"].to_numpy()) for frame in kept]
    if not all(are_times(side) for side in times):
        return unclear("bad-samples")
    clocks = [as_numbers(frame["sm_clock_mhz"].to_numpy()) for frame in kept]
    if set(kept[0]["bench_id"]).isdisjoint(kept[1]["bench_id"]):
        return compare_unpaired(times[0], times[1], clocks[0], clocks[1])
    rounds = _by_round(*kept)
    verdict = compare_paired(*(side[:, 0] for side in rounds))
    verdict = with_cycles(verdict, *rounds)
    return replace(verdict, clocks_mhz=median_clocks(clocks[0], clocks[1]))


def select(samples: pd.DataFrame, version: str, workload: str) -> pd.DataFrame:
    """Return the samples of one version on one workload."""
    return samples[(samples["version"] == version) & (samples["workload"] == workload)]


def _by_round(baseline: pd.DataFrame, candidate: pd.DataFrame) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return time and SM clock of both sides in the order of rounds; a round that one side lacks is left out."""
    import numpy as np

    before, after = _of_rounds(baseline), _of_rounds(candidate)
    rounds = sorted(before.keys() & after.keys())
    return tuple(np.array([side[key] for key in rounds]).reshape(-1, 2) for side in (before, after))  # type: ignore[return-value]


def _of_rounds(samples: pd.DataFrame) -> dict[tuple[str, int], tuple[float, float]]:
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
