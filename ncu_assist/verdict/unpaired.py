"""The rule for samples that are not paired: NVBench's robust comparison, for raw samples and its default limits.

Ranges from minimum to third quartile decide. Faster or slower: they lie apart, also in SM cycles. Same: medians are
close, the ranges overlap, and samples of each side have a neighbour on the other, also in cycles. Where samples are at
hand NVBench never asks for a small interquartile range: the neighbours say more.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log1p
from typing import TYPE_CHECKING, Any, Literal

from ncu_assist.verdict.records import KILO, Cycles, Verdict, Word, unclear
from ncu_assist.verdict.samples import are_times, as_numbers, known_clocks, likely, median_clocks, quantile

if TYPE_CHECKING:
    import numpy as np

    from ncu_assist.verdict.samples import Times


WordAndReason = tuple[Word, str]
Gap = Literal["faster", "slower"]

# cuda-bench 0.3.0, preset "default" of nvbench_compare_robust
APART = 0.005  # between the ranges, relative to the lower
CLOSE = 0.005  # between medians, and between neighbours
OVERLAP = 0.5  # of the narrower range
COVERED_SAMPLES = 0.97  # share of samples with a neighbour
COVERED_VALUES = 0.80  # share of distinct values with a neighbour
RARE_VALUE = 0.001  # a value is rare that only one sample has, or less than this share of the samples
RARE_SAMPLES = 0.01  # rare values are left out of the distinct ones if all of them together are no more than this


SampleRange = tuple[float, float, float]  # minimum, median and third quartile of a side, in any unit


@dataclass(frozen=True)
class SampledSide:
    """The samples of one side in ns, and their SM clocks in MHz: one a sample, NaN where unknown."""

    times: np.ndarray[Any, Any]
    mhz: np.ndarray[Any, Any]

    @property
    def range(self) -> SampleRange:
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
    def mean_range(self) -> SampleRange:
        """The range in cycles at the mean of the clocks that are known."""
        low, centre, high = self.range
        return low * self.mean_mhz, centre * self.mean_mhz, high * self.mean_mhz

    @property
    def mean_mhz(self) -> float:
        return float(known_clocks(self.mhz).mean())


def robust(baseline: SampledSide, candidate: SampledSide) -> WordAndReason:
    """Return the word and the reason code for two sides with at least one good sample each."""
    gap = _gap(baseline.range, candidate.range)
    if gap is None:
        return _alike(baseline, candidate)
    cycles = _ranges_in_cycles(baseline, candidate)
    if cycles is None:
        return "unclear", "clocks-unknown"
    return (gap, "robust-apart") if _gap(*cycles) == gap else ("unclear", "clocks-disagree")


def _ranges_in_cycles(baseline: SampledSide, candidate: SampledSide) -> tuple[SampleRange, SampleRange] | None:
    sides, known = (baseline, candidate), {baseline.clocks, candidate.clocks}
    if "unknown" in known:
        return None
    if known == {"each"}:
        return _range(baseline.cycles), _range(candidate.cycles)
    return sides[0].mean_range, sides[1].mean_range


def _alike(baseline: SampledSide, candidate: SampledSide) -> WordAndReason:
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


def _range(values: np.ndarray[Any, Any]) -> SampleRange:
    import numpy as np

    ordered = np.sort(values)
    return float(ordered[0]), quantile(ordered, 0.5), quantile(ordered, 0.75)


def _gap(baseline: SampleRange, candidate: SampleRange) -> Gap | None:
    (low, _, high), (other_low, _, other_high) = baseline, candidate
    if _relative(other_high, low) >= APART:
        return "faster"
    return "slower" if _relative(high, other_low) >= APART else None


def _relative(lower: float, upper: float) -> float:
    """Return by how much ``upper`` is above ``lower``; negative if it is not."""
    return (upper - lower) / min(lower, upper)


def _overlap(baseline: SampleRange, candidate: SampleRange) -> bool:
    """Tell whether the medians are close and the ranges share half of the narrower one; a point must lie within."""
    (low, centre, high), (other_low, other_centre, other_high) = baseline, candidate
    if abs(_relative(centre, other_centre)) > CLOSE:
        return False
    shared = min(high, other_high) - max(low, other_low)
    narrower = min(high - low, other_high - other_low)
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


# The least number a side; NVBench has none. Ranges of 10 independent samples each of the same code lie apart in less
# than 0.1 %, but in 5 % where a sample keeps 0.8 of the noise of the one before; of 20 each in 0.2 % (1,000 generated
# pairs; with 0.9 it is 6 %, and of 50 none).
MINIMUM_SAMPLES = 20


def compare_unpaired(
    baseline_ns: Times,
    candidate_ns: Times,
    baseline_mhz: Times | None = None,
    candidate_mhz: Times | None = None,
) -> Verdict:
    """Return the verdict over two lots of durations that have nothing to do with each other, by NVBench's robust rule.

    ``baseline_mhz`` and ``candidate_mhz`` are SM clocks, one a sample, None or NaN where unknown: without them nothing
    is faster or slower, only likely. Below 20 samples a side it is unclear, at best likely. Any numbers are taken, also
    none: what is no time is a reason.
    """
    times = as_numbers(baseline_ns), as_numbers(candidate_ns)
    if any(side.size == 0 for side in times):
        return unclear("no-samples")
    if not all(are_times(side) for side in times):
        return unclear("bad-samples")
    clocks = _clocks(baseline_mhz), _clocks(candidate_mhz)
    return _judged(SampledSide(times[0], clocks[0]), SampledSide(times[1], clocks[1]))


def compare_durations(
    baseline_ns: float | None,
    candidate_ns: float | None,
    baseline_mhz: float | None = None,
    candidate_mhz: float | None = None,
) -> Verdict:
    """Return the verdict over one duration a side, as two reports hold: always unclear, at best likely."""
    sides = (baseline_ns, candidate_ns, baseline_mhz, candidate_mhz)
    return compare_unpaired(*([] if side is None else [side] for side in sides))


def _clocks(mhz: Times | None) -> np.ndarray[Any, Any]:
    return as_numbers([] if mhz is None else mhz)


def _judged(baseline: SampledSide, candidate: SampledSide) -> Verdict:
    word, reason = _outcome(baseline, candidate)
    guess = likely(baseline.times, candidate.times) if word == "unclear" and reason != "clocks-disagree" else None
    cycles = _cycles(baseline, candidate)
    if guess and cycles and likely(*cycles) != guess:  # another clock explains the change
        guess = None
    return Verdict(
        verdict=word,
        likely=guess,
        reason=reason,
        speedup=baseline.range[1] / candidate.range[1],  # of medians
        low=None,
        high=None,
        pairs=0,
        samples=(len(baseline.times), len(candidate.times)),
        clocks_mhz=median_clocks(baseline.mhz, candidate.mhz),
        cycles=_in_cycles(word, reason, cycles) if cycles else None,
    )


def _outcome(baseline: SampledSide, candidate: SampledSide) -> WordAndReason:
    counts = len(baseline.times), len(candidate.times)
    if max(counts) == 1:
        return "unclear", "one-sample"
    return robust(baseline, candidate) if min(counts) >= MINIMUM_SAMPLES else ("unclear", "too-few-samples")


def _cycles(baseline: SampledSide, candidate: SampledSide) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
    """Return the SM cycles of the samples; at the mean clock of a side where not every sample has one."""
    if "unknown" in (baseline.clocks, candidate.clocks):
        return None
    if baseline.clocks == candidate.clocks == "each":
        return baseline.cycles / KILO, candidate.cycles / KILO
    return baseline.times * baseline.mean_mhz / KILO, candidate.times * candidate.mean_mhz / KILO


def _in_cycles(word: Word, reason: str, cycles: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]) -> Cycles:
    """Return what is said of cycles: what is not paired is faster or slower in both or in neither."""
    import numpy as np

    before, after = (float(np.median(side)) for side in cycles)
    return Cycles(word, reason, before / after, medians=(before, after))
