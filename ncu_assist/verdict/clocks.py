"""SM clocks of the two sides: a difference between them is named, because it is no merit of either version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ncu_assist.verdict.records import Verdict

if TYPE_CHECKING:
    import numpy as np

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


def clock_note(verdict: Verdict) -> str:
    """Return e.g. ``SM clocks 1980 and 1755 MHz``, baseline first; empty where they hardly differ."""
    if verdict.clocks_mhz is None:
        return ""
    before, after = verdict.clocks_mhz
    return f"SM clocks {before:.0f} and {after:.0f} MHz"
