"""Samples of a bench, as stored, to a verdict: by the paired rule within one bench, by the robust one across two."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

from ncu_assist.verdict.paired import compare_paired, with_cycles
from ncu_assist.verdict.records import Verdict, unclear
from ncu_assist.verdict.samples import are_times, as_numbers, median_clocks
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
