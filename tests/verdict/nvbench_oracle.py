"""NVBench's own comparison, asked about samples in memory instead of files."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, Any]

NO_TIMES = "no-samples or bad-samples"
WORDS = {"FAST": "faster", "SLOW": "slower", "SAME": "same", "AMBG": "unclear", "????": "unclear"}
REASONS = {
    "clear_gap_confirmed_by_bulk_cycles": "robust-apart",
    "clear_gap_confirmed_by_summary_cycles": "robust-apart",
    "missing_clock_rate": "clocks-unknown",
    "bulk_cycle_gap_not_confirmed": "clocks-disagree",
    "summary_cycle_gap_not_confirmed": "clocks-disagree",
    "centers_not_close": "robust-between",
    "weak_interval_overlap": "robust-between",
    "bulk_time_support_mismatch": "robust-scattered",
    "bulk_cycle_support_mismatch": "clocks-disagree",
    "cycle_same_not_confirmed": "clocks-disagree",
    "bulk_same": "robust-alike",
    "bulk_time_same_confirmed_by_summary_cycles": "robust-alike",
    "bulk_time_same_without_cycles": "robust-alike-in-time",
    "timing_center_missing": NO_TIMES,
}


@functools.cache
def _nvbench() -> Any:
    from cuda.bench.scripts import nvbench_compare_robust

    nvbench_compare_robust.load_nvbench_compare_tooling(load_color=False)
    return nvbench_compare_robust


def ask(sides: tuple[Numbers, Numbers], clocks: tuple[Numbers, Numbers]) -> tuple[str, str]:
    """Return its word and its reason in ours. Samples are float32, as it keeps them; clocks may be NaN.

    It knows the clock of each sample or a mean, never the clocks of some: where some are NaN it gets the mean of the
    rest.
    """
    each = all(np.isfinite(side).all() for side in clocks)
    asked = [_timing(times, mhz, each) for times, mhz in zip(sides, clocks, strict=True)]
    answer = _nvbench().compare_gpu_timings(*asked)
    return WORDS[answer.status.value], REASONS[answer.reason.code]


def _timing(times: Numbers, mhz: Numbers, each: bool) -> Any:
    known = mhz[np.isfinite(mhz)]
    return _nvbench().GpuTimingData(
        *[None] * 10,  # summaries: it takes them from the samples
        sm_clock_rate_mean=float(known.astype(np.float64).mean()) if len(known) else None,
        sample_source=_source(times),
        frequency_source=_source(mhz) if each else None,
    )


def _source(values: Numbers) -> Any:
    content = values.astype("<f4").tobytes()
    return _nvbench().Float32BinarySource(len(values), "", "", "samples", reader=lambda _: content)
