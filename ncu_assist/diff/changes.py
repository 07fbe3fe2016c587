"""The metrics that every diff looks at, and which of them changed beyond their noise."""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose

from ncu_assist.diff.records import Change, ChangeWord
from ncu_assist.frame import Combined
from ncu_assist.ncu.derived import DERIVED
from ncu_assist.ncu.metric import Better
from ncu_assist.ncu.metrics import CATALOGUE

SHOWN = (
    "duration",
    "dram_bandwidth",
    "dram_throughput",
    "memory_throughput",
    "sm_throughput",
    "sector_efficiency_load",
    "sector_efficiency_store",
    "shared_wavefronts_excessive",
    "global_sectors_excessive",
    "sectors_per_request_store",
    "dram_bytes",
    "theoretical_occupancy",
    "achieved_occupancy",
    "registers",
    "instructions",
    "local_spilling_requests",
)
TOP_STALLS = 5
# Of the metrics that do not repeat exactly, most stay below 1 % in a long kernel (ncu_facts.md, Measuring); twice that
# is a change. Percentages differ in points instead: 1 of 100.
NOISE_RELATIVE = 0.02
NOISE_POINTS = 1.0
# Below about 20 us ratios of different passes are not to be trusted: untouched kernels of 11 to 13 us moved by +7 and
# +12 %, one of 2 us by -9 % (ncu_facts.md, Measuring). What moved less than this there is undecided.
SHORT_KERNEL_NS = 20_000.0
SHORT_NOISE_RELATIVE = 0.15
SHORT_NOISE_POINTS = 10.0
EXACT = 1e-9  # of a value: what is left of a ratio of two exact counts in float64


@dataclass(frozen=True)
class _Row:
    key: str
    label: str
    unit: str
    better: Better | None
    exact: bool
    baseline: float | None
    candidate: float | None
    note: str = ""


def changes(baseline: Combined, candidate: Combined) -> tuple[Change, ...]:
    """Return the metrics that are always looked at, then the top stall reasons of either side."""
    rows = [_row(key, baseline, candidate) for key in SHOWN] + _stall_rows(baseline.stalls, candidate.stalls)
    durations = [side.duration_ns for side in (baseline, candidate)]
    short = any(ns is not None and ns < SHORT_KERNEL_NS for ns in durations)
    return tuple(_change(row, short) for row in rows)


def _row(key: str, baseline: Combined, candidate: Combined) -> _Row:
    metric = CATALOGUE[key] if key in CATALOGUE else DERIVED[key]
    note = baseline.not_applicable.get(key) or candidate.not_applicable.get(key) or ""
    sides = baseline.values[key], candidate.values[key]
    return _Row(key, metric.label, metric.unit, metric.better, metric.exact, *sides, note)


def _stall_rows(baseline: dict[str, float], candidate: dict[str, float]) -> list[_Row]:
    top = {reason for stalls in (baseline, candidate) for reason in list(stalls)[:TOP_STALLS]}
    largest = sorted(top, key=lambda reason: (-max(baseline.get(reason, 0), candidate.get(reason, 0)), reason))
    return [
        _Row(f"stall_{r}", f"Stall: {r.replace('_', ' ')}", "%", "lower", False, baseline.get(r), candidate.get(r))
        for r in largest
    ]


def _change(row: _Row, short: bool) -> Change:
    return Change(
        metric=row.key,
        label=row.label,
        unit=row.unit,
        baseline=row.baseline,
        candidate=row.candidate,
        delta=_delta(row),
        verdict=_verdict(row, short),
        note=row.note,
    )


def _delta(row: _Row) -> float | None:
    if row.baseline is None or row.candidate is None:
        return None
    if row.unit == "%":
        return row.candidate - row.baseline
    if row.candidate == row.baseline:
        return 0.0
    return row.candidate / row.baseline - 1 if row.baseline != 0 else None


def _verdict(row: _Row, short: bool) -> ChangeWord:
    if row.baseline is None or row.candidate is None:
        return "missing"
    moved = _delta(row)
    if _is_noise(row, moved, NOISE_RELATIVE, NOISE_POINTS):
        return "unchanged"
    if short and not row.exact and _is_noise(row, moved, SHORT_NOISE_RELATIVE, SHORT_NOISE_POINTS):
        return "undecided"
    if row.better is None:
        return "changed"
    return "improved" if (row.candidate > row.baseline) == (row.better == "higher") else "regressed"


def _is_noise(row: _Row, moved: float | None, relative: float, points: float) -> bool:
    if row.exact:
        return isclose(row.baseline or 0.0, row.candidate or 0.0, rel_tol=EXACT, abs_tol=0.0)
    if moved is None:  # from zero to something
        return False
    return abs(moved) <= (points if row.unit == "%" else relative)
