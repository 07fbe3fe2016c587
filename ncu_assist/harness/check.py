"""Whether a version computes what the reference computes, and touches nothing else. Runs in the child.

A call is repeated on the same inputs beside other work on the device, so that a race shows; the next seed's inputs
overwrite the same buffers, so that a result kept from an earlier call shows; the last seed moves to other buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from ncu_assist.backends.base import Call
from ncu_assist.harness import accelerator
from ncu_assist.harness.buffers import INPUT_GUARD, OUTPUT_GUARD, Guarded, bits, guarded
from ncu_assist.harness.compare import Difference, compare, unravel
from ncu_assist.harness.disturbance import Disturbance
from ncu_assist.harness.problem import Problem, Tensors
from ncu_assist.record import Check


@dataclass(frozen=True)
class Buffers:
    """The tensors that a version is called with. Inputs that are no tensors pass as they are."""

    inputs: Tensors
    guarded_inputs: tuple[Guarded, ...]
    outputs: tuple[Guarded, ...]

    def call(self, call: Call, problem: Problem, turn: int) -> None:
        for output in self.outputs:
            output.poison(turn)
        call(self.inputs, tuple(o.tensor for o in self.outputs), problem.workload.integers)
        accelerator.synchronize(problem.device)


@dataclass(frozen=True)
class Trial:
    """What one seed gave: why it failed, empty if it did not, the worst errors, and copies of the outputs."""

    reason: str
    norm_error: float
    max_error: float
    results: Tensors


def check(call: Call, problem: Problem, seeds: Sequence[int], repeats: int) -> Check:
    """Return the outcome over all seeds; it stops at the first seed that fails.

    Raises what the call raises, and StageFailed if reference.py and kernel.toml disagree.
    """
    outcome = Check(problem.workload.name, True, "", (), None, None)
    disturbance, buffers, earlier = Disturbance(problem.device), None, ()
    for number, seed in enumerate(seeds):
        inputs = problem.inputs(seed)
        if buffers is None or (number == len(seeds) - 1 and number > 1):
            buffers = _allocate(problem, inputs)
        _fill(buffers, inputs)
        trial = _trial(call, problem, buffers, inputs, (repeats, disturbance))
        outcome = _add(outcome, seed, trial)
        if trial.reason:
            return replace(outcome, passed=False, reason=_stale(trial, earlier) or trial.reason)
        earlier = trial.results
    return outcome


def _allocate(problem: Problem, inputs: Tensors) -> Buffers:
    named = dict(zip(problem.kernel.inputs, inputs, strict=True))
    guards = {n: guarded(n, t, INPUT_GUARD) for n, t in named.items() if isinstance(t, torch.Tensor)}
    outputs = zip(problem.kernel.outputs, problem.outputs(), strict=True)
    return Buffers(
        inputs=tuple(guards[n].tensor if n in guards else t for n, t in named.items()),
        guarded_inputs=tuple(guards.values()),
        outputs=tuple(guarded(o.name, t, OUTPUT_GUARD) for o, t in outputs),
    )


def _fill(buffers: Buffers, inputs: Tensors) -> None:
    for buffer, source in zip(buffers.guarded_inputs, _tensors(inputs), strict=True):
        buffer.refill(source)


def _tensors(values: Tensors) -> list[Any]:
    return [v for v in values if isinstance(v, torch.Tensor)]


def _trial(call: Call, problem: Problem, buffers: Buffers, inputs: Tensors, how: tuple[int, Disturbance]) -> Trial:
    repeats, disturbance = how
    expected = problem.expected(inputs)
    reasons: list[str] = []
    first: Tensors = ()
    steady, norm_error, max_error = True, 0.0, 0.0
    for turn in range(1 + repeats):
        disturbance.start(turn)
        buffers.call(call, problem, turn)
        touched = _touched(buffers, inputs)
        if touched:
            reasons.append(touched)
            break  # what follows would start from damaged inputs
        if first and _equal(buffers, first):
            reasons.append(reasons[0])
            continue
        reason, worst = _inspect(buffers, problem, expected, turn)
        norm_error, max_error = max(norm_error, worst.norm_error), max(max_error, worst.max_error)
        steady = steady and turn == 0
        reasons.append(reason)
        first = first or tuple(o.tensor.clone() for o in buffers.outputs)
    return Trial(_verdict(reasons, steady), norm_error, max_error, first)


def _verdict(reasons: list[str], steady: bool) -> str:
    """Results may differ in their last bits (atomics); they may not be wrong in some calls only."""
    wrong = [r for r in reasons if r]
    if wrong and not steady:
        return f"results differ between identical calls, {len(wrong)} of {len(reasons)} are wrong: {wrong[0]}"
    return wrong[0] if wrong else ""


def _inspect(buffers: Buffers, problem: Problem, expected: Tensors, turn: int) -> tuple[str, Difference]:
    reasons: list[str] = []
    worst = Difference(0, 0.0, 0.0)
    for buffer, reference, spec in zip(buffers.outputs, expected, problem.kernel.outputs, strict=True):
        tolerance = problem.kernel.tolerances[spec.dtype]
        difference = compare(buffer.tensor, reference, tolerance)
        reasons.append(_unwritten(buffer, turn) or difference.reason(buffer.name, tolerance))
        worst = replace(
            worst,
            norm_error=max(worst.norm_error, difference.norm_error),
            max_error=max(worst.max_error, difference.max_error),
        )
    return next((r for r in reasons if r), ""), worst


def _touched(buffers: Buffers, inputs: Tensors) -> str:
    """Return what was written that is no output, empty if nothing was."""
    for buffer in (*buffers.outputs, *buffers.guarded_inputs):
        fault = buffer.guard_fault()
        if fault:
            return fault
    for buffer, source in zip(buffers.guarded_inputs, _tensors(inputs), strict=True):
        changed = (bits(buffer.tensor) != bits(source)).nonzero()
        if changed.numel():
            place = list(unravel(int(changed[0]), tuple(source.shape)))
            return f"input '{buffer.name}' was modified: {changed.numel()} elements, first at {place}"
    return ""


def _unwritten(buffer: Guarded, turn: int) -> str:
    left = buffer.unwritten(turn)
    if not left.numel():
        return ""
    place = list(unravel(int(left[0]), tuple(buffer.tensor.shape)))
    total = buffer.tensor.numel()
    what = "were never written (or were read before they were written)"
    return f"output '{buffer.name}': {left.numel()} of {total} elements {what}, first at {place}"


def _equal(buffers: Buffers, results: Tensors) -> bool:
    return all(torch.equal(bits(o.tensor), bits(r)) for o, r in zip(buffers.outputs, results, strict=True))


def _stale(trial: Trial, earlier: Tensors) -> str:
    """An output that is wrong but equals that of the earlier seed was not computed from these inputs."""
    if not trial.results or not any(t.numel() for t in earlier):
        return ""
    same = [torch.equal(bits(a), bits(b)) for a, b in zip(trial.results, earlier, strict=True)]
    if any(same):
        return f"a result of an earlier call came back although the inputs changed: {trial.reason}"
    return ""


def _add(outcome: Check, seed: int, trial: Trial) -> Check:
    if not trial.results:  # nothing was compared
        return replace(outcome, seeds=(*outcome.seeds, seed))
    return replace(
        outcome,
        seeds=(*outcome.seeds, seed),
        norm_error=max(outcome.norm_error or 0.0, trial.norm_error),
        max_error=max(outcome.max_error or 0.0, trial.max_error),
    )
