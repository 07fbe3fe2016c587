"""Samples of a bench, as stored, to a verdict: by the paired rule within one bench, by the robust one across two."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

from ncu_assist.verdict.clocks import median_clocks
from ncu_assist.verdict.paired import compare_paired
from ncu_assist.verdict.records import Verdict, unclear
from ncu_assist.verdict.samples import are_times, as_numbers
from ncu_assist.verdict.unpaired import compare_unpaired

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

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
    return replace(compare_paired(*_by_round(*kept)), clocks_mhz=median_clocks(clocks[0], clocks[1]))


def select(samples: pd.DataFrame, version: str, workload: str) -> pd.DataFrame:
    """Return the samples of one version on one workload."""
    return samples[(samples["version"] == version) & (samples["workload"] == workload)]


def _by_round(baseline: pd.DataFrame, candidate: pd.DataFrame) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the times of both sides in the order of rounds; a round that one side lacks is left out."""
    import numpy as np

    before, after = _of_rounds(baseline), _of_rounds(candidate)
    rounds = sorted(before.keys() & after.keys())
    return np.array([before[key] for key in rounds]), np.array([after[key] for key in rounds])


def _of_rounds(samples: pd.DataFrame) -> dict[tuple[str, int], float]:
    """Return the median time of each bench and round. Nearly every round has one: pandas took 4 ms for 100 of them."""
    found: dict[tuple[str, int], list[float]] = {}
    for bench, round_, time_ns in zip(*(samples[name].tolist() for name in (*ROUND, "time_ns")), strict=True):
        if isinstance(bench, str):
            found.setdefault((bench, round_), []).append(time_ns)
    return {key: times[0] if len(times) == 1 else median(times) for key, times in found.items()}
