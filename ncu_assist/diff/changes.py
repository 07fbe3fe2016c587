"""Which metrics changed beyond their noise, and which of them for the better."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean, stdev

from ncu_assist.diff.metric_rows import Row, rows
from ncu_assist.diff.noise import NoiseModel
from ncu_assist.diff.records import Change, ChangeWord
from ncu_assist.frame import Combined


def changes(baseline: Combined, candidate: Combined, noise: NoiseModel, every: bool = False) -> tuple[Change, ...]:
    """Return the metrics that are always looked at, then the top stall reasons; with ``every`` all that a side has."""
    return tuple(change(row, noise) for row in rows(baseline, candidate, every))


def side_by_side(baseline: Combined, candidate: Combined, every: bool = False) -> tuple[Change, ...]:
    """Return the metrics of two runs that cannot be compared: both values, and nothing of what lies between them."""
    told = changes(baseline, candidate, NoiseModel(None), every)
    return tuple(replace(change, delta=None, verdict="not-comparable", noise=None, z=None) for change in told)


def change(row: Row, noise: NoiseModel) -> Change:
    """Return what became of one metric; a rate is judged as the percentage that is the same number."""
    z, count = _score(row)
    judged = row.in_percent or row
    return Change(
        metric=row.key,
        label=row.label,
        unit=row.unit,
        baseline=row.baseline,
        candidate=row.candidate,
        delta=_delta(row),
        verdict=_verdict(judged, noise),
        note=row.note,
        baseline_coverage=row.coverage[0],
        candidate_coverage=row.coverage[1],
        noise=_noise(judged, row.unit, noise),
        z=z,
        repeats=count,
        is_material=judged.is_material,
    )


def _delta(row: Row) -> float | None:
    if row.baseline is None or row.candidate is None:
        return None
    if row.unit == "%":
        return row.candidate - row.baseline
    if row.candidate == row.baseline:
        return 0.0
    return row.candidate / row.baseline - 1 if row.baseline != 0 else None


def _noise(row: Row, unit: str, noise: NoiseModel) -> float | None:
    """Return how far one side may stray, in the unit of the delta of ``unit``; None where that has none."""
    reading = row.reading()
    if reading is None:
        return None
    if row.exact and not noise.rounded:
        return 0.0
    amount = noise.amount(reading)
    return amount if unit == "%" else amount / reading.larger if reading.larger else None


def _score(row: Row) -> tuple[float | None, int]:
    """Return the candidate's distance from the mean of the baseline's repeats in their standard deviations, and n.

    That is what Nsight Compute shows beside several baselines; None where the baseline has one value, or always the
    same.
    """
    samples = row.samples[0]
    if row.candidate is None or len(samples) < 2 or (deviation := stdev(samples)) == 0:
        return None, len(samples)
    return (row.candidate - mean(samples)) / deviation, len(samples)


def _verdict(row: Row, noise: NoiseModel) -> ChangeWord:
    reading = row.reading()
    if reading is None:
        return "missing"
    distance = noise.distance(reading)
    if distance != "beyond":
        return "unchanged" if distance == "within" else "undecided"
    if row.better is None:
        return "changed"
    return "improved" if (reading.candidate > reading.baseline) == (row.better == "higher") else "regressed"
