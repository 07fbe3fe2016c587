"""The profiled calls of an exam: warmed up on one question, profiled on another, whose outputs are an answer too.

Runs in the sandbox, under ncu.
"""

from __future__ import annotations

from functools import partial

from ncu_assist.harness import accelerator
from ncu_assist.harness.buffers import allocate
from ncu_assist.harness.events import Event
from ncu_assist.harness.exam.answering import default_workload
from ncu_assist.harness.exam.paper import Answer
from ncu_assist.harness.exam.session import ExamSession
from ncu_assist.harness.names import range_name
from ncu_assist.harness.problem import Problem
from ncu_assist.harness.session import WARMUP_CALLS, ranges


def run_profile(session: ExamSession) -> None:
    """Run every version on the default workload inside its NVTX ranges, as often as asked."""
    workload = default_workload(session)
    problem = session.problem(workload)
    for version in session.versions(workload):
        begin = Event("begin", "profile", version, workload.name)
        session.attempt(begin, partial(_profile, session, problem, version))
        session.inspect_seal()


def _profile(session: ExamSession, problem: Problem, version: str) -> None:
    call, workload = session.calls[version], problem.workload
    (known,), (question,) = session.asked(workload, "bench"), session.asked(workload, "profile")
    warm, inputs = session.inputs(known), session.inputs(question)
    buffers = allocate(problem, inputs)
    buffers.fill(warm)
    for _ in range(WARMUP_CALLS):
        buffers.call(call, problem, 0)
    for repeat in range(session.request.settings.profile_repeats):
        buffers.fill(inputs)
        buffers.poison(repeat)
        accelerator.synchronize(problem.device)
        with ranges(range_name(version, workload.name, repeat), problem.device):
            call(buffers.inputs, buffers.results, workload.integers)
            accelerator.synchronize(problem.device)
    if version in session.answering(workload):
        session.hand_in.outputs(version, question.number, buffers.results)
        session.hand_in.line(Answer(version, question.number, buffers.touched(inputs), False))
