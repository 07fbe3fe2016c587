"""The samples that ncu took while a kernel ran (PM sampling): how busy parts of the GPU were from moment to moment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# What stands before the name of the metric itself; the second as on Hopper, with the group of units and the set of
# counters: ``FBSP.TriageCompute.dramc__throughput…``.
SAMPLED = re.compile(r"(?:pmsampling:|\w+\.Triage\w*\.)(?=\w+__)")
STARTS = "profiler__pmsampler_ctxsw_"  # by pass, the moment in which the kernel's context came onto the GPU
COLUMNS = ("launch", "metric", "time_ns", "value")


@dataclass(frozen=True)
class SampledMetric:
    """The samples of one metric of one launch, in the order of their times."""

    launch: int
    metric: str
    times_ns: tuple[float, ...]
    values: tuple[float, ...]


def timeline_frame(instances: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each sample, made of ``Report.instances``, ordered by launch, metric and time.

    launch int32 · metric category, without what its name has before it · time_ns float64, since the context of the
    kernel came onto the GPU in the pass that took the sample, since the first sample where the report does not say when
    · value float64, of the time since the sample before. Samples before the start are left out. Without any there are
    no rows: ncu samples since 2024.1, with the section PmSampling, on chips that can.
    """
    import pandas as pd

    names = instances["metric"].astype(str)
    samples = instances[names.str.match(SAMPLED) & instances["id"].ne(0)]  # the first may be a sum, of no moment
    starts = instances[names.str.startswith(STARTS)]
    frames = [
        _of_metric(own, starts[starts["launch"] == launch]["id"])
        for (launch, _), own in samples.groupby(["launch", names[samples.index]], sort=True)
    ]
    if not frames:
        return pd.DataFrame({name: pd.Series(dtype=object) for name in COLUMNS})
    found = pd.concat(frames, ignore_index=True)
    metrics = found["metric"].astype(str).str.replace(SAMPLED, "", n=1, regex=True)
    return found.assign(metric=metrics.astype("category"))[list(COLUMNS)]


def _of_metric(own: pd.DataFrame, starts: pd.Series[Any]) -> pd.DataFrame:
    at = own["id"].astype("int64")
    within = [int(start) for start in starts.dropna() if at.min() <= int(start) <= at.max()]
    start = within[0] if within else int(at.min())
    kept = own.assign(time_ns=(at - start).astype(float))
    return kept[kept["time_ns"] >= 0].sort_values("time_ns")


def sampled_metrics(frame: pd.DataFrame) -> tuple[SampledMetric, ...]:
    """Return the samples of a timeline by launch and metric, without those that have no value."""
    groups = frame.dropna(subset=["value"]).groupby(["launch", "metric"], observed=True, sort=True)
    return tuple(
        SampledMetric(int(str(launch)), str(metric), tuple(own["time_ns"].tolist()), tuple(own["value"].tolist()))
        for (launch, metric), own in groups
    )
