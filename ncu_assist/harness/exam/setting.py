"""The trusted side sets the questions: inputs from secret seeds, written where the sandbox reads. Runs in a child."""

from __future__ import annotations

from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from ncu_assist.backends.python import import_file
from ncu_assist.harness.exam import raw
from ncu_assist.harness.exam.paper import QUESTIONS, Input, Question, Secret
from ncu_assist.harness.problem import Problem, Tensors
from ncu_assist.spec_file import read_kernel


class Questions:
    """The questions of an exam as problems: inputs by number, made again from their seeds whenever they are needed."""

    def __init__(self, secret: Secret) -> None:
        self.kernel = read_kernel(Path(secret.kernel_folder))
        self.asked, self._secret = secret.questions, secret
        self._module: Any = import_file(self.kernel.reference)

    def problem(self, workload: str) -> Problem:
        """Return a workload as a problem, with the reference."""
        (found,) = self.kernel.select_workloads(workload)
        return Problem(self.kernel, found, self._module, self._secret.device)

    def seed(self, question: Question) -> int:
        """Return the seed of a question."""
        return self._secret.seeds[question.number]

    def inputs(self, question: Question) -> Tensors:
        """Return the inputs of a question; raises ReferenceProblem where reference.py fails."""
        return self.problem(question.workload).inputs(self.seed(question))

    def set(self) -> None:
        """Write every question, the list of them last."""
        folder = Path(self._secret.set_to)
        with ThreadPoolExecutor(raw.CROSSINGS) as pool:  # reference.py is asked for one question after the other
            pending = [(question, self._set(question, folder, pool)) for question in self.asked]
            questions = [replace(one, inputs=tuple(each.result() for each in inputs)) for one, inputs in pending]
        unfinished = folder / f".{QUESTIONS}"
        unfinished.write_bytes(msgspec.json.encode(questions))
        unfinished.replace(folder / QUESTIONS)

    def _set(self, question: Question, folder: Path, pool: Executor) -> list[Future[Input]]:
        named = zip(self.kernel.inputs, self.inputs(question), strict=True)
        return [
            pool.submit(raw.write_input, name, value, folder, f"question-{question.number}-{place}.bin")
            for place, (name, value) in enumerate(named)
        ]
