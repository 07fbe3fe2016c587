"""The rule: paired samples by round, the median of their log-ratios, and a 99 % interval that decides."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, isfinite, log
from typing import TYPE_CHECKING, Any, Literal

from ncu_assist.verdict.interval import median_interval

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

Word = Literal["faster", "slower", "same", "unclear", "not-comparable"]
Likely = Literal["faster", "slower"]

MARGIN = 0.005  # a smaller change is no change: NVBench's robust comparison asks for the same 0.5 % (ncu_facts.md)
MINIMUM_PAIRS = 10  # the smallest and largest of 8 hold the median in 99.2 %; two more, because rounds may be alike
LIKELY_CHANGE = 0.10  # single samples of identical binaries: all but one of 39 kernels within 9 % (ncu_facts.md)


@dataclass(frozen=True)
class Verdict:
    """Which of two is faster. ``speedup`` is baseline time over candidate time, so above 1 the candidate is faster.

    ``low`` and ``high`` are its 99 % interval; both are None where samples could not be paired. ``likely`` is set only
    beside ``unclear``. ``reason`` is a key of REASONS.
    """

    verdict: Word
    likely: Likely | None
    reason: str
    speedup: float | None
    low: float | None
    high: float | None
    pairs: int


def compare(baseline: pd.DataFrame, candidate: pd.DataFrame) -> Verdict:
    """Return the verdict over the samples of two versions on one workload.

    Samples of one bench are paired by round, late ones dropped. Faster or slower if the 99 % interval of the median
    log-ratio lies beyond 0.5 %, same if it lies inside, else unclear.
    """
    kept = [frame.loc[~frame["late"].astype(bool), ["bench_id", "round", "time_ns"]] for frame in (baseline, candidate)]
    if any(frame.empty for frame in kept):
        return _unclear("no-samples")
    if not all(_are_times(frame["time_ns"].to_numpy()) for frame in kept):
        return _unclear("bad-samples")
    if set(kept[0]["bench_id"]).isdisjoint(kept[1]["bench_id"]):
        medians = [float(frame["time_ns"].median()) for frame in kept]
        return _by_ratio(medians[0] / medians[1], "no-common-bench")
    ratios = _log_ratios(*kept)
    if len(ratios) < MINIMUM_PAIRS:
        return _unclear("too-few-pairs", pairs=len(ratios))
    return decide(ratios)


def compare_durations(baseline_ns: float | None, candidate_ns: float | None) -> Verdict:
    """Return the verdict over one duration a side, as two reports hold: always unclear, at best likely."""
    if baseline_ns is None or candidate_ns is None:
        return _unclear("no-samples")
    if not all(isfinite(ns) and ns > 0 for ns in (baseline_ns, candidate_ns)):
        return _unclear("bad-samples")
    return _by_ratio(baseline_ns / candidate_ns, "one-sample")


def not_comparable(reason: str) -> Verdict:
    """Return the verdict of two runs that differ in something that decides the time; ``reason`` says in what."""
    return Verdict("not-comparable", None, reason, None, None, None, 0)


def select(samples: pd.DataFrame, version: str, workload: str) -> pd.DataFrame:
    """Return the samples of one version on one workload."""
    return samples[(samples["version"] == version) & (samples["workload"] == workload)]


def decide(log_ratios: np.ndarray[Any, Any]) -> Verdict:
    """Return the verdict over log(baseline / candidate), one a pair, in the order of the rounds."""
    import numpy as np

    low, high = median_interval(log_ratios)
    word, reason = _place(low, high, log(1 + MARGIN))
    return Verdict(word, None, reason, exp(float(np.median(log_ratios))), exp(low), exp(high), len(log_ratios))


def _place(low: float, high: float, margin: float) -> tuple[Word, str]:
    if low > margin:
        return "faster", "interval-beyond"
    if high < -margin:
        return "slower", "interval-beyond"
    if -margin <= low and high <= margin:
        return "same", "interval-inside"
    return "unclear", "interval-across"


def _unclear(reason: str, pairs: int = 0) -> Verdict:
    return Verdict("unclear", None, reason, None, None, None, pairs)


def _by_ratio(speedup: float, reason: str) -> Verdict:
    likely: Likely | None = None
    if abs(log(speedup)) > log(1 + LIKELY_CHANGE):
        likely = "faster" if speedup > 1 else "slower"
    return Verdict("unclear", likely, reason, speedup, None, None, 0)


def _are_times(values: np.ndarray[Any, Any]) -> bool:
    import numpy as np

    return bool(np.isfinite(values).all() and (values > 0).all())


def _log_ratios(baseline: pd.DataFrame, candidate: pd.DataFrame) -> np.ndarray[Any, Any]:
    """Return log(baseline / candidate) by round, in the order of rounds; a round with one side only is left out."""
    import numpy as np

    rounds = ["bench_id", "round"]
    left, right = (f.groupby(rounds, observed=True)["time_ns"].median() for f in (baseline, candidate))
    pairs = left.to_frame("baseline").join(right.to_frame("candidate"), how="inner").sort_index()
    logs: np.ndarray[Any, Any] = np.log(pairs["baseline"].to_numpy() / pairs["candidate"].to_numpy())
    return logs
