"""The samples that ncu took while a kernel ran (PM sampling): how busy parts of the GPU were from moment to moment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    import numpy as np
    import pandas as pd

    metric = instances["metric"].astype("category").cat
    names = [str(name) for name in metric.categories]
    rank = np.argsort(np.argsort(np.array(names, dtype=object)))
    codes, launches = metric.codes.to_numpy(), instances["launch"].to_numpy()
    at = instances["id"].fillna(0).to_numpy(dtype=np.int64)
    sampled = np.array([SAMPLED.match(name) is not None for name in names], dtype=bool)
    starting = np.array([name.startswith(STARTS) for name in names], dtype=bool)
    rows = np.flatnonzero(sampled[codes] & (at != 0))  # the first may be a sum, of no moment
    if not len(rows):
        return pd.DataFrame({name: pd.Series(dtype=object) for name in COLUMNS})
    rows = rows[np.lexsort((at[rows], rank[codes[rows]], launches[rows]))]
    others = np.flatnonzero(np.diff(launches[rows]) | np.diff(codes[rows])) + 1
    moments = np.flatnonzero(starting[codes])
    kept, times = [], []
    for own in np.split(rows, others):
        first, last = at[own[0]], at[own[-1]]
        within = (at[one] for one in moments if launches[one] == launches[own[0]] and first <= at[one] <= last)
        start = next(within, first)
        kept.append(own[at[own] >= start])
        times.append((at[kept[-1]] - start).astype(float))
    place = np.concatenate(kept)
    bare = np.array([SAMPLED.sub("", name, count=1) for name in names], dtype=object)
    return pd.DataFrame(
        {
            "launch": launches[place],
            "metric": pd.Series(bare[codes[place]].tolist()).astype("category"),
            "time_ns": np.concatenate(times),
            "value": instances["value"].to_numpy()[place],
        }
    )


def sampled_metrics(frame: pd.DataFrame) -> tuple[SampledMetric, ...]:
    """Return the samples of a timeline by launch and metric, without those that have no value."""
    known = frame.dropna(subset=["value"])
    rows: dict[tuple[int, str], tuple[list[float], list[float]]] = {}
    for launch, metric, time_ns, value in zip(*(known[name].tolist() for name in COLUMNS), strict=True):
        times, values = rows.setdefault((launch, metric), ([], []))
        times.append(time_ns)
        values.append(value)
    return tuple(SampledMetric(*key, tuple(times), tuple(values)) for key, (times, values) in sorted(rows.items()))
