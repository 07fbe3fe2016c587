"""The verdict over samples that are not paired: of two benches, of repeated launches, or one duration a side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ncu_assist.verdict.clocks import median_clocks
from ncu_assist.verdict.likely import likely
from ncu_assist.verdict.records import KILO, Cycles, Verdict, Word, unclear
from ncu_assist.verdict.robust import Outcome, Side, robust
from ncu_assist.verdict.samples import are_times, as_numbers

if TYPE_CHECKING:
    import numpy as np

    from ncu_assist.verdict.samples import Times

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
    return _judged(Side(times[0], clocks[0]), Side(times[1], clocks[1]))


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


def _judged(baseline: Side, candidate: Side) -> Verdict:
    word, reason = _outcome(baseline, candidate)
    guess = likely(baseline.times, candidate.times) if word == "unclear" and reason != "clocks-disagree" else None
    cycles = _cycles(baseline, candidate)
    if guess and cycles and likely(*cycles) != guess:  # another clock explains the change
        guess = None
    return Verdict(
        verdict=word,
        likely=guess,
        reason=reason,
        speedup=baseline.range.centre / candidate.range.centre,
        low=None,
        high=None,
        pairs=0,
        samples=(len(baseline.times), len(candidate.times)),
        clocks_mhz=median_clocks(baseline.mhz, candidate.mhz),
        cycles=_in_cycles(word, reason, cycles) if cycles else None,
    )


def _outcome(baseline: Side, candidate: Side) -> Outcome:
    counts = len(baseline.times), len(candidate.times)
    if max(counts) == 1:
        return "unclear", "one-sample"
    return robust(baseline, candidate) if min(counts) >= MINIMUM_SAMPLES else ("unclear", "too-few-samples")


def _cycles(baseline: Side, candidate: Side) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None:
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
