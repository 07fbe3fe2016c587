"""Answering questions: each call once behind a held stream and again on its own. Runs in the sandbox.

Inputs, call and copies of the outputs are enqueued behind the hold and nothing waits for the device in between: work
left on another stream finds the inputs of another question, or comes too late for the copies. The questions of a
workload share their buffers, the last one has others: what a draft keeps of an earlier call is wrong in the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch

from ncu_assist.harness import accelerator, results
from ncu_assist.harness.buffers import Buffers, allocate
from ncu_assist.harness.check import Disturbance
from ncu_assist.harness.events import Event
from ncu_assist.harness.exam.paper import Answer, Question
from ncu_assist.harness.exam.session import ExamSession
from ncu_assist.harness.problem import Problem, Tensors
from ncu_assist.harness.stopwatch import Hold
from ncu_assist.spec import Workload

Staged = Sequence[tuple[Question, Tensors]]


def run_check(session: ExamSession, hold: Hold) -> None:
    """Let every examined version answer the questions on every workload."""
    disturbance = Disturbance(session.device)
    for workload in session.kernel.workloads:
        staged = [(q, session.inputs(q)) for q in session.asked(workload, "check")]
        for version in session.answering(workload) if staged else ():
            desk = Desk(session, version, session.problem(workload), hold, disturbance)
            reason = session.attempt(Event("begin", "check", version, workload.name), partial(desk.answer, staged))
            if reason:
                results.append_failure(
                    session.out, results.VersionFailure(version, "check", workload.name, reason, False)
                )
            session.inspect_seal()


def default_workload(session: ExamSession) -> Workload:
    """Return the workload that is timed and profiled."""
    return session.kernel.default_workload


class Desk:
    """Where one version answers the questions on one workload."""

    def __init__(
        self, session: ExamSession, version: str, problem: Problem, hold: Hold, disturbance: Disturbance
    ) -> None:
        self._session, self._version, self._problem = session, version, problem
        self._hold, self._disturbance = hold, disturbance
        self._call = session.calls[version]

    def answer(self, staged: Staged) -> None:
        """Answer questions in order. A first call, that of the first, is not handed in: it may compile and tune."""
        buffers = allocate(self._problem, staged[0][1])
        buffers.fill(staged[0][1])
        buffers.call(self._call, self._problem, 0)
        for number, (question, inputs) in enumerate(staged):
            if 0 < number == len(staged) - 1:
                buffers = allocate(self._problem, inputs)
            buffers.fill(staged[number - 1][1])  # what work that does not wait for its inputs will find
            self._ask(question, buffers, inputs)

    def _ask(self, question: Question, buffers: Buffers, inputs: Tensors) -> None:
        outputs = self._held(buffers, inputs)
        touched = buffers.touched(inputs)
        self._session.hand_in.outputs(self._version, question.number, outputs)
        again = False
        for turn in range(1, 1 + self._session.request.settings.repeats):
            if touched or again:
                break
            again = self._differs(buffers, inputs, outputs, turn)
            touched = buffers.touched(inputs)
        if again:
            self._session.hand_in.outputs(self._version, question.number, buffers.results, again=True)
        self._session.hand_in.line(Answer(self._version, question.number, touched, again))

    def _held(self, buffers: Buffers, inputs: Tensors) -> Tensors:
        """Return copies of the outputs as they were when the stream had come to its end."""
        buffers.poison(0)
        copies = tuple(torch.empty_like(output) for output in buffers.results)
        accelerator.synchronize(self._problem.device)
        with self._hold.held():
            buffers.fill(inputs)
            self._call(buffers.inputs, buffers.results, self._problem.workload.integers)
            for copy, output in zip(copies, buffers.results, strict=True):
                copy.copy_(output)
        accelerator.synchronize(self._problem.device)
        return copies

    def _differs(self, buffers: Buffers, inputs: Tensors, outputs: Tensors, turn: int) -> bool:
        """Call again beside other work, everything before it ended, and return whether the outputs are others."""
        buffers.fill(inputs)
        accelerator.synchronize(self._problem.device)
        self._disturbance.start(turn)
        buffers.call(self._call, self._problem, 0)
        return not buffers.equal(outputs)
