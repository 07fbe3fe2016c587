"""What may be called likely where nothing is sure: a change far outside the noise of kernels of that length."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Any

from ncu_assist.ncu.catalogue.noise import SHORT_NS
from ncu_assist.verdict.records import Likely
from ncu_assist.verdict.samples import quantile

if TYPE_CHECKING:
    import numpy as np

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
