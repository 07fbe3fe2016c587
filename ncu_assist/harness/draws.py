"""Whether what a version draws by itself is drawn well: independent draws of one probability. Runs in the child.

No reference repeats the numbers of a generator that it does not know. reference.py reads from the outputs what was
drawn and computes with that; what is left to see is whether the draws are those of chance, and of their seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import torch

from ncu_assist.harness.problem import Problem, Tensors

SIGMAS = 6.0
TAIL = SIGMAS**2 / 2  # good draws miss one of the bounds below with a probability of exp(-TAIL), 1.5e-8


@dataclass(frozen=True)
class Draws:
    """What one call drew. ``kept`` and ``told`` are boolean tensors: which elements were kept, and which tell it.

    ``probability`` is that of being kept. An element does not tell where both results are the same number.
    """

    kept: Any
    told: Any
    probability: float

    def are(self, others: Draws) -> bool:
        """Tell whether they equal others wherever both can be told."""
        return not bool(((self.kept != others.kept) & self.told & others.told).any())

    def deviations(self) -> Any:
        """Return a matrix of what has mean 0 and variance 1 over the draws of chance, and is 0 where nothing is told.

        Its columns are the last dimension.
        """
        p = self.probability
        of_kept, of_dropped = sqrt((1 - p) / p), -sqrt(p / (1 - p))
        drawn = torch.where(self.kept, of_kept, of_dropped) * self.told
        return drawn.reshape(-1, drawn.shape[-1])


class OwnDraws:
    """Follows a version from call to call: a seed's calls draw the same, those of two seeds nothing in common."""

    def __init__(self) -> None:
        self._of_seed: Draws | None = None
        self._earlier: Draws | None = None

    def next_seed(self) -> None:
        """Forget what calls of the seed before have to equal."""
        self._earlier, self._of_seed = self._of_seed, None

    def expected(self, problem: Problem, inputs: Tensors, results: Tensors) -> tuple[Tensors, str]:
        """Return the reference's outputs for what was drawn, and why the draws are wrong, empty if they are right."""
        draws = Draws(*problem.drawn(inputs, results))
        reason = why_unlikely(draws, self._earlier)
        if self._of_seed is not None and not draws.are(self._of_seed):
            reason = "two calls with one seed do not draw the same"
        self._of_seed = self._of_seed or draws
        return problem.expected(inputs, draws.kept), reason


def why_unlikely(draws: Draws, earlier: Draws | None = None) -> str:
    """Return why chance does not draw so, empty where it may; ``earlier`` is what another seed drew."""
    count, p = int(draws.told.sum()), draws.probability
    kept = int((draws.kept & draws.told).sum())
    if count == 0:
        return ""
    if p in (0.0, 1.0):
        return "" if kept == p * count else f"draws: {kept} of {count} kept, with a probability of {p:g}"
    z = draws.deviations()
    most = max(p / (1 - p), (1 - p) / p)  # the largest square of one of them
    if abs(_total(z)) > _bound(count, sqrt(most)):
        return f"draws: {kept} of {count} kept, with a probability of {p:.6g}"
    if abs(_total(z[:, 1:] * z[:, :-1])) > _bound(count, most):
        return "draws: neighbours in a row are not independent"
    for dim, place in ((1, "row"), (0, "column")):
        if _pairs_hang_together(z, dim):
            return f"draws: the elements of a {place} are not independent"
    if earlier is not None and abs(_total(z * earlier.deviations())) > _bound(count, most):
        return "draws: those of two seeds are not independent"
    return ""


def _total(values: Any) -> float:
    return float(values.sum(dtype=torch.float64))


def _bound(count: int, largest: float) -> float:
    """Bernstein's inequality for a sum of terms of variance 1 (Boucheron, Lugosi, Massart 2013, corollary 2.11)."""
    return sqrt(2 * count * TAIL) + largest * TAIL / 3


def _pairs_hang_together(z: Any, dim: int) -> bool:
    """Look at all pairs of elements of a line at once: the sum of their products is a square of a sum, less squares.

    The bound is that of Laurent and Massart 2000, lemma 1, for a weighted sum of such squares.
    """
    sums, counts = z.sum(dim, dtype=torch.float64), (z != 0).sum(dim).double()
    pairs = float(sums.square().sum()) - _total(z.square())
    return abs(pairs) > 2 * sqrt(TAIL) * float(counts.norm()) + 2 * TAIL * float(counts.max())
