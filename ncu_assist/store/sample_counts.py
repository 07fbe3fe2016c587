"""Whether the samples of a run are those that its record speaks of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncu_assist.record import Run
from ncu_assist.store.naming import RUN_JSON
from ncu_assist.store.reading import SAMPLES

if TYPE_CHECKING:
    import pandas as pd


def samples_problem(run: Run, own: pd.DataFrame, workload: str) -> str:
    """Return how the samples of a run's own version contradict its timing on a workload; empty where they agree.

    A workload on which every sample was late has samples and no timing, as none of them is good.
    """
    found, timing = own[own["workload"] == workload], run.timing(workload)
    late = int(found["late"].astype(bool).sum())
    good = len(found) - late
    if timing is None:
        return f"{SAMPLES} has {good} samples of workload {workload}, {RUN_JSON} no timing of it" if good else ""
    if timing.bench_id not in set(found["bench_id"]):
        return f"{SAMPLES} has no samples of workload {workload}"
    if (good, late) == (timing.samples, timing.dropped):
        return ""
    listed = f"{RUN_JSON} lists {timing.samples} and {timing.dropped}"
    return f"{SAMPLES} has {good} good and {late} late samples of workload {workload}, {listed}"
