"""Times of a coarse clock: spread over its step, so that the median of their ratios does not snap to it.

Event timers tick every 32 ns: 1 % of a kernel of 3 us. A call starts anywhere between two ticks, so its times fall on
the ticks around it in the right proportion, and their mean is right; but a median is one tick or the next. Of two
kernels of 2 us that are 0.7 % apart it said ``same``, of two that are 1.0 % apart 1.6 %.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

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
