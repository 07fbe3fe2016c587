"""One workload of a kernel as tensors: inputs by seed, the reference's outputs, empty outputs. Runs in the child.

And whether what a version draws by itself is drawn well: independent draws of one probability. No reference repeats the
numbers of a generator that it does not know. reference.py reads from the outputs what was drawn and computes with that;
what is left to see is whether the draws are those of chance, and of their seed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import torch

from ncu_assist.errors import StageFailed
from ncu_assist.harness.accelerator import OUT_OF_MEMORY, describe
from ncu_assist.harness.facts import Placement
from ncu_assist.quantity import number_of
from ncu_assist.spec import Kernel, Workload

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
            reason = "two calls with the same seed draw differently"
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
        return "draws: two seeds are not independent"
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


Tensors = tuple[Any, ...]


class ReferenceProblem(StageFailed):
    """reference.py fails or does not fit kernel.toml: no version is to blame."""


@dataclass(frozen=True)
class Problem:
    """A kernel, one of its workloads, the module of its reference.py, the device, and who places inputs elsewhere."""

    kernel: Kernel
    workload: Workload
    module: Any
    device: str
    placement: Placement = field(default_factory=Placement)

    def inputs(self, seed: int) -> Tensors:
        """Return the inputs for a seed, each where kernel.toml wants it.

        Raises ReferenceProblem if there are not as many as it names.
        """
        workload = {**self.workload.integers, "dtype": self.workload.dtype, "name": self.workload.name}
        tensors = self._ask("make_inputs", workload, seed, self.device)
        if len(tensors) != len(self.kernel.inputs):
            raise ReferenceProblem(
                f"{self.kernel.name}/reference.py: make_inputs returns {number_of(len(tensors), 'input')}, "
                f"but kernel.toml names {len(self.kernel.inputs)}"
            )
        return tuple(self._placed(name, value) for name, value in zip(self.kernel.inputs, tensors, strict=True))

    def expected(self, inputs: Tensors, *drawn: Any) -> Tensors:
        """Return the reference's outputs, for what a version ``drawn`` by itself or else for the reference's own draws.

        It gets copies, all on the device, so that it may work in place.
        """
        copies = tuple(t.to(self.device, copy=True) if isinstance(t, torch.Tensor) else t for t in inputs)
        outputs = self._ask("reference", *copies, *drawn)
        shapes = [tuple(t.shape) for t in outputs]
        wanted = [self.kernel.shape(o, self.workload) for o in self.kernel.outputs]
        if shapes != wanted:
            raise ReferenceProblem(
                f"{self.kernel.name}/reference.py: outputs of shape {shapes}, but kernel.toml says {wanted}"
            )
        return outputs

    def drawn(self, inputs: Tensors, results: Tensors) -> Tensors:
        """Return what a version drew by itself, as its outputs tell: the fields of Draws."""
        return self._ask("drawn", inputs, results)

    def outputs(self) -> Tensors:
        """Return uninitialized outputs."""
        kernel, workload = self.kernel, self.workload
        return tuple(
            torch.empty(kernel.shape(o, workload), dtype=getattr(torch, kernel.dtype(o, workload)), device=self.device)
            for o in kernel.outputs
        )

    def _placed(self, name: str, value: Any) -> Any:
        of_host = name in self.kernel.host_inputs
        if not isinstance(value, torch.Tensor):
            if of_host:
                raise ReferenceProblem(f"{self.kernel.name}/reference.py: host input '{name}' is not a tensor")
            return value
        return self.placement.place(name, value, self.device) if of_host else value.contiguous()

    def _ask(self, function: str, *arguments: Any) -> Tensors:
        try:
            return tuple(getattr(self.module, function)(*arguments))
        except Exception as error:
            words = describe(error)
            if words.startswith(OUT_OF_MEMORY):
                raise
            raise ReferenceProblem(f"{self.kernel.name}/reference.py: {function} fails: {words}") from error
