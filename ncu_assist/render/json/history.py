"""The versions of a kernel, their runs over time and a bisection as JSON: history, trend and bisect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypedDict

from ncu_assist.analysis.faults_gone import BeforeAndNow, By, FaultsGone, faults_gone
from ncu_assist.analysis.faults_gone import Source as EstimateSource
from ncu_assist.analysis.history import History, HistoryCell, OtherGpu, VersionRow
from ncu_assist.analysis.records import StoredFinding
from ncu_assist.analysis.trend import Bisection, MeasuredCommit, Symptom, Trend, TrendChange, TrendPoint, TrendSeries
from ncu_assist.analysis.trend import By as TrendBy
from ncu_assist.analysis.trend import Kind as TrendKind
from ncu_assist.analysis.yardstick import share
from ncu_assist.record import Commit, InL2, Source, Toolchain
from ncu_assist.render.json.values import AnswerKeys, DeviceKeys, RunKeys, answer, device, filled, run_facts
from ncu_assist.render.json.workloads import AgainstLibraryKeys, FloorKeys, floor, library_json
from ncu_assist.render.words.history import history_notes
from ncu_assist.render.words.trend import to_try, trend_notes
from ncu_assist.verdict import Cycles, Likely, Word


class HistoryCellKeys(TypedDict):
    """One version on one workload, against the version that it builds on."""

    workload: str | None
    served: bool
    before: str | None
    reference: str | None
    check_passed: bool | None
    median_ns: float | None
    copy_ns: float | None
    link_ns: float | None
    share_of_copy: float | None
    share_of_link: float | None
    floor: FloorKeys | None
    floor_ns: float | None
    floor_bound: str | None
    floor_assumed: bool | None
    share_of_floor: float | None
    in_l2: InL2 | None
    ncu_duration_ns: float | None
    verdict: Word | None
    likely: Likely | None
    reason: str | None
    speedup: float | None
    low: float | None
    high: float | None
    pairs: int | None
    clocks_mhz: list[float] | None
    words: str | None
    by_clock: bool | None
    cycles: Cycles | None
    bottleneck: str | None
    percent: float | None
    bottleneck_launch: int | None


class SweepPointKeys(HistoryCellKeys):
    """A version at one value of an integer of the workload."""

    value: int


class SweepKeys(TypedDict):
    """A version by the value of one integer; its points were not interleaved with each other."""

    version: str
    axis: str
    points: list[SweepPointKeys]


class WorstKeys(TypedDict):
    """The workload on which a version did worst."""

    workload: str | None
    speedup: float | None
    verdict: Word | None


class SlowerKeys(TypedDict):
    """A workload on which a version is slower."""

    workload: str | None
    speedup: float | None


class RenamedKeys(TypedDict):
    """A fault as it was found before, and as it is found now."""

    before: StoredFinding
    now: StoredFinding


class EstimateKeys(TypedDict):
    """What the faults that are gone were estimated to win."""

    low: float | None
    high: float | None


class PredictionKeys(TypedDict):
    """The faults of the version before that are gone, what they were estimated to win, and what was won."""

    source: EstimateSource
    tool: str
    date: str | None
    gone: list[StoredFinding]
    appeared: list[StoredFinding]
    renamed: list[RenamedKeys]
    lessened: list[RenamedKeys]
    worse: list[RenamedKeys]
    another_program: str | None
    estimated: EstimateKeys | None
    achieved: float | None
    achieved_by: By | None


class HistoryRowKeys(TypedDict):
    """One version of a kernel."""

    version: str
    before: str | None
    parents: list[str]
    missing: str | None
    is_peer: bool
    run: RunKeys | None
    cells: list[HistoryCellKeys]
    compared: int
    geomean: float | None
    worst: WorstKeys | None
    slower: list[SlowerKeys]
    prediction: PredictionKeys | None


class OtherGpuRowKeys(TypedDict):
    """One version on another GPU, against the version that it builds on there."""

    version: str
    before: str | None
    reference: str | None
    another_source: bool
    median_ns: float | None
    floor: FloorKeys | None
    share_of_floor: float | None
    verdict: Word | None
    likely: Likely | None
    reason: str | None
    speedup: float | None
    low: float | None
    high: float | None


class OtherGpuKeys(TypedDict):
    """The versions on another GPU model, all by one bench, on `shown_workload`."""

    gpu: str
    bench_id: str
    created: str
    rows: list[OtherGpuRowKeys]
    against_library: list[AgainstLibraryKeys]


class HistoryAnswer(AnswerKeys):
    """All versions of a kernel, each against the one that it builds on."""

    kernel: str
    source: Source | None
    workloads: list[str]
    shown_workload: str | None
    rows: list[HistoryRowKeys]
    against_library: list[AgainstLibraryKeys]
    other_gpus: list[OtherGpuKeys]
    sweeps: list[SweepKeys]
    notes: list[str]


class TrendDifferenceKeys(TypedDict):
    """What differs between the runs on either side of a change."""

    what: str
    before: str
    after: str


class TrendChangeKeys(TypedDict):
    """A change of the time of a version, in one step or creeping."""

    kind: TrendKind
    before: str
    after: str
    change: float
    low: float
    high: float
    runs: int
    per_run: float | None
    differences: list[TrendDifferenceKeys]
    next: str


class TrendRunKeys(TypedDict):
    """One run of a trend."""

    reference: str
    version: str
    created: str
    source: Source
    commit: Commit | None
    source_sha256: str | None
    device: DeviceKeys | None
    toolchain: Toolchain
    median_ns: float
    error: float
    level_ns: float
    samples: int
    sm_clock_mhz: float | None
    bench_id: str
    counters: dict[str, float | None]


class TrendSeriesKeys(TypedDict):
    """The runs of one version, or the fastest of each commit, on one model of GPU."""

    version: str | None
    gpu: str | None
    best: str
    run_to_run: float
    least_step: float | None
    change: float | None
    changes: list[TrendChangeKeys]
    runs: list[TrendRunKeys]


class TrendAnswer(AnswerKeys):
    """How the time of a kernel moved over its runs on one workload."""

    kernel: str
    workload: str
    by: TrendBy
    metrics: list[str]
    series: list[TrendSeriesKeys]
    notes: list[str]


class BisectAnswer(AnswerKeys):
    """The first commit at which a version is slower or wrong."""

    kernel: str
    version: str
    workload: str
    symptom: Symptom
    good: MeasuredCommit
    bad: MeasuredCommit
    tried: list[MeasuredCommit]
    first: list[str]
    files: list[str]
    slowdown: float | None


def history_json(history: History) -> dict[str, Any]:
    """Return a history. Raises DamagedData for changed counters or findings."""
    told = faults_gone(history)
    return answer(
        "history",
        HistoryAnswer,
        history,
        source=history.source if history.newest else None,
        workloads=[name for name in history.workloads if name is not None],
        shown_workload=history.shown,
        rows=[_row(row, history, told.get(row.version)) for row in history.rows],
        against_library=list(map(library_json, history.against_library)),
        other_gpus=[_other(other, history) for other in history.others],
        sweeps=[
            {
                "version": sweep.version,
                "axis": sweep.axis,
                "points": [{"value": v, **_cell(c)} for v, c in sweep.points],
            }
            for sweep in history.sweeps
        ],
        notes=list(history_notes(history)),
    )


def _row(row: VersionRow, history: History, told: FaultsGone | None) -> dict[str, Any]:
    stored, worst = history.cell(row).stored, row.worst
    return filled(
        HistoryRowKeys,
        row,
        missing=row.missing or None,
        run=run_facts(stored.run, stored.reference, stored.run.source) if stored else None,
        cells=[_cell(cell) for cell in row.cells],
        compared=len(row.compared),
        worst=filled(WorstKeys, worst, verdict=_of_verdict(worst, "verdict")) if worst else None,
        slower=[filled(SlowerKeys, cell) for cell in row.slower],
        prediction=_prediction(told) if told else None,
    )


def _other(other: OtherGpu, history: History) -> dict[str, Any]:
    """Return the versions on another GPU by one bench; ``before`` and the verdict are of that bench."""
    both = zip(history.rows, other.cells, strict=True)
    return filled(
        OtherGpuKeys,
        other,
        created=other.newest.created,
        rows=[_row_there(row, cell, row.version in other.changed) for row, cell in both],
        against_library=list(map(library_json, other.against_library)),
    )


def _row_there(row: VersionRow, cell: HistoryCell, changed: bool) -> dict[str, Any]:
    timing = cell.timing
    return filled(
        OtherGpuRowKeys,
        cell,
        **{name: _of_verdict(cell, name) for name in ("verdict", "likely", "reason", "speedup", "low", "high")},
        version=row.version,
        reference=cell.stored.reference if cell.stored else None,
        another_source=changed,
        median_ns=timing.median_ns if timing else None,
        floor=floor(cell.floor, timing.median_ns if timing else None),
    )


def _of_verdict(cell: HistoryCell, key: str) -> Any:
    return getattr(cell.verdict, key) if cell.verdict else None


def _cell(cell: HistoryCell) -> dict[str, Any]:
    timing = cell.timing
    return filled(
        HistoryCellKeys,
        cell,
        **{name: _of_verdict(cell, name) for name in ("verdict", "likely", "reason", "speedup", "low", "high")},
        **{name: _of_verdict(cell, name) for name in ("pairs", "clocks_mhz", "words", "by_clock", "cycles")},
        reference=cell.stored.reference if cell.stored else None,
        check_passed=cell.check.passed if cell.check else None,
        median_ns=timing.median_ns if timing else None,
        copy_ns=timing.copy_ns if timing else None,
        link_ns=timing.link_ns if timing else None,
        share_of_copy=share(timing) if timing and timing.copy_ns else None,
        share_of_link=share(timing) if timing and not timing.copy_ns else None,
        floor=floor(cell.floor, timing.median_ns if timing else None),
        floor_ns=cell.floor.ns if cell.floor else None,
        floor_bound=cell.floor.bound if cell.floor else None,
        floor_assumed=cell.floor.assumed if cell.floor else None,
        in_l2=cell.row.in_l2 if cell.row else None,
        ncu_duration_ns=cell.duration_ns,
        bottleneck=cell.bottleneck.name if cell.bottleneck else None,
        percent=cell.bottleneck.percent if cell.bottleneck else None,
        bottleneck_launch=cell.bound_launch,
    )


def _prediction(one: FaultsGone) -> dict[str, Any]:
    """``low`` is of the largest fault alone, ``high`` of all savings added up, null beyond the whole time."""
    return filled(
        PredictionKeys,
        one,
        date=one.date or None,
        renamed=_before_and_now(one.renamed),
        lessened=_before_and_now(one.lessened),
        worse=_before_and_now(one.worse),
        another_program=one.another_program or None,
        estimated={"low": one.low, "high": one.high} if one.gone else None,
    )


def _before_and_now(some: Iterable[BeforeAndNow]) -> list[dict[str, Any]]:
    return [{"before": old, "now": new} for old, new in some]


def trend_json(trend: Trend) -> dict[str, Any]:
    """Return a trend: the series, the runs of each with their times, and the changes of each, the oldest first."""
    series = [_trend_series(trend, one) for one in trend.series]
    return answer("trend", TrendAnswer, trend, series=series, notes=list(trend_notes(trend)))


def _trend_series(trend: Trend, series: TrendSeries) -> dict[str, Any]:
    return filled(
        TrendSeriesKeys,
        series,
        version=series.name or None,
        best=series.best.reference,
        run_to_run=series.levels.run_to_run,
        least_step=series.levels.least_step if series.is_long_enough else None,
        change=series.total if series.is_long_enough else None,
        changes=[_trend_change(trend, one) for one in series.changes],
        runs=[_trend_point(point, level) for point, level in zip(series.points, series.levels_ns, strict=True)],
    )


def _trend_change(trend: Trend, change: TrendChange) -> dict[str, Any]:
    return filled(
        TrendChangeKeys,
        change,
        before=change.before.reference,
        after=change.after.reference,
        per_run=change.per_run if change.kind == "creep" else None,
        differences=[{"what": one.what, "before": one.baseline, "after": one.candidate} for one in change.differences],
        next=to_try(trend, change),
    )


def _trend_point(point: TrendPoint, level_ns: float) -> dict[str, Any]:
    run = point.run
    return filled(
        TrendRunKeys,
        run,
        point,
        point.timing,
        device=device(run.device),
        level_ns=level_ns,
        counters=dict(point.counters),
    )


def bisection_json(found: Bisection) -> dict[str, Any]:
    """Return both ends, the commits that were measured between, and ``first``: several where some were skipped."""
    return answer("bisect", BisectAnswer, found)
