"""Samples of a bench, in short: median and quartiles of each version on each workload, late samples left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.harness.names import COPY, EMPTY, LINK
from ncu_assist.record import Timing

if TYPE_CHECKING:
    import pandas as pd


def timings_of(samples: pd.DataFrame, version: str) -> tuple[Timing, ...]:
    """Return one Timing for each workload on which ``version`` has at least one sample that was not late."""
    found = []
    for workload, group in samples.groupby("workload", sort=False, observed=True):
        own = group[group["version"] == version]
        kept = own[~own["late"]]
        if kept.empty:
            continue
        quartiles = kept["time_ns"].quantile([0.25, 0.5, 0.75])
        clock = kept["sm_clock_mhz"].median()
        found.append(
            Timing(
                workload=str(workload),
                bench_id=str(kept["bench_id"].iloc[0]),
                samples=len(kept),
                dropped=len(own) - len(kept),
                median_ns=float(quartiles[0.5]),
                q1_ns=float(quartiles[0.25]),
                q3_ns=float(quartiles[0.75]),
                min_ns=float(kept["time_ns"].min()),
                sm_clock_mhz=None if clock != clock else float(clock),
                empty_ns=_median(group, EMPTY),
                copy_ns=_median(group, COPY),
                link_ns=_median(group, LINK),
            )
        )
    return tuple(found)


def always_late(samples: pd.DataFrame, version: str) -> tuple[str, ...]:
    """Return the workloads on which every sample of ``version`` was late: they have no Timing."""
    own = samples[samples["version"] == version]
    late = own.groupby("workload", sort=False, observed=True)["late"].all()
    return tuple(str(workload) for workload, always in late.items() if always)


def samples_of(samples: pd.DataFrame, version: str) -> pd.DataFrame:
    """Return the samples of a version and those of the empty call and the copies timed beside it."""
    return samples[samples["version"].isin([version, EMPTY, COPY, LINK])].reset_index(drop=True)


def _median(samples: pd.DataFrame, version: str) -> float | None:
    kept = samples[(samples["version"] == version) & ~samples["late"]]["time_ns"]
    return None if kept.empty else float(kept.median())
