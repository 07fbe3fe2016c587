"""The rule for samples that are not paired: NVBench's robust comparison, for raw samples and its default limits.

Ranges from minimum to third quartile decide. Faster or slower: they lie apart, also in SM cycles. Same: medians are
close, the ranges overlap, and samples of each side have a neighbour on the other, also in cycles. Where samples are at
hand NVBench never asks for a small interquartile range: the neighbours say more.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log1p
from typing import TYPE_CHECKING, Any, Literal

from ncu_assist.verdict.clocks import known_clocks
from ncu_assist.verdict.records import Word
from ncu_assist.verdict.samples import quantile

if TYPE_CHECKING:
    import numpy as np

Outcome = tuple[Word, str]
Gap = Literal["faster", "slower"]

# cuda-bench 0.3.0, preset "default" of nvbench_compare_robust
APART = 0.005  # between the ranges, relative to the lower
CLOSE = 0.005  # between medians, and between neighbours
OVERLAP = 0.5  # of the narrower range
COVERED_SAMPLES = 0.97  # share of samples with a neighbour
COVERED_VALUES = 0.80  # share of distinct values with a neighbour
RARE_VALUE = 0.001  # a value is rare that only one sample has, or less than this share of the samples
RARE_SAMPLES = 0.01  # rare values are left out of the distinct ones if all of them together are no more than this


@dataclass(frozen=True)
class Range:
    """Where the samples of a side lie: minimum, median, third quartile, in any unit."""

    low: float
    centre: float
    high: float

    def times(self, factor: float) -> Range:
        """Return the range in another unit."""
        return Range(self.low * factor, self.centre * factor, self.high * factor)


@dataclass(frozen=True)
class Side:
    """The samples of one side in ns, and their SM clocks in MHz: one a sample, NaN where unknown."""

    times: np.ndarray[Any, Any]
    mhz: np.ndarray[Any, Any]

    @property
    def range(self) -> Range:
        return _range(self.times)

    @property
    def clocks(self) -> Literal["each", "mean", "unknown"]:
        known = len(known_clocks(self.mhz))
        return "unknown" if known == 0 else "each" if known == len(self.mhz) == len(self.times) else "mean"

    @property
    def cycles(self) -> np.ndarray[Any, Any]:
        cycles: np.ndarray[Any, Any] = self.times * self.mhz  # in thousandths: ns times MHz
        return cycles

    @property
    def mean_range(self) -> Range:
        """The range in cycles at the mean of the clocks that are known."""
        return self.range.times(self.mean_mhz)

    @property
    def mean_mhz(self) -> float:
        return float(known_clocks(self.mhz).mean())


def robust(baseline: Side, candidate: Side) -> Outcome:
    """Return the word and the reason code for two sides with at least one good sample each."""
    gap = _gap(baseline.range, candidate.range)
    if gap is None:
        return _alike(baseline, candidate)
    cycles = _ranges_in_cycles(baseline, candidate)
    if cycles is None:
        return "unclear", "clocks-unknown"
    return (gap, "robust-apart") if _gap(*cycles) == gap else ("unclear", "clocks-disagree")


def _ranges_in_cycles(baseline: Side, candidate: Side) -> tuple[Range, Range] | None:
    sides, known = (baseline, candidate), {baseline.clocks, candidate.clocks}
    if "unknown" in known:
        return None
    if known == {"each"}:
        return _range(baseline.cycles), _range(candidate.cycles)
    return sides[0].mean_range, sides[1].mean_range


def _alike(baseline: Side, candidate: Side) -> Outcome:
    known = {baseline.clocks, candidate.clocks}
    if not _overlap(baseline.range, candidate.range):
        return "unclear", "robust-between"
    if not _covered(baseline.times, candidate.times):
        return "unclear", "robust-scattered"
    if "unknown" in known:
        return "same", "robust-alike-in-time"
    if known == {"each"}:
        confirmed = _covered(baseline.cycles, candidate.cycles)
    else:
        confirmed = _overlap(baseline.mean_range, candidate.mean_range)
    return ("same", "robust-alike") if confirmed else ("unclear", "clocks-disagree")


def _range(values: np.ndarray[Any, Any]) -> Range:
    import numpy as np

    ordered = np.sort(values)
    return Range(float(ordered[0]), quantile(ordered, 0.5), quantile(ordered, 0.75))


def _gap(baseline: Range, candidate: Range) -> Gap | None:
    if _relative(candidate.high, baseline.low) >= APART:
        return "faster"
    return "slower" if _relative(baseline.high, candidate.low) >= APART else None


def _relative(lower: float, upper: float) -> float:
    """Return by how much ``upper`` is above ``lower``; negative if it is not."""
    return (upper - lower) / min(lower, upper)


def _overlap(baseline: Range, candidate: Range) -> bool:
    """Tell whether the medians are close and the ranges share half of the narrower one; a point must lie within."""
    if abs(_relative(baseline.centre, candidate.centre)) > CLOSE:
        return False
    shared = min(baseline.high, candidate.high) - max(baseline.low, candidate.low)
    narrower = min(baseline.high - baseline.low, candidate.high - candidate.low)
    return shared >= 0 if narrower == 0 else shared / narrower >= OVERLAP


def _covered(baseline: np.ndarray[Any, Any], candidate: np.ndarray[Any, Any]) -> bool:
    return _has_neighbours(baseline, candidate) and _has_neighbours(candidate, baseline)


def _has_neighbours(values: np.ndarray[Any, Any], others: np.ndarray[Any, Any]) -> bool:
    """Tell whether nearly all samples, and most distinct values, lie within 0.5 % of a sample of the other side."""
    import numpy as np

    distinct, counts = np.unique(values, return_counts=True)
    near = _distance(np.log(distinct), np.log(np.unique(others))) <= log1p(CLOSE)
    return bool(
        counts[near].sum() / counts.sum() >= COVERED_SAMPLES and near[_frequent(counts)].mean() >= COVERED_VALUES
    )


def _distance(points: np.ndarray[Any, Any], others: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the distance of each point to the nearest of ``others``, which are in order."""
    import numpy as np

    fenced = np.concatenate(([-np.inf], others, [np.inf]))
    above = np.searchsorted(others, points) + 1
    nearest: np.ndarray[Any, Any] = np.minimum(points - fenced[above - 1], fenced[above] - points)
    return nearest


def _frequent(counts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return which distinct values count: all, or those that are not rare if that leaves hardly a sample out."""
    import numpy as np

    total = counts.sum()
    frequent: np.ndarray[Any, Any] = counts >= max(2, np.ceil(RARE_VALUE * total))
    left_out = counts[~frequent].sum() / total
    return frequent if frequent.any() and left_out <= RARE_SAMPLES else np.ones(len(counts), dtype=bool)
