"""What one answer is worth: right, or why not, and whether it shows what a draft kept or left unfinished."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ncu_assist.errors import DamagedData
from ncu_assist.harness.buffers import Buffers, Guarded
from ncu_assist.harness.check import OutputDifference, inspect
from ncu_assist.harness.exam.paper import Answer, Question, answer_file
from ncu_assist.harness.exam.raw import read_answer
from ncu_assist.harness.exam.setting import Questions
from ncu_assist.harness.problem import Problem, Tensors

UNFINISHED = "work on another stream is left unfinished"
DIFFERS = "results differ between identical calls"
Key = tuple[str, int, bool]
CACHED = "a result of an earlier call came back, or its inputs were kept"


@dataclass(frozen=True)
class Mark:
    """Why an answer is wrong, empty if it is right; ``id`` of the way of cheating that it shows, where it does."""

    reason: str = ""
    id: str = ""
    norm_error: float | None = None
    max_error: float | None = None

    @property
    def wrong(self) -> bool:
        """Whether there are outputs and they are wrong; an answer that did not come is another matter."""
        return bool(self.reason) and self.norm_error is not None

    def placed(self, where: str) -> Mark:
        """Return the same with words in front of a reason."""
        return replace(self, reason=f"{where}{self.reason}") if self.reason else self


def on_gpu(problem: Problem) -> bool:
    """Return whether calls go to streams: on a CPU one that was waited for says no more than the other."""
    return bool(problem.device == "cuda")


def reason_of(marks: Sequence[Mark]) -> str:
    """Return the first reason among marks, empty if all are right."""
    return next((mark.reason for mark in marks if mark.reason), "")


class Marker:
    """Compares outputs that came out of the sandbox with the reference's."""

    def __init__(self, questions: Questions, out: Path, answers: Sequence[Answer], pool: Executor) -> None:
        self._questions, self._out, self._pool = questions, out, pool
        self._explained: set[str] = set()  # workloads
        self._read = {key: self._reading(*key) for one in answers for key in _keys(one)}  # before they are asked for

    def mark(self, answer: Answer, question: Question, others: Sequence[Question]) -> Mark:
        """Return what an answer is worth; ``others`` are the other questions on its workload."""
        if answer.touched:
            return Mark(answer.touched, "modified" if answer.touched.startswith("input ") else "outside")
        problem, inputs = self._questions.problem(question.workload), self._questions.inputs(question)
        expected = problem.expected(inputs)
        try:
            results, *more = (self._outputs(key) for key in _keys(answer))
            repeated = more[0] if more else ()
        except DamagedData as error:
            return Mark(f"the answer cannot be used: {error.message}")
        first, worst = _compare(problem, results, expected)
        second = _compare(problem, repeated, expected)[0] if repeated else first
        return self._judge((first, second), worst, (problem, question, inputs, results), others)

    def _judge(
        self,
        reasons: tuple[str, str],
        worst: OutputDifference,
        what: tuple[Problem, Question, Tensors, Tensors],
        others: Sequence[Question],
    ) -> Mark:
        first, second = reasons
        errors = (worst.norm_error, worst.max_error)
        if first and not second:
            words, id = (UNFINISHED, "unfinished") if on_gpu(what[0]) else (DIFFERS, "")
            return Mark(f"{words}: {first}", id, *errors)
        if second and not first:
            return Mark(f"{DIFFERS}: {second}", "", *errors)
        kept = self._kept(*what, others) if first and self._is_to_explain(what[1], others) else ""
        return Mark(f"{kept}: {first}" if kept else first, "kept" if kept else "", *errors)

    def _is_to_explain(self, question: Question, others: Sequence[Question]) -> bool:
        """Whether to look for what a wrong answer was kept from: once a workload, and not where nothing was before.

        A look takes as many references as there are other questions, times their inputs.
        """
        is_first = question.purpose == "check" and all(question.number < other.number for other in others)
        if is_first or question.workload in self._explained:
            return False
        self._explained.add(question.workload)
        return True

    def _kept(
        self, problem: Problem, question: Question, inputs: Tensors, results: Tensors, others: Sequence[Question]
    ) -> str:
        """Return which inputs of another question explain wrong results, empty if none do."""
        for other in others:
            earlier = self._questions.inputs(other)
            for words, mixed in _mixtures(self._questions.kernel.inputs, inputs, earlier):
                if not _compare(problem, results, problem.expected(mixed))[0]:
                    return words
        return ""

    def _outputs(self, key: Key) -> Tensors:
        return tuple(each.result() for each in self._read[key])

    def _reading(self, version: str, number: int, again: bool) -> list[Future[Any]]:
        question = next(one for one in self._questions.asked if one.number == number)
        problem = self._questions.problem(question.workload)
        kernel, workload = problem.kernel, problem.workload
        return [
            self._pool.submit(
                read_answer,
                self._out,
                answer_file(version, number, place, again),
                kernel.dtype(output, workload),
                kernel.shape(output, workload),
                problem.device,
            )
            for place, output in enumerate(kernel.outputs)
        ]


def _keys(answer: Answer) -> Iterator[Key]:
    """Yield what the outputs of an answer are known by: version, question, whether of the repeated call."""
    yield answer.version, answer.question, False
    if answer.again:
        yield answer.version, answer.question, True


def _mixtures(names: Sequence[str], inputs: Tensors, earlier: Tensors) -> Iterator[tuple[str, Tensors]]:
    """Yield the inputs of an earlier call, then those of this one with one of them from there."""
    yield CACHED, earlier
    for place, name in enumerate(names if len(names) > 1 else ()):
        mixed = (*inputs[:place], earlier[place], *inputs[place + 1 :])
        yield f"input '{name}' of an earlier call was used", mixed


def _compare(problem: Problem, results: Tensors, expected: Tensors) -> tuple[str, OutputDifference]:
    named = zip(problem.kernel.outputs, results, strict=True)
    outputs = tuple(Guarded(output.name, result, result, 0) for output, result in named)
    return inspect(Buffers([], (), outputs), problem, expected, 0)
