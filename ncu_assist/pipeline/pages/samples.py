"""The samples of a run for its timing chart, read from the archive."""

from __future__ import annotations

from ncu_assist.analysis.diff.timing import SampleReader
from ncu_assist.render.html.timing_chart import TimedSamples, samples_in
from ncu_assist.store import StoredRun


def timed_samples(stored: StoredRun, workload: str | None) -> TimedSamples | None:
    """Return all samples of a run on one workload; None where it was not timed on it.

    Raises DamagedData for samples that were changed, or that are not what the timing of the run is of.
    """
    run = stored.run
    timing = run.timing(workload) if workload else None
    if timing is None or run.bench is None or workload is None:
        return None
    frame = SampleReader().of(stored, workload)
    frame = frame[frame["bench_id"] == timing.bench_id]
    columns = (frame[name].tolist() for name in ("round", "position", "time_ns", "late"))
    return samples_in(list(zip(*columns, strict=True)), run.version, timing, run.bench.flush)
