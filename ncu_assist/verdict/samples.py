"""Samples as they come: whether they are times at all, and their order statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
