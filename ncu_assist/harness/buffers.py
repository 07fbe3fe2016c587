"""The tensors that a version is called with: between guard zones, poisoned before a call, inspected after it.

Runs in the child.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ncu_assist.backends.base import Call
from ncu_assist.harness import accelerator
from ncu_assist.harness.problem import Problem, Tensors

GUARD_BYTES = 1 << 18  # a multiple of 512: the tensor keeps the alignment of an allocation of its own
INPUT_GUARD = 0xFF  # read as a float of any width it is NaN, so that reading past an input spoils the result
OUTPUT_GUARD = 0xA5
INTEGER_OF_SIZE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
# NaNs with a payload that no arithmetic makes: an element that still has it was never written.
NAN_PATTERN = {
    torch.float64: 0x7FF8A5A5A5A5A5A5,
    torch.float32: 0x7FC0A5A5,
    torch.float16: 0x7E5A,
    torch.bfloat16: 0x7FE5,
}
INTEGER_BYTES = (0x25, 0x5A)  # alternated: no right integer result equals both


@dataclass(frozen=True)
class Guarded:
    """A named tensor inside a larger allocation whose both ends hold ``pattern``."""

    name: str
    tensor: Any
    storage: Any
    pattern: int

    def guard_fault(self) -> str:
        """Return what was written outside the tensor, empty if nothing was."""
        before, after = self.storage[:GUARD_BYTES], self.storage[-GUARD_BYTES:]
        touched = (after != self.pattern).nonzero()
        if touched.numel():
            first = int(touched[0])
            return f"wrote {touched.numel()} bytes past the end of '{self.name}', first at byte {first} behind it"
        touched = (before != self.pattern).nonzero()
        if touched.numel():
            return f"wrote {touched.numel()} bytes before the start of '{self.name}'"
        return ""

    def poison(self, turn: int) -> None:
        """Fill the tensor with a value that no result has; integers alternate with ``turn``."""
        bits(self.tensor).fill_(_poison(self.tensor.dtype, turn))

    def unwritten(self, turn: int) -> Any:
        """Return the flat indices that still hold the poison of ``turn``; only floats can tell."""
        if self.tensor.dtype not in NAN_PATTERN:
            return torch.empty(0, dtype=torch.int64)
        return (bits(self.tensor) == _poison(self.tensor.dtype, turn)).nonzero().flatten()

    def refill(self, source: Any) -> None:
        """Overwrite the tensor in place. ``data`` hides it from autograd's version counter, and so from caches."""
        self.tensor.data.copy_(source)


def guarded(name: str, like: Any, pattern: int) -> Guarded:
    """Return an uninitialized contiguous tensor of the shape, dtype and device of ``like`` between guard zones.

    It is pinned, guard zones and all, if ``like`` is.
    """
    size = like.numel() * like.element_size()
    pinned = like.is_pinned()
    storage = torch.empty(size + 2 * GUARD_BYTES, dtype=torch.uint8, device=like.device, pin_memory=pinned)
    storage[:GUARD_BYTES] = pattern
    storage[GUARD_BYTES + size :] = pattern
    tensor = storage[GUARD_BYTES : GUARD_BYTES + size].view(like.dtype).view(like.shape)
    return Guarded(name, tensor, storage, pattern)


def bits(tensor: Any) -> Any:
    """Return a contiguous tensor's elements as flat integers of the same width, for bit-wise comparison."""
    return tensor.reshape(-1).view(INTEGER_OF_SIZE[tensor.element_size()])


def same_bits(one: Any, other: Any) -> bool:
    """Return whether two contiguous tensors of one shape hold the same bits; 200 MB of bytes take 20 ms on a host."""
    size = one.numel() * one.element_size()
    offsets = [tensor.storage_offset() * tensor.element_size() for tensor in (one, other)]
    widest = next(
        width for width in sorted(INTEGER_OF_SIZE, reverse=True) if not any(n % width for n in (size, *offsets))
    )
    return bool(torch.equal(*(bits(tensor).view(INTEGER_OF_SIZE[widest]) for tensor in (one, other))))


def unravel(index: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the index of each dimension for a flat index."""
    place: list[int] = []
    for size in reversed(shape):
        index, rest = divmod(index, size)
        place.insert(0, rest)
    return tuple(place)


def _poison(dtype: Any, turn: int) -> int:
    if dtype in NAN_PATTERN:
        return NAN_PATTERN[dtype]
    byte = INTEGER_BYTES[turn % 2]
    return int.from_bytes(bytes([byte]) * dtype.itemsize, "little")


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
