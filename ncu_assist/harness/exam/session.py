"""The sandboxed side's work on a paper: sealed versions, questions from files, answers into files."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from ncu_assist.errors import StageFailed
from ncu_assist.harness.exam import raw
from ncu_assist.harness.exam.hand_in import HandIn
from ncu_assist.harness.exam.paper import PATCHED, QUESTIONS, Paper, Purpose, Question
from ncu_assist.harness.exam.seal import Seal
from ncu_assist.harness.problem import Problem, Tensors
from ncu_assist.harness.request import Artifact
from ncu_assist.harness.session import HarnessSession
from ncu_assist.spec import Workload

POLL_S = 0.01
SET_TIMEOUT_S = 300.0  # the other side imports torch and opens the GPU, as this one did; so long may a build take


class ExamSession(HarnessSession):
    """One sandboxed process. What measures is made and remembered here, before any version is loaded."""

    def __init__(self, paper: Paper) -> None:
        super().__init__(paper.request)
        self.paper = paper
        self.hand_in = HandIn(self.out)
        self._questions = Path(paper.questions)
        self._broken = Seal().broken
        self._sleep, self._now = time.sleep, time.monotonic

    def inspect_seal(self) -> None:
        """Note all that was replaced so far."""
        (self.out / PATCHED).write_bytes(msgspec.json.encode(self._broken()))

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """All questions, once they are set; raises StageFailed if they do not come."""
        return msgspec.json.decode(self._awaited(self._questions / QUESTIONS), type=tuple[Question, ...])

    def await_versions(self) -> None:
        """Wait until the versions are built, and remember where they are; raises StageFailed if they do not come."""
        found = msgspec.json.decode(self._awaited(Path(self.paper.artifacts)), type=tuple[Artifact, ...])
        self.request = replace(self.request, artifacts=found)

    def _awaited(self, file: Path) -> bytes:
        deadline = self._now() + SET_TIMEOUT_S
        while not file.is_file():
            if self._now() > deadline:
                raise StageFailed(f"{file.name} of the exam did not come")
            self._sleep(POLL_S)
        return file.read_bytes()

    def asked(self, workload: Workload, *purposes: Purpose) -> list[Question]:
        """Return the questions on a workload that serve one of these purposes."""
        return [q for q in self.questions if q.workload == workload.name and q.purpose in purposes]

    def inputs(self, question: Question) -> Tensors:
        """Return the inputs of a question on the device."""
        return tuple(raw.read_input(given, self._questions, self.device) for given in question.inputs)

    def problem(self, workload: Workload) -> Problem:
        """Return a workload as a problem without a reference: its outputs can be made, not its inputs."""
        return Problem(self.kernel, workload, None, self.device)

    def answering(self, workload: Workload) -> Sequence[str]:
        """Return the versions that answer questions on a workload."""
        return [version for version in self.versions(workload) if version in self.paper.examined]

    @cached_property
    def _module(self) -> Any:
        raise AssertionError("an exam has no reference")
