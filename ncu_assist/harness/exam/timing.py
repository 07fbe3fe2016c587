"""The bench of an exam: versions in turns, on inputs that change under way; the last outputs are an answer too.

Runs in the sandbox.
"""

from __future__ import annotations

from ncu_assist.harness import accelerator, bench
from ncu_assist.harness.bench import BenchWatch, conditions
from ncu_assist.harness.buffers import allocate
from ncu_assist.harness.events import Event
from ncu_assist.harness.exam.answering import default_workload
from ncu_assist.harness.exam.paper import Answer
from ncu_assist.harness.exam.samples import write_samples
from ncu_assist.harness.exam.session import ExamSession
from ncu_assist.harness.problem import Problem, Tensors
from ncu_assist.harness.stopwatch import Stopwatch

FRESH_ROUNDS = 3  # the last ones: a question that was never asked before


def run_bench(session: ExamSession, stopwatch: Stopwatch) -> None:
    """Time all versions on the default workload; where one has failed or fails there is nothing to compare."""
    workload = default_workload(session)
    problem, versions = session.problem(workload), session.versions(workload)
    if set(versions) != set(session.request.versions):  # one could not be loaded: there is nothing to compare
        return
    rounds = _Rounds(session, problem)
    calls = {version: session.calls[version] for version in versions}
    runs = bench.round_calls_on(calls, problem, (rounds.inputs, rounds.buffers.results), stopwatch)
    with conditions(session) as reasons:
        for version in versions:
            if session.attempt(Event("begin", "bench", version, workload.name), runs[version]):
                return
        watch = BenchWatch(session, workload.name, reasons)
        try:
            samples = bench.run_rounds(
                runs, workload.name, session.request, stopwatch, rounds.progress(watch.progress())
            )
        except Exception as error:
            if watch.begun is None or watch.begun.version not in versions:
                raise
            session.failed(watch.begun, error)
            return
        rounds.collect()
    session.inspect_seal()
    write_samples(samples.columns, session.out)


class _Rounds:
    """Gives each call its inputs and poisoned outputs, and hands in what the last call of each version left."""

    def __init__(self, session: ExamSession, problem: Problem) -> None:
        self._session, self._problem = session, problem
        self._earlier = [session.inputs(q) for q in session.asked(problem.workload, "check")]
        (self._question,) = session.asked(problem.workload, "bench")
        self._fresh = session.inputs(self._question)
        self.buffers = allocate(problem, self._fresh)
        self.inputs = self.buffers.inputs  # the numbers are those of the question in every round
        self.buffers.fill(self._earlier[0] if self._earlier else self._fresh)
        self._round, self._pending = 0, ""

    def progress(self, told: bench.BenchProgress) -> bench.BenchProgress:
        """Return what the bench is to tell: us, then ``told``."""

        def begin(version: str) -> None:
            self._prepare(version)
            told.begin(version)

        def end(number: int) -> None:
            self._round = number + 1
            told.round(number)

        return bench.BenchProgress(begin, end)

    def collect(self) -> None:
        """Hand in the outputs of the call before, if it was the last of a version that is examined."""
        version, self._pending = self._pending, ""
        if version:
            self._session.hand_in.outputs(version, self._question.number, self.buffers.results)
            touched = self.buffers.touched(self._fresh)
            self._session.hand_in.line(Answer(version, self._question.number, touched, False))

    def _prepare(self, version: str) -> None:
        self.collect()
        left = self._session.request.settings.rounds - self._round
        self.buffers.fill(self._source(left))
        self.buffers.poison(self._round)
        accelerator.synchronize(self._problem.device)
        if left == 1 and version in self._session.answering(self._problem.workload):
            self._pending = version

    def _source(self, left: int) -> Tensors:
        if left <= FRESH_ROUNDS or not self._earlier:
            return self._fresh
        return self._earlier[self._round % len(self._earlier)]
