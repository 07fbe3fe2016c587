"""A trend as JSON, schema ncu-assist.trend/1."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ncu_assist.analysis.trend import Trend, TrendChange, TrendPoint, TrendSeries
from ncu_assist.render.json.values import answer, device
from ncu_assist.render.words.trend import notes, to_try


def trend_json(trend: Trend) -> dict[str, Any]:
    """Return a trend: the series, the runs of each with their times, and the changes of each, the oldest first.

    Times are medians in ns, ``error`` the relative standard error of one from its samples. ``run_to_run`` is the
    relative standard deviation between runs of one code beside it, ``least_step`` the step that is found within five
    runs about nine times in ten, None for too few runs. ``change`` is relative, 0.01 is 1 % slower, ``low``
    and ``high`` its 99 % interval; of a creep ``per_run`` is the change from a run to the next. ``level_ns`` is a run's
    time without the noise.
    """
    return answer(
        "trend",
        {
            "kernel": trend.kernel,
            "workload": trend.workload,
            "by": trend.by,
            "metrics": trend.metrics,
            "series": [_series(trend, one) for one in trend.series],
            "notes": list(notes(trend)),
        },
    )


def _series(trend: Trend, series: TrendSeries) -> dict[str, Any]:
    return {
        "version": series.name or None,
        "gpu": series.gpu,
        "best": series.best.reference,
        "run_to_run": series.levels.run_to_run,
        "least_step": series.levels.least_step if series.is_long_enough else None,
        "change": series.total if series.is_long_enough else None,
        "changes": [_change(trend, one) for one in series.changes],
        "runs": [_point(point, level) for point, level in zip(series.points, series.levels_ns, strict=True)],
    }


def _change(trend: Trend, change: TrendChange) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "before": change.before.reference,
        "after": change.after.reference,
        "change": change.change,
        "low": change.low,
        "high": change.high,
        "runs": change.runs,
        "per_run": change.per_run if change.kind == "creep" else None,
        "differences": [
            {"what": one.what, "before": one.baseline, "after": one.candidate} for one in change.differences
        ],
        "next": to_try(trend, change),
    }


def _point(point: TrendPoint, level_ns: float) -> dict[str, Any]:
    run = point.run
    return {
        "reference": point.reference,
        "version": run.version,
        "created": run.created,
        "source": run.source,
        "commit": asdict(run.commit) if run.commit else None,
        "source_sha256": run.source_sha256,
        "device": device(run.device),
        "toolchain": asdict(run.toolchain),
        "median_ns": point.timing.median_ns,
        "error": point.error,
        "level_ns": level_ns,
        "samples": point.timing.samples,
        "sm_clock_mhz": point.timing.sm_clock_mhz,
        "bench_id": point.timing.bench_id,
        "counters": dict(point.counters),
    }
