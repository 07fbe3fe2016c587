"""The versions of a kernel, their runs over time and a bisection as JSON: history, trend and bisect."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from ncu_assist.analysis.faults_gone import BeforeAndNow, FaultsGone, faults_gone
from ncu_assist.analysis.history import History, HistoryCell, OtherGpu, Sweep, VersionRow
from ncu_assist.analysis.trend import Bisection, Trend, TrendChange, TrendPoint, TrendSeries
from ncu_assist.analysis.yardstick import share
from ncu_assist.render.json.values import answer, cycles_json, device, floor, library_json, run_facts
from ncu_assist.render.words.history import history_notes
from ncu_assist.render.words.trend import to_try, trend_notes


def history_json(history: History) -> dict[str, Any]:
    """Return a history; ``speedup`` above 1 is faster than the version ``before``, within ``low`` and ``high``.

    ``before`` is the nearest that a version builds on with a time, ``parents`` what it builds on, as its comment says.

    ``share_of_copy`` is 1 where a version is as fast as a device copy of the same bytes, ``share_of_link`` where it is
    as fast as the copy engine fetches them from the host. ``floor_ns`` is the least time of the workload by measured
    rates, ``is_peer`` tells what is a library's or a framework's own. ``percent`` is the share of peak of the busiest
    unit. ``geomean`` is over the ``compared`` workloads and may hide a slower one; ``worst`` and ``slower`` do not.
    ``other_gpus`` are the same versions on the workload shown, by one bench of each GPU model that is not the newest
    run's. ``prediction`` is of the workload shown: the faults of the version before that are ``gone`` or ``lessened``,
    with what they were estimated to win, beside the speed-up ``achieved``; null where that cannot be told. Times in
    nanoseconds; ``ncu_duration_ns`` is of all launches together. Raises DamagedData for changed counters or findings.
    """
    told = faults_gone(history)
    return answer(
        "history",
        {
            "kernel": history.kernel,
            "source": history.source if history.newest else None,
            "workloads": [name for name in history.workloads if name is not None],
            "shown_workload": history.shown,
            "rows": [_row(row, history) | {"prediction": _prediction(told.get(row.version))} for row in history.rows],
            "against_library": list(map(library_json, history.against_library)),
            "other_gpus": [_other(other, history) for other in history.others],
            "sweeps": [_sweep(sweep) for sweep in history.sweeps],
            "notes": list(history_notes(history)),
        },
    )


def _row(row: VersionRow, history: History) -> dict[str, Any]:
    stored, worst = history.cell(row).stored, row.worst
    run = run_facts(stored.run, stored.reference, stored.run.source) if stored else None
    return {
        "version": row.version,
        "before": row.before,
        "parents": row.parents,
        "missing": row.missing or None,
        "is_peer": row.is_peer,
        "run": run,
        "cells": [_cell(cell) for cell in row.cells],
        "compared": len(row.compared),
        "geomean": row.geomean,
        "worst": {"workload": worst.workload, "speedup": worst.speedup, "verdict": _word(worst)} if worst else None,
        "slower": [{"workload": cell.workload, "speedup": cell.speedup} for cell in row.slower],
    }


def _other(other: OtherGpu, history: History) -> dict[str, Any]:
    """Return the versions on another GPU by one bench; ``before`` and the verdict are of that bench."""
    return {
        "gpu": other.gpu,
        "bench_id": other.bench_id,
        "created": other.newest.created,
        "rows": [
            _row_there(row, cell, row.version in other.changed)
            for row, cell in zip(history.rows, other.cells, strict=True)
        ],
        "against_library": list(map(library_json, other.against_library)),
    }


def _row_there(row: VersionRow, cell: HistoryCell, changed: bool) -> dict[str, Any]:
    timing = cell.timing
    return {
        "version": row.version,
        "before": cell.before,
        "reference": cell.stored.reference if cell.stored else None,
        "another_source": changed,
        "median_ns": timing.median_ns if timing else None,
        "floor": floor(cell.floor, timing.median_ns if timing else None),
        "share_of_floor": cell.share_of_floor,
        **_verdict(cell),
    }


def _verdict(cell: HistoryCell) -> dict[str, Any]:
    verdict = cell.verdict
    return {
        "verdict": _word(cell),
        "likely": verdict.likely if verdict else None,
        "reason": verdict.reason if verdict else None,
        "speedup": verdict.speedup if verdict else None,
        "low": verdict.low if verdict else None,
        "high": verdict.high if verdict else None,
    }


def _sweep(sweep: Sweep) -> dict[str, Any]:
    """Return a version by the value of one integer; its points were not interleaved with each other."""
    return {
        "version": sweep.version,
        "axis": sweep.axis,
        "points": [{"value": value, **_cell(cell)} for value, cell in sweep.points],
    }


def _cell(cell: HistoryCell) -> dict[str, Any]:
    verdict, timing = cell.verdict, cell.timing
    return {
        "workload": cell.workload,
        "served": cell.served,
        "before": cell.before,
        "reference": cell.stored.reference if cell.stored else None,
        "check_passed": cell.check.passed if cell.check else None,
        "median_ns": timing.median_ns if timing else None,
        "copy_ns": timing.copy_ns if timing else None,
        "link_ns": timing.link_ns if timing else None,
        "share_of_copy": share(timing) if timing and timing.copy_ns else None,
        "share_of_link": share(timing) if timing and not timing.copy_ns else None,
        "floor": floor(cell.floor, timing.median_ns if timing else None),
        "floor_ns": cell.floor.ns if cell.floor else None,
        "floor_bound": cell.floor.bound if cell.floor else None,
        "floor_assumed": cell.floor.assumed if cell.floor else None,
        "share_of_floor": cell.share_of_floor,
        "in_l2": cell.row.in_l2 if cell.row else None,
        "ncu_duration_ns": cell.duration_ns,
        **_verdict(cell),
        "pairs": verdict.pairs if verdict else None,
        "clocks_mhz": verdict.clocks_mhz if verdict else None,
        **cycles_json(verdict),
        "bottleneck": cell.bottleneck.name if cell.bottleneck else None,
        "percent": cell.bottleneck.percent if cell.bottleneck else None,
        "bottleneck_launch": cell.bound_launch,
    }


def _prediction(one: FaultsGone | None) -> dict[str, Any] | None:
    """``low`` is of the largest fault alone, ``high`` of all savings added up, null beyond the whole time."""
    if one is None:
        return None
    return {
        "source": one.source,
        "tool": one.tool,
        "date": one.date or None,
        "gone": [asdict(fault) for fault in one.gone],
        "appeared": [asdict(fault) for fault in one.appeared],
        "renamed": _before_and_now(one.renamed),
        "lessened": _before_and_now(one.lessened),
        "worse": _before_and_now(one.worse),
        "another_program": one.another_program or None,
        "estimated": {"low": one.low, "high": one.high} if one.gone else None,
        "achieved": one.achieved,
        "achieved_by": one.achieved_by,
    }


def _before_and_now(some: Iterable[BeforeAndNow]) -> list[dict[str, Any]]:
    return [{"before": asdict(old), "now": asdict(new)} for old, new in some]


def _word(cell: HistoryCell) -> str | None:
    return cell.verdict.verdict if cell.verdict else None


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
            "series": [_trend_series(trend, one) for one in trend.series],
            "notes": list(trend_notes(trend)),
        },
    )


def _trend_series(trend: Trend, series: TrendSeries) -> dict[str, Any]:
    return {
        "version": series.name or None,
        "gpu": series.gpu,
        "best": series.best.reference,
        "run_to_run": series.levels.run_to_run,
        "least_step": series.levels.least_step if series.is_long_enough else None,
        "change": series.total if series.is_long_enough else None,
        "changes": [_trend_change(trend, one) for one in series.changes],
        "runs": [_trend_point(point, level) for point, level in zip(series.points, series.levels_ns, strict=True)],
    }


def _trend_change(trend: Trend, change: TrendChange) -> dict[str, Any]:
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


def _trend_point(point: TrendPoint, level_ns: float) -> dict[str, Any]:
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


def bisection_json(found: Bisection) -> dict[str, Any]:
    """Return both ends, the commits that were measured between, and ``first``: several where some were skipped."""
    return answer("bisect", {**asdict(found), "slowdown": found.slowdown})
