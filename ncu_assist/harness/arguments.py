"""The tensors that a version is called with: guarded, poisoned, inspected afterwards. Runs in the child."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ncu_assist.backends.base import Call
from ncu_assist.harness import accelerator
from ncu_assist.harness.buffers import INPUT_GUARD, OUTPUT_GUARD, Guarded, bits, guarded, same_bits
from ncu_assist.harness.compare import unravel
from ncu_assist.harness.problem import Problem, Tensors


@dataclass(frozen=True)
class Buffers:
    """The tensors that a version is called with. Inputs that are no tensors pass as they are."""

    slots: list[Any]  # one an input: its tensor, or the number that was filled in last
    guarded_inputs: tuple[Guarded, ...]
    outputs: tuple[Guarded, ...]

    @property
    def inputs(self) -> Tensors:
        """The inputs as a version gets them; numbers are those of the last ``fill``, tensors follow it."""
        return tuple(self.slots)

    @property
    def results(self) -> Tensors:
        """The outputs as a version gets them."""
        return tuple(o.tensor for o in self.outputs)

    def fill(self, inputs: Tensors) -> None:
        """Overwrite the inputs, tensors in place."""
        for buffer, source in zip(self.guarded_inputs, _tensors(inputs), strict=True):
            buffer.refill(source)
        for place, value in enumerate(inputs):
            if not isinstance(value, torch.Tensor):
                self.slots[place] = value

    def poison(self, turn: int) -> None:
        """Fill the outputs with values that no result has; integers alternate with ``turn``."""
        for output in self.outputs:
            output.poison(turn)

    def call(self, call: Call, problem: Problem, turn: int) -> None:
        """Poison the outputs, call, and wait for everything on the device."""
        self.poison(turn)
        call(self.inputs, self.results, problem.workload.integers)
        accelerator.synchronize(problem.device)

    def touched(self, inputs: Tensors) -> str:
        """Return what was written that is no output, empty if nothing was; ``inputs`` are what was filled in."""
        for buffer in (*self.outputs, *self.guarded_inputs):
            fault = buffer.guard_fault()
            if fault:
                return fault
        for buffer, source in zip(self.guarded_inputs, _tensors(inputs), strict=True):
            if same_bits(buffer.tensor, source):
                continue
            changed = (bits(buffer.tensor) != bits(source)).nonzero()
            place = list(unravel(int(changed[0]), tuple(source.shape)))
            return f"input '{buffer.name}' was modified: {changed.numel()} elements, first at {place}"
        return ""

    def equal(self, results: Tensors) -> bool:
        """Return whether the outputs are these results, bit by bit."""
        return all(torch.equal(bits(o), bits(r)) for o, r in zip(self.results, results, strict=True))


def allocate(problem: Problem, inputs: Tensors) -> Buffers:
    """Return buffers for inputs of this kind, between guard zones, not filled yet."""
    named = dict(zip(problem.kernel.inputs, inputs, strict=True))
    guards = {n: guarded(n, t, INPUT_GUARD) for n, t in named.items() if isinstance(t, torch.Tensor)}
    outputs = zip(problem.kernel.outputs, problem.outputs(), strict=True)
    return Buffers(
        slots=[guards[n].tensor if n in guards else t for n, t in named.items()],
        guarded_inputs=tuple(guards.values()),
        outputs=tuple(guarded(o.name, t, OUTPUT_GUARD) for o, t in outputs),
    )


def _tensors(values: Tensors) -> list[Any]:
    return [v for v in values if isinstance(v, torch.Tensor)]
