"""The parent's side of an exam: runs the sandboxed side, takes over what it left, and has it graded."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from ncu_assist.backends.base import BuildOutcome
from ncu_assist.executors.base import Executor
from ncu_assist.executors.sandbox import LimitExceeded
from ncu_assist.harness import results
from ncu_assist.harness.client import Measured
from ncu_assist.harness.events import Event
from ncu_assist.harness.exam.answering_process import AnsweringProcess, Limits, Seat
from ncu_assist.harness.exam.blame import Story, blame
from ncu_assist.harness.exam.delivery import Delivery
from ncu_assist.harness.exam.examiner_process import ExaminerProcess
from ncu_assist.harness.exam.folders import Folders
from ncu_assist.harness.exam.paper import Paper, Purpose, Suspicion
from ncu_assist.harness.exam.plan import Plan
from ncu_assist.harness.exam.takeover import take_over
from ncu_assist.harness.exam.task import Task
from ncu_assist.harness.request import Stage

STAGES: tuple[Stage, ...] = ("check", "bench")
PURPOSES: dict[Stage, Purpose] = {"check": "check", "bench": "bench", "profile": "profile"}


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

    plan: Plan

    def __init__(self, folders: Folders, device: str) -> None:
        self._folders, self._device = folders, device
        self._examiner = ExaminerProcess(folders, device)
        self._answering: AnsweringProcess | None = None
        self._delivery: Delivery | None = None

    @classmethod
    def of(cls, plan: Plan) -> Exam:
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

    def open(self, executor: Executor, limits: Limits, stages: tuple[Stage, ...] = STAGES) -> AnsweringProcess:
        """Start the sandboxed side in the executor; it waits for what ``measure`` gives it."""
        seat = Seat(self._folders, self._device, "-".join(stages))
        self._answering = AnsweringProcess(seat, executor, limits, self._is_over).start()
        return self._answering

    def measure(
        self,
        build: Callable[[], Mapping[str, BuildOutcome]],
        executor: Executor,
        on_event: Callable[[Event], None],
        limits: Limits,
        stages: tuple[Stage, ...] = STAGES,
    ) -> Examined:
        """Run stages of the exam in the executor and return what they gave; meanwhile ``build`` is called.

        What a draft does to its process is a failure of the draft. Raises NotBuilt where a version does not build,
        EnvironmentProblem without torch or a GPU, StageFailed where reference.py fails or the sandboxed side ends
        before the draft was loaded; and what ``build`` raises.
        """
        story = Story(self.plan.draft, on_event)
        with Delivery(self.plan, build) as self._delivery:
            answering = self._answering or self.open(executor, limits, stages)
            answering.tell(story.tell)
            paper = self.plan.paper("-".join(stages), stages)
            try:
                completed = answering.wait()
            except LimitExceeded as error:
                return self.grade(
                    paper, story, results.VersionFailure(self.plan.draft, "exam", "", error.message, True)
                )
            self._delivery.check()
        if self._examiner.failed:
            raise self._examiner.failure()
        return self.grade(paper, story, blame(completed, answering.watch, story))

    def _is_over(self) -> bool:
        """Whether there is nothing left that the sandboxed side could wait for."""
        return self._examiner.failed or (self._delivery is not None and self._delivery.failed)

    def profile_paper(self) -> Paper:
        """Write the paper of the profiled calls; ``command`` is the program for ncu, ``grade`` takes its answers."""
        return self.plan.paper("profile", ("profile",))

    def grade(self, paper: Paper, story: Story, failure: results.VersionFailure | None = None) -> Examined:
        """Return what answers to a paper are worth, after the sandboxed side has ended.

        ``story`` has followed its events, ``failure`` is how it ended where it did not end well.
        """
        taken = take_over(self.plan, paper, story, failure)
        purposes = tuple(PURPOSES[stage] for stage in paper.request.settings.stages)
        name, out = Path(paper.request.out).name, paper.request.out
        grades = self._examiner.grades(Task(name, purposes, paper.examined, taken.answers, out))
        suspicions = tuple(dict.fromkeys((*taken.suspicions, *grades.suspicions)))
        return Examined(replace(taken.measured, checks=grades.checks, device=grades.device), suspicions)


def command(paper: Paper) -> list[str]:
    """Return the program that answers a paper; it starts in the exam's readable folder."""
    folders = Folders(Path(paper.questions).parents[1])
    return Seat(folders, paper.request.settings.device, Path(paper.file).stem).command
