"""Samples as they come: whether they are times, the SM clocks and the timer's step in them, what they make likely."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import TYPE_CHECKING, Any

from ncu_assist.ncu.catalogue.noise import SHORT_NS
from ncu_assist.verdict.records import Likely, Verdict

if TYPE_CHECKING:
    import numpy as np

    Times = Sequence[float] | np.ndarray[Any, Any]


SHORTEST_NS, LONGEST_NS = 1e-3, 1e18  # a picosecond and thirty years: no kernel, but ratios stay finite


def as_numbers(values: Times) -> np.ndarray[Any, Any]:
    """Return values as an array of doubles; None becomes NaN."""
    import numpy as np

    return np.asarray(values, dtype=np.float64)


def are_times(values_ns: np.ndarray[Any, Any]) -> bool:
    """Tell whether every sample is a time: finite and above zero."""
    return bool(((values_ns >= SHORTEST_NS) & (values_ns <= LONGEST_NS)).all())


def quantile(ordered: np.ndarray[Any, Any], share: float) -> float:
    """Return the sample nearest to a share of the way through ordered samples, a tie going up, as NVBench takes it."""
    return float(ordered[int(share * (len(ordered) - 1) + 0.5)])


# A compute-bound kernel gains what the clock gains: 1 % is half of the smallest change that people hunt for (2 %).
# Versions in one recorded bench (13 entries, 10 workloads, H200) had medians up to 1.3 % apart, mostly within 0.5 %.
CLOCKS_APART = 0.01


def median_clocks(
    baseline_mhz: np.ndarray[Any, Any], candidate_mhz: np.ndarray[Any, Any]
) -> tuple[float, float] | None:
    """Return the median SM clocks if they differ by more than 1 %; None if not, or where a side's are unknown."""
    import numpy as np

    known = [known_clocks(side) for side in (baseline_mhz, candidate_mhz)]
    if any(len(side) == 0 for side in known):
        return None
    before, after = (float(np.median(side)) for side in known)
    return (before, after) if abs(before - after) > CLOCKS_APART * min(before, after) else None


def known_clocks(mhz: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the clocks that are known: a clock that could not be read is NaN."""
    import numpy as np

    known: np.ndarray[Any, Any] = mhz[np.isfinite(mhz) & (mhz > 0)]
    return known


def clock_note(verdict: Verdict, names: tuple[str, str] | None = None, follows_sms: bool = True) -> str:
    """Return e.g. ``SM clocks 1980 and 1755 MHz``, baseline first, and what that does to the difference.

    ``names`` are what the two are called: ``SM clocks: v1 at 1980 MHz, v2 at 1755 MHz``. ``follows_sms``: what binds
    runs at the SM clock, as DRAM does not.

    Empty where they hardly differ.
    """
    if verdict.clocks_mhz is None:
        return ""
    before, after = verdict.clocks_mhz
    against = verdict.verdict.endswith("faster" if after < before else "slower")
    part = "all of the difference is" if verdict.is_of_clock and follows_sms else "part of the difference may be"
    said = "at one clock the difference would be larger" if against else f"{part} theirs"
    if names is None:
        return f"SM clocks {before:.0f} and {after:.0f} MHz: {said}"
    return f"SM clocks: {names[0]} at {before:.0f} MHz, {names[1]} at {after:.0f} MHz; {said}"


COARSEST_NS = 512  # cudaEventElapsedTime promises about 0.5 us; a larger common divisor is chance
FINE = 0.001  # a step of this share of the time, a fifth of the margin, moves no verdict
SEED = 20_000_029
# A time lies between two stamps, each right to one step. Where the starts of two calls fall on the clock can hang on
# their buffers: of 100 recorded pairs of the same code, one of 3.7 us was 47 ns apart throughout, a step and a half.
RESOLVED_STEPS = 2


def resolution(baseline_ns: np.ndarray[Any, Any], candidate_ns: np.ndarray[Any, Any]) -> float:
    """Return which part of the shorter time the clock cannot tell apart: two of its steps; 0 where it has none."""
    import numpy as np

    step = clock_step(np.concatenate((baseline_ns, candidate_ns)))
    return RESOLVED_STEPS * step / min(float(np.median(baseline_ns)), float(np.median(candidate_ns)))


def spread_ratios(baseline_ns: np.ndarray[Any, Any], candidate_ns: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return log(baseline / candidate) a pair, each time moved by up to half a step of the clock if that is coarse.

    The same times give the same ratios, and swapped sides the same with the other sign.
    """
    import numpy as np

    ratios: np.ndarray[Any, Any] = np.log(baseline_ns) - np.log(candidate_ns)
    step = clock_step(np.concatenate((baseline_ns, candidate_ns)))
    shortest = min(float(np.median(baseline_ns)), float(np.median(candidate_ns)))
    if step <= FINE * shortest or not ratios.any():
        return ratios
    moves = np.random.default_rng(SEED).uniform(-0.5, 0.5, (2, len(ratios))) * step
    slower = 0 if ratios.mean() >= 0 else 1  # the slower side moves alike, whichever side it is
    ratios += moves[slower] / baseline_ns - moves[1 - slower] / candidate_ns
    return ratios


def clock_step(times_ns: np.ndarray[Any, Any]) -> float:
    """Return the step in ns of which all times are whole multiples; 0 where there is none or it is chance."""
    import numpy as np

    step = int(np.gcd.reduce(np.rint(times_ns).astype(np.int64)))
    return float(step) if step <= COARSEST_NS else 0.0


# Sources: single samples of identical binaries, 39 kernels (docs/sources.md), and the recorded repeats in noise.py.
# Kernels of 20 us and more: repeats stray by up to 1.6 % from their median, so two samples by 3.2 % from each other; a
# cache-resident one moved by 5 %. Twice that is far outside. One kernel in 39 moved by 53 %: hence likely, not faster.
LIKELY_LONG = 0.10
# Shorter ones: repeats stray by up to 14 %, so two samples by 28 %; untouched kernels of 2 to 13 us moved by 7 to 12 %.
LIKELY_SHORT = 0.30


def likely(baseline_ns: np.ndarray[Any, Any], candidate_ns: np.ndarray[Any, Any]) -> Likely | None:
    """Return what the medians make likely, of one or more samples a side; None where noise could have done it.

    Of several samples the middle halves must lie apart too: where they share values, the samples are too noisy.
    """
    sides = [_quartiles(side) for side in (baseline_ns, candidate_ns)]
    before, after = (middle for _, middle, _ in sides)
    threshold = LIKELY_SHORT if min(before, after) < SHORT_NS else LIKELY_LONG
    if abs(log(before) - log(after)) <= log(1 + threshold):
        return None
    if after < before:
        return "faster" if sides[1][2] < sides[0][0] else None
    return "slower" if sides[1][0] > sides[0][2] else None


def _quartiles(values: np.ndarray[Any, Any]) -> tuple[float, float, float]:
    import numpy as np

    ordered = np.sort(values)
    return quantile(ordered, 0.25), quantile(ordered, 0.5), quantile(ordered, 0.75)
