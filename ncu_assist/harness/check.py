"""Check that a version computes what the reference computes, and writes nothing else. Runs in the child.

A call is repeated on the same inputs during other work on the device, which exposes races. The next seed's inputs
overwrite the same buffers, which exposes results kept from an earlier call. The last seed uses other buffers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Any

import torch

from ncu_assist.backends.base import Call
from ncu_assist.harness import accelerator
from ncu_assist.harness.problem import OwnDraws, Problem, Tensors
from ncu_assist.record import Check
from ncu_assist.spec import Tolerance

GUARD_BYTES = 1 << 18  # a multiple of 512: the tensor keeps the alignment of an allocation of its own
INPUT_GUARD = 0xFF  # NaN as a float of any width, so that reading past an input spoils the result
OUTPUT_GUARD = 0xA5
INTEGER_OF_SIZE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
# NaNs with a payload that no arithmetic produces: an element that still has it was never written.
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
        """Return a description of writes outside the tensor, empty if there were none."""
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
        """Return the flat indices that still have the poison of ``turn``; this works only for floats."""
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
    """The tensors that a version is called with. Inputs that are not tensors are passed unchanged."""

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
        """Return a description of writes outside the outputs, empty if there were none; ``inputs`` were filled in."""
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
        """Return whether the outputs equal these results, bit by bit."""
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


CHUNK = 1 << 24  # elements at a time: in float64 a whole output may not fit beside its reference
DISTURBANCE_ELEMENTS = 1 << 23  # 32 MB: a few passes take as long as the kernels that are checked
POISONED = (
    "outputs are filled with NaN before each call, so a version that reads one before it has written it, as += and "
    "atomicAdd do, leaves NaN there"
)


@dataclass(frozen=True)
class OutputDifference:
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
            allowed = tolerance.atol + tolerance.rtol * abs(self.expected)
            beyond = f" within {allowed:.2g}; the largest error is {self.max_error:.2g}"
            return (
                f"output '{name}': {self.wrong} of {self.total} elements are wrong, first at {list(self.first)}: "
                f"{self.value:.7g}, expected {self.expected:.7g}{beyond if allowed and self.max_error else ''}"
            )
        if not self.norm_error <= tolerance.norm:
            return f"output '{name}': error {self.norm_error:.2e} in the norm, at most {tolerance.norm:.2e} is allowed"
        return ""


def compare(out: Any, ref: Any, tolerance: Tolerance) -> OutputDifference:
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
    norm_error = math.sqrt(squares / ref_squares) if ref_squares else 0.0  # all zero: element-wise decides
    if first < 0:
        return OutputDifference(flat.numel(), norm_error, largest)
    place = unravel(first, tuple(out.shape))
    return OutputDifference(
        flat.numel(), norm_error, largest, wrong, place, float(flat[first]), float(reference[first])
    )


def _bad(a: Any, b: Any, distance: Any, tolerance: Tolerance) -> Any:
    same = (a == b) | (torch.isnan(a) & torch.isnan(b))
    finite = torch.isfinite(a) & torch.isfinite(b)
    return ~same & (~finite | (distance > tolerance.atol + tolerance.rtol * b.abs()))


class Disturbance:
    """Runs memory traffic on a stream of its own; on a CPU it does nothing."""

    def __init__(self, device: str) -> None:
        self._stream: Any = torch.cuda.Stream() if device == "cuda" else None
        self._noise: Any = torch.zeros(DISTURBANCE_ELEMENTS, device=device) if device == "cuda" else None

    def start(self, turn: int) -> None:
        """Start ``turn`` passes over the buffer and return at once."""
        if self._stream is None:
            return
        with torch.cuda.stream(self._stream):
            for _ in range(turn):
                self._noise.add_(1.0)


def check(call: Call, problem: Problem, seeds: Sequence[int], repeats: int, draws_own: bool = False) -> Check:
    """Check a call on all seeds, stop at the first that fails, and return the outcome.

    With ``draws_own``, the reference computes with the version's own random draws, which are tested for randomness.
    Raises any error of the call, and StageFailed if reference.py and kernel.toml disagree.
    """
    outcome = Check(problem.workload.name, True, "", (), None, None)
    disturbance, draws = Disturbance(problem.device), OwnDraws() if draws_own else None
    buffers, earlier = None, ()
    for number, seed in enumerate(seeds):
        inputs = problem.inputs(seed)
        if buffers is None or (number == len(seeds) - 1 and number > 1):
            buffers = allocate(problem, inputs)
        buffers.fill(inputs)
        reason, errors, results = _trial(call, problem, buffers, inputs, repeats, disturbance, draws)
        outcome = replace(outcome, seeds=(*outcome.seeds, seed))
        if results:  # otherwise nothing was compared
            norm_error, max_error = outcome.norm_error or 0.0, outcome.max_error or 0.0
            outcome = replace(outcome, norm_error=max(norm_error, errors[0]), max_error=max(max_error, errors[1]))
        if reason:
            return replace(outcome, passed=False, reason=_stale(reason, results, earlier) or reason)
        earlier = results
    return outcome


def _trial(
    call: Call,
    problem: Problem,
    buffers: Buffers,
    inputs: Tensors,
    repeats: int,
    disturbance: Disturbance,
    draws: OwnDraws | None,
) -> tuple[str, tuple[float, float], Tensors]:
    """Return why a seed fails, empty if it does not, the worst errors by norm and by element, and copies of outputs.

    The call is repeated during other work; ``draws`` is None if the reference knows the draws.
    """
    if draws:
        draws.next_seed()
    expected, unlikely = () if draws else problem.expected(inputs), ""
    reasons: list[str] = []
    first: Tensors = ()
    steady, norm_error, max_error = True, 0.0, 0.0
    for turn in range(1 + repeats):
        disturbance.start(turn)
        buffers.call(call, problem, turn)
        touched = buffers.touched(inputs)
        if touched:
            reasons.append(touched)
            break  # the next calls would start from damaged inputs
        if first and buffers.equal(first):
            reasons.append(reasons[0])
            continue
        if draws:
            expected, unlikely = draws.expected(problem, inputs, buffers.results)
        reason, worst = inspect(buffers, problem, expected, turn)
        norm_error, max_error = max(norm_error, worst.norm_error), max(max_error, worst.max_error)
        steady = steady and turn == 0
        reasons.append(reason or unlikely)
        first = first or tuple(o.tensor.clone() for o in buffers.outputs)
    return _verdict(reasons, steady), (norm_error, max_error), first


def _verdict(reasons: list[str], steady: bool) -> str:
    """Return the failure, if any: results may differ in their last bits (atomics), but some calls must not be wrong."""
    wrong = [r for r in reasons if r]
    if wrong and not steady:
        return f"results differ between identical calls, {len(wrong)} of {len(reasons)} are wrong: {wrong[0]}"
    return wrong[0] if wrong else ""


def inspect(buffers: Buffers, problem: Problem, expected: Tensors, turn: int) -> tuple[str, OutputDifference]:
    """Return why the outputs are wrong, empty if they are right, and the worst errors of any of them."""
    reasons: list[str] = []
    worst = OutputDifference(0, 0.0, 0.0)
    for buffer, reference, spec in zip(buffers.outputs, expected, problem.kernel.outputs, strict=True):
        tolerance = problem.kernel.tolerances[problem.kernel.dtype(spec, problem.workload)]
        difference = compare(buffer.tensor, reference, tolerance)
        reason = _unwritten(buffer, turn) or difference.reason(buffer.name, tolerance)
        if difference.wrong and isnan(difference.value) and not isnan(difference.expected):
            reason += f"; {POISONED}"
        reasons.append(reason)
        worst = replace(
            worst,
            norm_error=max(worst.norm_error, difference.norm_error),
            max_error=max(worst.max_error, difference.max_error),
        )
    return next((r for r in reasons if r), ""), worst


def _unwritten(buffer: Guarded, turn: int) -> str:
    left = buffer.unwritten(turn)
    if not left.numel():
        return ""
    place = list(unravel(int(left[0]), tuple(buffer.tensor.shape)))
    total = buffer.tensor.numel()
    what = "were never written (or were read before they were written)"
    return f"output '{buffer.name}': {left.numel()} of {total} elements {what}, first at {place}"


def _stale(reason: str, results: Tensors, earlier: Tensors) -> str:
    """Return a failure if a wrong output equals that of the earlier seed, so it was not computed from these inputs."""
    if not results or not any(t.numel() for t in earlier):
        return ""
    same = [torch.equal(bits(a), bits(b)) for a, b in zip(results, earlier, strict=True)]
    if any(same):
        return f"a result of an earlier call came back although the inputs changed: {reason}"
    return ""
