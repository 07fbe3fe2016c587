"""The sandboxed side's work on a request: sealed versions, questions from files, answers into files."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from ncu_assist.errors import StageFailed
from ncu_assist.harness.exam import tensor_files
from ncu_assist.harness.exam.request import PATCHED, QUESTIONS, ExamQuestion, ExamRequest, QuestionPurpose
from ncu_assist.harness.exam.tamper_check import TamperCheck
from ncu_assist.harness.exam.tensor_files import AnswerWriter
from ncu_assist.harness.problem import Problem, Tensors
from ncu_assist.harness.request import Artifact
from ncu_assist.harness.session import HarnessSession
from ncu_assist.spec import Workload

POLL_S = 0.01
SET_TIMEOUT_S = 300.0  # the other side imports torch and opens the GPU, as this one did; so long may a build take


class ExamSession(HarnessSession):
    """One sandboxed process. What measures is made and remembered here, before any version is loaded."""

    def __init__(self, exam_request: ExamRequest) -> None:
        super().__init__(exam_request.request)
        self.exam_request = exam_request
        self.answers = AnswerWriter(self.out)
        self._questions = Path(exam_request.questions)
        self._replaced = TamperCheck().replaced
        self._sleep, self._now = time.sleep, time.monotonic

    def note_replaced(self) -> None:
        """Note all that was replaced so far."""
        (self.out / PATCHED).write_bytes(msgspec.json.encode(self._replaced()))

    @cached_property
    def questions(self) -> tuple[ExamQuestion, ...]:
        """All questions, once they are set; raises StageFailed if they do not come."""
        return msgspec.json.decode(self._awaited(self._questions / QUESTIONS), type=tuple[ExamQuestion, ...])

    def await_versions(self) -> None:
        """Wait until the versions are built, and remember where they are; raises StageFailed if they do not come."""
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
        """Return a workload as a problem without a reference: its outputs can be made, not its inputs."""
        return Problem(self.kernel, workload, None, self.device)

    def answering(self, workload: Workload) -> Sequence[str]:
        """Return the versions that answer questions on a workload."""
        return [version for version in self.versions(workload) if version in self.exam_request.examined]

    @cached_property
    def _module(self) -> Any:
        raise AssertionError("an exam has no reference")
