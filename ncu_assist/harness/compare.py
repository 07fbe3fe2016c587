"""How far an output is from the reference, by the norm and element by element. Runs in the child."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from ncu_assist.spec import Tolerance

CHUNK = 1 << 24  # elements at a time: in float64 a whole output may not fit beside its reference


@dataclass(frozen=True)
class Difference:
    """``norm_error`` is ||out - ref|| / ||ref|| and ``max_error`` max |out - ref|, both over the finite elements.

    ``wrong`` counts elements beyond the element-wise tolerance; a NaN or Inf is wrong unless the reference has the
    same there. ``first`` is the index of the first of them.
    """

    total: int
    norm_error: float
    max_error: float
    wrong: int = 0
    first: tuple[int, ...] = ()
    value: float = 0.0
    expected: float = 0.0

    def reason(self, name: str, tolerance: Tolerance) -> str:
        """Return why the output ``name`` fails, empty if it passes."""
        if self.wrong:
            return (
                f"output '{name}': {self.wrong} of {self.total} elements are wrong, first at {list(self.first)}: "
                f"{self.value:.7g}, expected {self.expected:.7g}"
            )
        if not self.norm_error <= tolerance.norm:
            return f"output '{name}': error {self.norm_error:.2e} in the norm, at most {tolerance.norm:.2e} is allowed"
        return ""


def compare(out: Any, ref: Any, tolerance: Tolerance) -> Difference:
    """Return the difference of two tensors of one shape."""
    flat, reference = out.reshape(-1), ref.reshape(-1)
    wrong, first, squares, ref_squares, largest = 0, -1, 0.0, 0.0, 0.0
    for start in range(0, flat.numel(), CHUNK):
        a, b = flat[start : start + CHUNK].double(), reference[start : start + CHUNK].double()
        distance = torch.where(torch.isfinite(a) & torch.isfinite(b), (a - b).abs(), 0.0)
        bad = _bad(a, b, distance, tolerance)
        count = int(bad.sum())
        if count and first < 0:
            first = start + int(bad.nonzero()[0])
        wrong += count
        squares += float(distance.square().sum())
        ref_squares += float(torch.where(torch.isfinite(b), b, 0.0).square().sum())
        largest = max(largest, float(distance.max()))
    norm_error = math.sqrt(squares / ref_squares) if ref_squares else 0.0  # all zero: element-wise alone decides
    if first < 0:
        return Difference(flat.numel(), norm_error, largest)
    place = unravel(first, tuple(out.shape))
    return Difference(flat.numel(), norm_error, largest, wrong, place, float(flat[first]), float(reference[first]))


def unravel(index: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the index of each dimension for a flat index."""
    place: list[int] = []
    for size in reversed(shape):
        index, rest = divmod(index, size)
        place.insert(0, rest)
    return tuple(place)


def _bad(a: Any, b: Any, distance: Any, tolerance: Tolerance) -> Any:
    same = (a == b) | (torch.isnan(a) & torch.isnan(b))
    finite = torch.isfinite(a) & torch.isfinite(b)
    return ~same & (~finite | (distance > tolerance.atol + tolerance.rtol * b.abs()))
