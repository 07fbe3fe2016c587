"""The parent's side of an exam: it delivers the versions, has them answer in the sandbox, has the answers graded.

The files of the sandboxed side are copied safely, read strictly, and not trusted.
"""

from __future__ import annotations

import importlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from ncu_assist import process
from ncu_assist.backends.base import BuildOutcome
from ncu_assist.errors import DamagedData, StageFailed, cut
from ncu_assist.executors.base import Executor
from ncu_assist.executors.sandbox import LimitExceeded, read_result
from ncu_assist.harness import results
from ncu_assist.harness.client import (
    START_TIMEOUT_S,
    STDERR_TAIL,
    Measured,
    TimeLimits,
    Watch,
    child_environment,
    collect,
    what_happened,
)
from ncu_assist.harness.events import Event, error_of, parse
from ncu_assist.harness.exam.plan import (
    ANSWERS,
    PATCHED,
    SAMPLES,
    TRIPPED,
    ExamAnswer,
    ExamFolders,
    ExamPlan,
    ExamRequest,
    Grades,
    GradingTask,
    QuestionPurpose,
    SampleRow,
    Suspicion,
    frame_of,
    hand_over,
    most_bytes,
    read_samples,
)
from ncu_assist.harness.request import Stage
from ncu_assist.harness.results import VersionFailure
from ncu_assist.process import Completed

POLL_S = 0.01
GRADE_TIMEOUT_S = 300.0


class AnsweringProcess:
    """A sandboxed child in a thread of its own, from ``start`` until ``wait`` or ``close``.

    It answers the request of this name in the exam's folders, and starts in the readable one.
    """

    def __init__(
        self,
        folders: ExamFolders,
        device: str,
        name: str,
        executor: Executor,
        limits: TimeLimits,
        is_over: Callable[[], bool],
    ) -> None:
        self._folders, self._device, self._name = folders, device, name
        self._executor, self._limits, self._is_over = executor, limits, is_over
        self._on_event: Callable[[Event], None] = lambda event: None
        self._completed: Completed | None = None
        self._error: BaseException | None = None
        self._closed = threading.Event()
        self.watch = Watch(lambda event: self._on_event(event), limits.silence_s)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> AnsweringProcess:
        """Start the child after its folder is made, because the folder may have to be given to another user."""
        self._folders.out(self._name).mkdir()
        self._thread.start()
        return self

    def listen(self, on_event: Callable[[Event], None]) -> None:
        """Pass the child's events to this function from now on."""
        self._on_event = on_event

    def wait(self) -> Completed:
        """Return how the child ended; raises the error of the executor."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._completed is not None
        return self._completed

    def close(self) -> None:
        """End the child if it still runs."""
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._completed = self._executor.run(
                _command(self._folders.request_file(self._name), self._device),
                env=child_environment(),
                cwd=Path(self._folders.readable),
                timeout_s=self._limits.total_s,
                on_line=self.watch.line,
                is_stuck=lambda: self._closed.is_set() or self.watch.is_stuck() or self._is_over(),
            )
        except BaseException as error:
            self._error = error


class ExaminerProcess:
    """The trusted child in a thread of its own, from ``start`` until ``close``.

    It takes no lock: it uses the GPU only before and after the exam.
    """

    def __init__(self, folders: ExamFolders, device: str) -> None:
        self._folders, self._device = folders, device
        self._completed: process.Completed | None = None
        self._told: Event | None = None
        self._error: BaseException | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Start the child."""
        self._thread.start()

    def close(self) -> None:
        """End the child if it still runs."""
        self._closed.set()
        self._thread.join()

    def grades(self, task: GradingTask) -> Grades:
        """Return the grades of a task.

        Raises the child's error: StageFailed if reference.py fails, EnvironmentProblem without a GPU.
        """
        file, deadline = hand_over(task, self._folders.secret), time.monotonic() + GRADE_TIMEOUT_S
        while not file.is_file():
            if not self._thread.is_alive():
                raise self.failure()
            if time.monotonic() > deadline:
                raise StageFailed(f"the answers were not graded within {GRADE_TIMEOUT_S:.0f} s")
            time.sleep(POLL_S)
        return msgspec.json.decode(file.read_bytes(), type=Grades)

    @property
    def failed(self) -> bool:
        """Whether the child has ended, which means that it failed."""
        return not self._thread.is_alive()

    def _is_over(self) -> bool:
        """Raise once nobody waits for the child any more. It is ended at once, because it has nothing to save."""
        if self._closed.is_set():
            raise StageFailed("the exam was closed")
        return False

    def _run(self) -> None:
        exam_request = str(self._folders.examiner_request_file)
        argv = process.module_argv("ncu_assist.harness.exam", "examine", exam_request, self._device)
        try:
            self._completed = process.run(
                argv, env=child_environment(), cwd=self._folders.secret, on_line=self._line, is_stuck=self._is_over
            )
        except BaseException as error:
            self._error = error

    def _line(self, line: str) -> None:
        event = parse(line)
        if event is not None and event.event == "problem":
            self._told = event

    def failure(self) -> BaseException:
        """Return why the child has ended, as the error to raise."""
        if self._error is not None:
            return self._error
        if self._told is not None:
            return error_of(self._told)
        assert self._completed is not None
        words = self._completed.stderr[-STDERR_TAIL:].strip()
        happened = what_happened(self._completed, START_TIMEOUT_S)
        return StageFailed(f"the grading process {happened}\n{words}".rstrip(), "ncu-assist doctor")


WORDS_LIMIT = 2_200  # characters of a draft's message; an honest draft's exception is cut at 2,000
NAME_LIMIT = 120  # characters of a name that a draft may have made up
NAMES_SHOWN = 3
SMALL_LIMIT = 1 << 20  # bytes of a file of results; the names of all watched functions would take 0.1 MB
FACTS_LIMIT = 1 << 16  # they become part of the record of a run


class EventSummary:
    """The events of a sandboxed process that matter afterwards, in constant memory."""

    def __init__(self, draft: str, on_event: Callable[[Event], None] = lambda event: None) -> None:
        self.draft, self.draft_was_loaded, self.tripped = draft, False, False
        self._on_event = on_event

    def line(self, line: str) -> None:
        """Take one line of the process's stdout."""
        event = parse(line)
        if event is not None:
            self.add(event)

    def add(self, event: Event) -> None:
        """Take an event and pass it on."""
        if (event.event, event.stage, event.version) == ("begin", "load", self.draft):
            self.draft_was_loaded = True
        self.tripped = self.tripped or (event.event, event.stage) == ("failed", TRIPPED)
        self._on_event(event)


def failure_of(completed: Completed, watch: Watch, summary: EventSummary) -> VersionFailure | None:
    """Return how the draft failed if its process did not end well, None if it did.

    Any event after the draft was loaded may come from the draft. Raises an error that the process reported before.
    """
    if completed.exit_code == 0 and not completed.timed_out:
        return None
    happened = _happened(completed, watch)
    if summary.draft_was_loaded:
        last = watch.fatal or watch.current
        told = watch.fatal or watch.problem
        words = shortened(told.text if told and told.text else happened)
        stage, workload = (last.stage, last.workload) if last else ("exam", "")
        return VersionFailure(summary.draft, shortened(stage, NAME_LIMIT), shortened(workload, NAME_LIMIT), words, True)
    if watch.problem is not None:
        raise error_of(watch.problem)
    words = completed.stderr[-STDERR_TAIL:].strip()
    raise StageFailed(f"the sandboxed process {happened}\n{words}".rstrip(), "ncu-assist doctor")


def _happened(completed: Completed, watch: Watch) -> str:
    """Return how a process ended. If it was ended while it still reported, it was too slow, not silent."""
    if completed.timed_out and not watch.is_stuck():
        return f"was not done after {completed.seconds:.0f} s and was ended"
    return what_happened(completed, watch.limit_s)


def shortened(text: str, limit: int = WORDS_LIMIT) -> str:
    """Return text of a draft, cut to ``limit`` characters, because it goes into records, tables and prompts."""
    return cut(text, limit)


def take(folder: Path, limits: Mapping[str, int], into: Path) -> tuple[str, ...]:
    """Copy the files of ``limits`` that exist, are regular and have at most that many bytes.

    Return a message about each file that breaks these rules.
    """
    into.mkdir(parents=True, exist_ok=True)
    faults = []
    for name, limit in limits.items():
        if not os.path.lexists(folder / name):
            continue
        try:
            (into / name).write_bytes(read_result(folder, name, limit))
        except DamagedData as error:
            faults.append(error.message)
    return tuple(faults)


def collect_results(
    plan: ExamPlan, exam_request: ExamRequest, summary: EventSummary, failure: VersionFailure | None
) -> tuple[Measured, tuple[ExamAnswer, ...], tuple[Suspicion, ...]]:
    """Copy the results of a request to the trusted side, and add ``failure`` to the reported ones.

    Return the measurements without checks (the trusted side makes them), the answers, and the suspicions.
    """
    collected = plan.folders.collected(Path(exam_request.request.out).name)
    rounds = exam_request.request.settings.rounds
    readers: dict[str, Callable[[Path], object]] = {
        results.FACTS: lambda path: results.read_facts(path.parent),
        results.FAILURES: lambda path: results.read_failures(path.parent),
        ANSWERS: _answers,
        PATCHED: _patched,
        SAMPLES: lambda path: read_samples(path, plan.versions, rounds),
    }
    limits = dict.fromkeys(readers, SMALL_LIMIT)
    limits |= {results.FACTS: FACTS_LIMIT, SAMPLES: most_bytes(plan.versions, rounds)}
    faults = [*take(Path(exam_request.request.out), limits, collected), *_unreadable(collected, readers)]
    if failure is not None:
        results.append_failure(collected, failure)
    said = [Suspicion(plan.draft, "results", f"what the draft's process left is damaged: {fault}") for fault in faults]
    suspicions = (*said, *_seen(plan.draft, collected, summary))
    return _measured(plan, exam_request, collected), _answers(collected / ANSWERS), suspicions


def _measured(plan: ExamPlan, exam_request: ExamRequest, collected: Path) -> Measured:
    """Return the measurements with their samples and with shortened failure messages."""
    found = collect(replace(exam_request.request, out=str(collected)))
    failures = {name: shortened(words) for name, words in found.failures.items()}
    rows: list[SampleRow] = []
    if (collected / SAMPLES).is_file():
        rows = read_samples(collected / SAMPLES, plan.versions, exam_request.request.settings.rounds)
    samples = frame_of(rows, plan.bench_id, plan.kernel.default_workload.name) if rows else None
    return replace(found, failures=failures, samples=samples)


def _unreadable(collected: Path, readers: dict[str, Callable[[Path], object]]) -> Iterator[str]:
    """Remove files that cannot be read, and yield a message about each."""
    for name, read in readers.items():
        if not (collected / name).is_file():
            continue
        try:
            read(collected / name)
        except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors; deep nesting gives the other
            (collected / name).unlink()
            yield f"{name}: {' '.join(str(error).split())[:200]}"


def _answers(path: Path) -> tuple[ExamAnswer, ...]:
    lines = path.read_bytes().splitlines() if path.is_file() else []
    answers = (msgspec.json.decode(line, type=ExamAnswer) for line in lines)
    return tuple(replace(answer, touched=shortened(answer.touched)) for answer in answers)


def _patched(path: Path) -> tuple[str, ...]:
    return msgspec.json.decode(path.read_bytes(), type=tuple[str, ...]) if path.is_file() else ()


def _seen(draft: str, collected: Path, summary: EventSummary) -> Iterator[Suspicion]:
    if summary.tripped:
        yield Suspicion(draft, "reference", "it imports reference.py")
    patched = _patched(collected / PATCHED)
    if patched:
        more = f" and {len(patched) - NAMES_SHOWN} more" if len(patched) > NAMES_SHOWN else ""
        names = ", ".join(shortened(name, NAME_LIMIT) for name in patched[:NAMES_SHOWN])
        yield Suspicion(draft, "patched", f"it replaced {names}{more}")


STAGES: tuple[Stage, ...] = ("check", "bench")
PURPOSES: dict[Stage, QuestionPurpose] = {"check": "check", "bench": "bench", "profile": "profile"}


class NotBuilt(StageFailed):
    """A version does not compile; ``outcomes`` has the compiler's output."""

    def __init__(self, outcomes: Mapping[str, BuildOutcome]) -> None:
        lacking = [name for name, outcome in outcomes.items() if outcome.artifact is None]
        super().__init__(f"{' and '.join(lacking)} does not build")
        self.outcomes = dict(outcomes)


class Delivery:
    """A context manager around a build in a thread of its own; on exit it waits for the build."""

    def __init__(self, plan: ExamPlan, build: Callable[[], Mapping[str, BuildOutcome]]) -> None:
        self._plan, self._build = plan, build
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Delivery:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()

    @property
    def failed(self) -> bool:
        """Whether the versions will not be delivered."""
        return self._error is not None

    def check(self) -> None:
        """Raise the error that kept the versions from being delivered."""
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            outcomes = self._build()
            if any(outcome.artifact is None for outcome in outcomes.values()):
                raise NotBuilt(outcomes)
            self._plan.deliver(outcomes)
        except BaseException as error:
            self._error = error


@dataclass(frozen=True)
class Examined:
    """The result of an exam. ``measured.checks`` are the graded checks, its samples are those of all versions.

    ``suspicions`` are ways of cheating, each with an id and a description. A draft is right if it has none, its checks
    passed and it is not in ``measured.failures``.
    """

    measured: Measured
    suspicions: tuple[Suspicion, ...]


class Exam:
    """A context manager over two processes that each import torch once.

    The trusted process starts on entry. It sets the questions once there is a ``plan``, while the draft is built and
    the sandboxed process starts, then waits while that answers and times, and grades its answers, including those of
    profiled calls. ``open`` starts the sandboxed process before there is a plan.
    """

    plan: ExamPlan

    def __init__(self, folders: ExamFolders, device: str) -> None:
        self._folders, self._device = folders, device
        self._examiner = ExaminerProcess(folders, device)
        self._answering: AnsweringProcess | None = None
        self._delivery: Delivery | None = None

    @classmethod
    def of(cls, plan: ExamPlan) -> Exam:
        """Return the exam of a plan."""
        exam = cls(plan.folders, plan.settings.device)
        exam.plan = plan
        return exam

    def __enter__(self) -> Exam:
        self._examiner.start()
        # reading the samples at the end needs pandas: import it now, while nobody waits for the half second
        threading.Thread(target=importlib.import_module, args=("pandas",), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._answering is not None:
            self._answering.close()
        self._examiner.close()

    def open(self, executor: Executor, limits: TimeLimits, stages: tuple[Stage, ...] = STAGES) -> AnsweringProcess:
        """Start the sandboxed side in the executor; it waits for the request of ``measure``."""
        self._answering = AnsweringProcess(
            self._folders, self._device, "-".join(stages), executor, limits, self._is_over
        ).start()
        return self._answering

    def measure(
        self,
        build: Callable[[], Mapping[str, BuildOutcome]],
        executor: Executor,
        on_event: Callable[[Event], None],
        limits: TimeLimits,
        stages: tuple[Stage, ...] = STAGES,
    ) -> Examined:
        """Run stages of the exam in the executor, call ``build`` meanwhile, and return the results.

        A crash of the process counts as a failure of the draft. Raises NotBuilt if a version does not build,
        EnvironmentProblem without torch or a GPU, StageFailed if reference.py fails or the sandboxed side ends before
        the draft was loaded, and any error of ``build``.
        """
        summary = EventSummary(self.plan.draft, on_event)
        with Delivery(self.plan, build) as self._delivery:
            answering = self._answering or self.open(executor, limits, stages)
            answering.listen(summary.add)
            exam_request = self.plan.write_request("-".join(stages), stages)
            try:
                completed = answering.wait()
            except LimitExceeded as error:
                return self.grade(
                    exam_request, summary, VersionFailure(self.plan.draft, "exam", "", error.message, True)
                )
            self._delivery.check()
        if self._examiner.failed:
            raise self._examiner.failure()
        return self.grade(exam_request, summary, failure_of(completed, answering.watch, summary))

    def _is_over(self) -> bool:
        """Return whether the sandboxed side waits in vain."""
        return self._examiner.failed or (self._delivery is not None and self._delivery.failed)

    def profile_request(self) -> ExamRequest:
        """Write the request of the profiled calls. ``command`` gives ncu's program, ``grade`` grades its answers."""
        return self.plan.write_request("profile", ("profile",))

    def grade(
        self, exam_request: ExamRequest, summary: EventSummary, failure: VersionFailure | None = None
    ) -> Examined:
        """Grade the answers to a request after the sandboxed side has ended.

        ``summary`` has followed its events; ``failure`` says how it ended, None if it ended well.
        """
        measured, answers, seen = collect_results(self.plan, exam_request, summary, failure)
        purposes = tuple(PURPOSES[stage] for stage in exam_request.request.settings.stages)
        name, out = Path(exam_request.request.out).name, exam_request.request.out
        grades = self._examiner.grades(GradingTask(name, purposes, exam_request.examined, answers, out))
        suspicions = tuple(dict.fromkeys((*seen, *grades.suspicions)))
        return Examined(replace(measured, checks=grades.checks, device=grades.device), suspicions)


def command(exam_request: ExamRequest) -> list[str]:
    """Return the command line that answers a request; it starts in the exam's readable folder."""
    return _command(exam_request.path, exam_request.request.settings.device)


def _command(request_file: Path, device: str) -> list[str]:
    return process.module_argv("ncu_assist.harness.exam", "answer", str(request_file), device)
