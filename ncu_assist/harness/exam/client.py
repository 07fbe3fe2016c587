"""The parent's side of an exam: delivers the versions, has them answer in the sandbox, has the answers graded."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from ncu_assist.backends.base import BuildOutcome
from ncu_assist.errors import StageFailed
from ncu_assist.executors.base import Executor
from ncu_assist.executors.sandbox import LimitExceeded
from ncu_assist.harness import results
from ncu_assist.harness.client import Measured
from ncu_assist.harness.events import Event
from ncu_assist.harness.exam.collecting import EventSummary, collect_results, failure_of
from ncu_assist.harness.exam.plan import ExamPlan
from ncu_assist.harness.exam.processes import AnsweringJob, AnsweringLimits, AnsweringProcess, ExaminerProcess
from ncu_assist.harness.exam.request import ExamFolders, ExamRequest, GradingTask, QuestionPurpose, Suspicion
from ncu_assist.harness.request import Stage

STAGES: tuple[Stage, ...] = ("check", "bench")
PURPOSES: dict[Stage, QuestionPurpose] = {"check": "check", "bench": "bench", "profile": "profile"}


class NotBuilt(StageFailed):
    """A version does not compile; ``outcomes`` has the words of the compiler."""

    def __init__(self, outcomes: Mapping[str, BuildOutcome]) -> None:
        lacking = [name for name, outcome in outcomes.items() if outcome.artifact is None]
        super().__init__(f"{' and '.join(lacking)} does not build")
        self.outcomes = dict(outcomes)


class Delivery:
    """A context manager around a build in a thread of its own; on leaving it the build has ended."""

    def __init__(self, plan: ExamPlan, build: Callable[[], Mapping[str, BuildOutcome]]) -> None:
        self._plan, self._build = plan, build
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Delivery:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._thread.join()

    @property
    def failed(self) -> bool:
        """Whether there is nothing to wait for any more."""
        return self._error is not None

    def check(self) -> None:
        """Raise what kept the versions from being delivered."""
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
    """What an exam found. ``measured.checks`` are the graded ones, its samples those of all versions.

    ``suspicions`` are ways of cheating, each with an id and words; a draft is right if it has none, its checks passed
    and it does not stand in ``measured.failures``.
    """

    measured: Measured
    suspicions: tuple[Suspicion, ...]


class Exam:
    """A context manager over two processes that each import torch once.

    The trusted one starts as soon as it is entered: it sets the questions once there is a ``plan``, while the draft is
    built and the sandboxed one starts, waits while that answers and times, and grades what it left, of a profiled
    call too. ``open`` starts the sandboxed one before there is a plan.
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
        self._examiner.__enter__()
        # half a second that nobody waits for now: what reads the samples when all is over
        threading.Thread(target=importlib.import_module, args=("pandas",), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._answering is not None:
            self._answering.close()
        self._examiner.__exit__(kind, error, traceback)

    def open(self, executor: Executor, limits: AnsweringLimits, stages: tuple[Stage, ...] = STAGES) -> AnsweringProcess:
        """Start the sandboxed side in the executor; it waits for what ``measure`` gives it."""
        job = AnsweringJob(self._folders, self._device, "-".join(stages))
        self._answering = AnsweringProcess(job, executor, limits, self._is_over).start()
        return self._answering

    def measure(
        self,
        build: Callable[[], Mapping[str, BuildOutcome]],
        executor: Executor,
        on_event: Callable[[Event], None],
        limits: AnsweringLimits,
        stages: tuple[Stage, ...] = STAGES,
    ) -> Examined:
        """Run stages of the exam in the executor and return what they gave; meanwhile ``build`` is called.

        What a draft does to its process is a failure of the draft. Raises NotBuilt where a version does not build,
        EnvironmentProblem without torch or a GPU, StageFailed where reference.py fails or the sandboxed side ends
        before the draft was loaded; and what ``build`` raises.
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
                    exam_request, summary, results.VersionFailure(self.plan.draft, "exam", "", error.message, True)
                )
            self._delivery.check()
        if self._examiner.failed:
            raise self._examiner.failure()
        return self.grade(exam_request, summary, failure_of(completed, answering.watch, summary))

    def _is_over(self) -> bool:
        """Whether there is nothing left that the sandboxed side could wait for."""
        return self._examiner.failed or (self._delivery is not None and self._delivery.failed)

    def profile_request(self) -> ExamRequest:
        """Write the request of the profiled calls; ``command`` is the program for ncu, ``grade`` takes its answers."""
        return self.plan.write_request("profile", ("profile",))

    def grade(
        self, exam_request: ExamRequest, summary: EventSummary, failure: results.VersionFailure | None = None
    ) -> Examined:
        """Return what answers to a request are worth, after the sandboxed side has ended.

        ``summary`` has followed its events, ``failure`` is how it ended where it did not end well.
        """
        collected = collect_results(self.plan, exam_request, summary, failure)
        purposes = tuple(PURPOSES[stage] for stage in exam_request.request.settings.stages)
        name, out = Path(exam_request.request.out).name, exam_request.request.out
        grades = self._examiner.grades(GradingTask(name, purposes, exam_request.examined, collected.answers, out))
        suspicions = tuple(dict.fromkeys((*collected.suspicions, *grades.suspicions)))
        return Examined(replace(collected.measured, checks=grades.checks, device=grades.device), suspicions)


def command(exam_request: ExamRequest) -> list[str]:
    """Return the program that answers a request; it starts in the exam's readable folder."""
    folders = ExamFolders(Path(exam_request.questions).parents[1])
    return AnsweringJob(folders, exam_request.request.settings.device, Path(exam_request.file).stem).command
