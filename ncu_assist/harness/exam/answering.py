"""The sandboxed side of an exam: it prepares the measuring code, then loads the versions, then asks the questions.

Inputs, call and copies of the outputs are enqueued behind the hold, and nothing waits for the device in between: work
left on another stream finds the inputs of another question, or comes too late for the copies. The questions of a
workload share their buffers, except the last: a result that a draft keeps from an earlier call is wrong in the next.
The bench changes its inputs between rounds, and the outputs of its last calls are answers, too. So are those of the
profiled calls, which are warmed up on one question and profiled on another.
"""

from __future__ import annotations

import importlib
import sys
import time
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import msgspec
import torch

from ncu_assist.errors import StageFailed
from ncu_assist.harness import accelerator, bench, results
from ncu_assist.harness.bench import BenchWatch, conditions, stopwatch_of
from ncu_assist.harness.check import Buffers, Disturbance, allocate
from ncu_assist.harness.events import Event, range_name
from ncu_assist.harness.exam import tensor_files
from ncu_assist.harness.exam.plan import (
    PATCHED,
    QUESTIONS,
    ExamAnswer,
    ExamQuestion,
    ExamRequest,
    QuestionPurpose,
    write_samples,
)
from ncu_assist.harness.exam.tensor_files import AnswerWriter
from ncu_assist.harness.problem import Problem, Tensors
from ncu_assist.harness.request import Artifact
from ncu_assist.harness.session import WARMUP_CALLS, HarnessSession, ranges
from ncu_assist.harness.stopwatch import Hold, Stopwatch
from ncu_assist.spec import Workload

OURS = ("ncu_assist.harness.", "ncu_assist.backends.")
FOREIGN = {
    "time": "perf_counter_ns perf_counter monotonic_ns monotonic time_ns time process_time_ns sleep",
    "ctypes": "CDLL CDLL.__getattr__ CDLL.__getitem__ c_void_p c_int64",
    "random": "Random Random.shuffle",
    "numpy": "fromfile median",
    "torch": (
        "equal empty empty_like zeros from_numpy Tensor Tensor.copy_ Tensor.clone Tensor.fill_ Tensor.nonzero "
        "Tensor.__ne__ Tensor.__eq__ Tensor.view Tensor.reshape Tensor.numel Tensor.cpu Tensor.numpy Tensor.data_ptr "
        "Tensor.data Tensor.detach Tensor.contiguous Tensor.__getitem__ Tensor.__setitem__"
    ),
    "torch.cuda": (
        "synchronize current_stream stream Stream Stream.synchronize Event Event.__new__ Event.record "
        "Event.elapsed_time Event.synchronize Event.query"
    ),
    "torch._C": "_cuda_synchronize _cuda_getCurrentStream",
    "torch.cuda.nvtx": "range_push range_pop",
}
ABSENT = object()
POLL_S = 0.01
SET_TIMEOUT_S = 300.0  # the other side imports torch and opens the GPU, and a build may take as long


class TamperCheck:
    """Remembers the functions that must not change: those of torch, the clocks, ctypes, and this package's own."""

    def __init__(self) -> None:
        self._kept = dict(_watched())
        self._replaced: dict[str, None] = {}

    def replaced(self) -> tuple[str, ...]:
        """Check again, and return the names of all functions found replaced or rewritten so far."""
        now = dict(_watched())
        found = (name for name, was in self._kept.items() if not _is_untouched(was, now.get(name, (ABSENT, None))))
        self._replaced |= dict.fromkeys(found)
        return tuple(self._replaced)


def _is_untouched(was: tuple[Any, Any], now: tuple[Any, Any]) -> bool:
    return was[0] is now[0] and was[1] is now[1]


def _watched() -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Yield each function with its code, which can be replaced, too."""
    for module, names in FOREIGN.items():
        owner = sys.modules.get(module) or importlib.import_module(module)
        for name in names.split():
            found = _static(owner, name)
            if found is not ABSENT:
                yield f"{module}.{name}", (found, getattr(found, "__code__", None))
    for name, module_object in list(sys.modules.items()):
        if name.startswith(OURS):
            yield from _functions(name, vars(module_object))


def _static(owner: Any, name: str) -> Any:
    """Return an attribute without calling descriptors, from the object or a class that it inherits from."""
    for part in name.split("."):
        places = owner.__mro__ if isinstance(owner, type) else (owner,)
        owner = next((vars(place)[part] for place in places if part in vars(place)), ABSENT)
        if owner is ABSENT:
            break
    return owner


def _functions(prefix: str, names: Any) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for name, value in list(names.items()):
        if isinstance(value, types.FunctionType):
            yield f"{prefix}.{name}", (value, value.__code__)
        elif isinstance(value, type) and value.__module__.startswith(OURS):
            yield f"{prefix}.{name}", (value, None)
            if value.__module__ == prefix:
                yield from _functions(f"{prefix}.{name}", vars(value))


class ExamSession(HarnessSession):
    """One sandboxed process. It makes and records the measuring code before any version is loaded."""

    def __init__(self, exam_request: ExamRequest) -> None:
        super().__init__(exam_request.request)
        self.exam_request = exam_request
        self.answers = AnswerWriter(self.out)
        self._questions = Path(exam_request.questions)
        self._replaced = TamperCheck().replaced
        self._sleep, self._now = time.sleep, time.monotonic

    def note_replaced(self) -> None:
        """Record all functions replaced so far."""
        (self.out / PATCHED).write_bytes(msgspec.json.encode(self._replaced()))

    @cached_property
    def questions(self) -> tuple[ExamQuestion, ...]:
        """All questions, once they are set; raises StageFailed if they do not come."""
        return msgspec.json.decode(self._awaited(self._questions / QUESTIONS), type=tuple[ExamQuestion, ...])

    def await_versions(self) -> None:
        """Wait until the versions are built, and keep their paths; raises StageFailed if they do not come."""
        found = msgspec.json.decode(self._awaited(Path(self.exam_request.artifacts)), type=tuple[Artifact, ...])
        self.request = replace(self.request, artifacts=found)

    def _awaited(self, file: Path) -> bytes:
        deadline = self._now() + SET_TIMEOUT_S
        while not file.is_file():
            if self._now() > deadline:
                raise StageFailed(f"{file.name} of the exam did not come")
            self._sleep(POLL_S)
        return file.read_bytes()

    def questions_on(self, workload: Workload, *purposes: QuestionPurpose) -> list[ExamQuestion]:
        """Return the questions on a workload that serve one of these purposes."""
        return [q for q in self.questions if q.workload == workload.name and q.purpose in purposes]

    def inputs(self, question: ExamQuestion) -> Tensors:
        """Return the inputs of a question on the device."""
        return tuple(tensor_files.read_input(given, self._questions, self.device) for given in question.inputs)

    def problem(self, workload: Workload) -> Problem:
        """Return a workload as a problem without a reference, which can make outputs but no inputs."""
        return Problem(self.kernel, workload, None, self.device)

    def answering(self, workload: Workload) -> Sequence[str]:
        """Return the versions that answer questions on a workload."""
        return [version for version in self.versions(workload) if version in self.exam_request.examined]

    @cached_property
    def _module(self) -> Any:
        raise AssertionError("an exam has no reference")


Staged = Sequence[tuple[ExamQuestion, Tensors]]
FRESH_ROUNDS = 3  # the last rounds ask a question that was never asked before


def run_check(session: ExamSession, hold: Hold) -> None:
    """Let every examined version answer the questions on every workload."""
    disturbance = Disturbance(session.device)
    for workload in session.kernel.workloads:
        staged = [(q, session.inputs(q)) for q in session.questions_on(workload, "check")]
        for version in session.answering(workload) if staged else ():
            runner = QuestionRunner(session, version, session.problem(workload), hold, disturbance)
            reason = session.attempt(Event("begin", "check", version, workload.name), partial(runner.answer, staged))
            if reason:
                results.append_failure(
                    session.out, results.VersionFailure(version, "check", workload.name, reason, False)
                )
            session.note_replaced()


def default_workload(session: ExamSession) -> Workload:
    """Return the workload that is timed and profiled."""
    return session.kernel.default_workload


class QuestionRunner:
    """Asks one version the questions on one workload."""

    def __init__(
        self, session: ExamSession, version: str, problem: Problem, hold: Hold, disturbance: Disturbance
    ) -> None:
        self._session, self._version, self._problem = session, version, problem
        self._hold, self._disturbance = hold, disturbance
        self._call = session.calls[version]

    def answer(self, staged: Staged) -> None:
        """Answer questions in order. The very first call is not handed in, because it may compile and tune."""
        buffers = allocate(self._problem, staged[0][1])
        buffers.fill(staged[0][1])
        buffers.call(self._call, self._problem, 0)
        for number, (question, inputs) in enumerate(staged):
            if 0 < number == len(staged) - 1:
                buffers = allocate(self._problem, inputs)
            buffers.fill(staged[number - 1][1])  # work that does not wait for its inputs finds these
            self._ask(question, buffers, inputs)

    def _ask(self, question: ExamQuestion, buffers: Buffers, inputs: Tensors) -> None:
        outputs = self._held(buffers, inputs)
        touched = buffers.touched(inputs)
        self._session.answers.write_outputs(self._version, question.number, outputs)
        again = False
        for turn in range(1, 1 + self._session.request.settings.repeats):
            if touched or again:
                break
            again = self._differs(buffers, inputs, outputs, turn)
            touched = buffers.touched(inputs)
        if again:
            self._session.answers.write_outputs(self._version, question.number, buffers.results, again=True)
        self._session.answers.write_answer(ExamAnswer(self._version, question.number, touched, again))

    def _held(self, buffers: Buffers, inputs: Tensors) -> Tensors:
        """Return copies of the outputs at the end of the stream's work."""
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
        """Call again during other work, after all earlier work ended, and return whether the outputs differ."""
        buffers.fill(inputs)
        accelerator.synchronize(self._problem.device)
        self._disturbance.start(turn)
        buffers.call(self._call, self._problem, 0)
        return not buffers.equal(outputs)


def run_bench(session: ExamSession, stopwatch: Stopwatch) -> None:
    """Time all versions on the default workload; if one fails, there is nothing to compare."""
    workload = default_workload(session)
    problem, versions = session.problem(workload), session.versions(workload)
    if set(versions) != set(session.request.versions):  # a version could not be loaded, so there is nothing to compare
        return
    rounds = _Rounds(session, problem)
    calls = {version: session.calls[version] for version in versions}
    runs = bench.round_calls_on(calls, problem, rounds.inputs, rounds.buffers.results, stopwatch)
    with conditions(session) as seen:
        for version in versions:
            if session.attempt(Event("begin", "bench", version, workload.name), runs[version]):
                return
        watch = BenchWatch(session, workload.name, seen)
        try:
            samples = bench.run_rounds(runs, workload.name, session.request, stopwatch, *rounds.before(watch))
        except Exception as error:
            if watch.begun is None or watch.begun.version not in versions:
                raise
            session.failed(watch.begun, error)
            return
        rounds.collect()
    session.note_replaced()
    write_samples(samples, session.out)


class _Rounds:
    """Gives each call its inputs and poisoned outputs, and hands in the outputs of each version's last call."""

    def __init__(self, session: ExamSession, problem: Problem) -> None:
        self._session, self._problem = session, problem
        self._earlier = [session.inputs(q) for q in session.questions_on(problem.workload, "check")]
        (self._question,) = session.questions_on(problem.workload, "bench")
        self._fresh = session.inputs(self._question)
        self.buffers = allocate(problem, self._fresh)
        self.inputs = self.buffers.inputs  # numbers are the same in every round
        self.buffers.fill(self._earlier[0] if self._earlier else self._fresh)
        self._round, self._pending = 0, ""

    def before(self, watch: BenchWatch) -> tuple[Callable[[str], None], Callable[[int], None]]:
        """Return the bench's callbacks for calls and for kept rounds: ours first, then ``watch``."""

        def begin(version: str) -> None:
            self._prepare(version)
            watch.begin(version)

        def end(number: int) -> None:
            self._round = number + 1
            watch.kept(number)

        return begin, end

    def collect(self) -> None:
        """Hand in the outputs of the previous call, if it was the last of an examined version."""
        version, self._pending = self._pending, ""
        if version:
            self._session.answers.write_outputs(version, self._question.number, self.buffers.results)
            touched = self.buffers.touched(self._fresh)
            self._session.answers.write_answer(ExamAnswer(version, self._question.number, touched, False))

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


def run_profile(session: ExamSession) -> None:
    """Run every version on the default workload inside its NVTX ranges, as often as requested."""
    workload = default_workload(session)
    problem = session.problem(workload)
    for version in session.versions(workload):
        begin = Event("begin", "profile", version, workload.name)
        session.attempt(begin, partial(_profile, session, problem, version))
        session.note_replaced()


def _profile(session: ExamSession, problem: Problem, version: str) -> None:
    call, workload = session.calls[version], problem.workload
    (known,), (question,) = session.questions_on(workload, "bench"), session.questions_on(workload, "profile")
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
        session.answers.write_outputs(version, question.number, buffers.results)
        session.answers.write_answer(ExamAnswer(version, question.number, buffers.touched(inputs), False))


def prepare(exam_request: ExamRequest) -> tuple[ExamSession, Hold, Stopwatch]:
    """Make the measuring code and record its functions, then wait for the questions and the versions."""
    session = ExamSession(exam_request)
    hold, stopwatch = Hold(exam_request.request.helpers), stopwatch_of(session)
    results.write_facts(session.out, session.facts())
    assert session.questions
    session.await_versions()
    return session, hold, stopwatch


def run_stages(session: ExamSession, hold: Hold, stopwatch: Stopwatch) -> None:
    """Load the versions, run the requested stages, and write the facts once more."""
    stages = session.request.settings.stages
    session.load()
    session.note_replaced()
    if "check" in stages:
        run_check(session, hold)
    if "bench" in stages:
        run_bench(session, stopwatch)
    if "profile" in stages:
        run_profile(session)
    session.note_replaced()
    results.write_facts(session.out, session.facts())
