"""The metrics that every diff looks at, and which of them changed beyond their noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isclose

from ncu_assist.diff.records import Change, ChangeWord
from ncu_assist.frame import Combined, Coverage
from ncu_assist.ncu.catalogue.derived import DERIVED, STALL_SHARES
from ncu_assist.ncu.catalogue.metric import Better
from ncu_assist.ncu.catalogue.metrics import CATALOGUE

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
# A printed page has two decimals, so bytes per sector are right to 0.005 of 32 and an efficiency to 0.016 points.
ROUNDED = 0.02


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
    coverage: tuple[Coverage | None, Coverage | None] = (None, None)


@dataclass(frozen=True)
class _Noise:
    short: bool
    rounded: bool


def changes(baseline: Combined, candidate: Combined, rounded: bool = False) -> tuple[Change, ...]:
    """Return the metrics that are always looked at, then the top stall reasons of either side.

    ``rounded`` tells that the values of a side are, so that exact metrics of one binary differ in the last decimals.
    """
    durations = [side.duration_ns for side in (baseline, candidate)]
    noise = _Noise(any(ns is not None and ns < SHORT_KERNEL_NS for ns in durations), rounded)
    return tuple(_change(row, noise) for row in _rows(baseline, candidate))


def side_by_side(baseline: Combined, candidate: Combined) -> tuple[Change, ...]:
    """Return the metrics of two runs that cannot be compared: both values, and nothing of what lies between them."""
    told = changes(baseline, candidate)
    return tuple(replace(change, delta=None, verdict="not-comparable") for change in told)


def _rows(baseline: Combined, candidate: Combined) -> list[_Row]:
    return [_row(key, baseline, candidate) for key in SHOWN] + _stall_rows(baseline.stalls, candidate.stalls)


def _row(key: str, baseline: Combined, candidate: Combined) -> _Row:
    metric = CATALOGUE[key] if key in CATALOGUE else DERIVED[key]
    note = baseline.not_applicable.get(key) or candidate.not_applicable.get(key) or ""
    exact = metric.exact and not (baseline.is_weighted(key) or candidate.is_weighted(key))  # times are never exact
    sides = baseline.values[key], candidate.values[key]
    coverage = baseline.coverage(key), candidate.coverage(key)
    return _Row(key, metric.label, metric.unit, metric.better, exact, *sides, note, coverage)


def _stall_rows(baseline: dict[str, float], candidate: dict[str, float]) -> list[_Row]:
    top = {reason for stalls in (baseline, candidate) for reason in list(stalls)[:TOP_STALLS]}
    largest = sorted(top, key=lambda reason: (-max(baseline.get(reason, 0), candidate.get(reason, 0)), reason))
    return [_stall_row(reason, baseline.get(reason), candidate.get(reason)) for reason in largest]


def _stall_row(reason: str, baseline: float | None, candidate: float | None) -> _Row:
    """Return the row of a reason; of one that the catalogue does not know, nobody can tell which way is better."""
    known = STALL_SHARES.get(f"stall_{reason}")
    label = known.label if known else f"Stall: {reason.replace('_', ' ')}"
    better, exact = (known.better, known.exact) if known else (None, False)
    return _Row(f"stall_{reason}", label, "%", better, exact, baseline, candidate)


def _change(row: _Row, noise: _Noise) -> Change:
    return Change(
        metric=row.key,
        label=row.label,
        unit=row.unit,
        baseline=row.baseline,
        candidate=row.candidate,
        delta=_delta(row),
        verdict=_verdict(row, noise),
        note=row.note,
        baseline_coverage=row.coverage[0],
        candidate_coverage=row.coverage[1],
    )


def _delta(row: _Row) -> float | None:
    if row.baseline is None or row.candidate is None:
        return None
    if row.unit == "%":
        return row.candidate - row.baseline
    if row.candidate == row.baseline:
        return 0.0
    return row.candidate / row.baseline - 1 if row.baseline != 0 else None


def _verdict(row: _Row, noise: _Noise) -> ChangeWord:
    if row.baseline is None or row.candidate is None:
        return "missing"
    moved = _delta(row)
    if row.exact and isclose(row.baseline, row.candidate, rel_tol=EXACT, abs_tol=ROUNDED if noise.rounded else 0.0):
        return "unchanged"
    if not row.exact and _is_within(row, moved, NOISE_RELATIVE, NOISE_POINTS):
        return "unchanged"
    if noise.short and not row.exact and _is_within(row, moved, SHORT_NOISE_RELATIVE, SHORT_NOISE_POINTS):
        return "undecided"
    if row.better is None:
        return "changed"
    return "improved" if (row.candidate > row.baseline) == (row.better == "higher") else "regressed"


def _is_within(row: _Row, moved: float | None, relative: float, points: float) -> bool:
    if moved is None:  # from zero to something
        return False
    return abs(moved) <= (points if row.unit == "%" else relative)
