"""The trusted side of an exam: sets questions from secret seeds and grades the answers. Runs in a trusted child.

Answers are compared with the reference; what is wrong may show what a draft kept or left unfinished.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from ncu_assist.atomic import atomic_write
from ncu_assist.backends.python import import_file
from ncu_assist.errors import DamagedData
from ncu_assist.harness import accelerator, events
from ncu_assist.harness.check import Buffers, Guarded, OutputDifference, inspect
from ncu_assist.harness.events import Event
from ncu_assist.harness.exam import tensor_files
from ncu_assist.harness.exam.plan import (
    PUBLIC_SEED,
    QUESTIONS,
    ExamAnswer,
    ExaminerRequest,
    ExamQuestion,
    Grades,
    GradingTask,
    QuestionInput,
    QuestionPurpose,
    Suspicion,
    answer_file,
    graded_file,
    task_files,
)
from ncu_assist.harness.exam.tensor_files import CROSSINGS, read_answer
from ncu_assist.harness.facts import Nvml, device_facts, gpu_uuid
from ncu_assist.harness.problem import Problem, Tensors
from ncu_assist.record import Check, Device
from ncu_assist.spec_file import read_kernel

UNFINISHED = "work on another stream is left unfinished"
DIFFERS = "results differ between identical calls"
Key = tuple[str, int, bool]
CACHED = "a result of an earlier call came back, or its inputs were kept"
# What a question was asked for, in front of what is wrong with its answer, and the id of being wrong only there.
WHERE: dict[QuestionPurpose, tuple[str, str]] = {
    "check": ("", ""),
    "bench": ("in the last timed call: ", "timed"),
    "profile": ("in the profiled call: ", "profiler"),
}
NO_ANSWER = "no answer came"
POLL_S = 0.01


class QuestionSet:
    """The questions of an exam as problems: inputs by number, made again from their seeds whenever they are needed."""

    def __init__(self, secret: ExaminerRequest) -> None:
        self.kernel = read_kernel(Path(secret.kernel_folder))
        self.questions, self._secret = secret.questions, secret
        self._module: Any = import_file(self.kernel.reference)

    def problem(self, workload: str) -> Problem:
        """Return a workload as a problem, with the reference."""
        (found,) = self.kernel.select_workloads(workload)
        return Problem(self.kernel, found, self._module, self._secret.device)

    def seed(self, question: ExamQuestion) -> int:
        """Return the seed of a question."""
        return self._secret.seeds[question.number]

    def inputs(self, question: ExamQuestion) -> Tensors:
        """Return the inputs of a question; raises ReferenceProblem where reference.py fails."""
        return self.problem(question.workload).inputs(self.seed(question))

    def set(self) -> None:
        """Write every question, the list of them last."""
        folder = Path(self._secret.set_to)
        with ThreadPoolExecutor(
            tensor_files.CROSSINGS
        ) as pool:  # reference.py is asked for one question after the other
            pending = [(question, self._set(question, folder, pool)) for question in self.questions]
            questions = [replace(one, inputs=tuple(each.result() for each in inputs)) for one, inputs in pending]
        with atomic_write(folder / QUESTIONS) as file:
            file.write(msgspec.json.encode(questions))

    def _set(self, question: ExamQuestion, folder: Path, pool: Executor) -> list[Future[QuestionInput]]:
        named = zip(self.kernel.inputs, self.inputs(question), strict=True)
        return [
            pool.submit(tensor_files.write_input, name, value, folder, f"question-{question.number}-{place}.bin")
            for place, (name, value) in enumerate(named)
        ]


@dataclass(frozen=True)
class AnswerGrade:
    """Why an answer is wrong, empty if it is right; ``id`` of the way of cheating that it shows, where it does."""

    reason: str = ""
    id: str = ""
    norm_error: float | None = None
    max_error: float | None = None

    @property
    def wrong(self) -> bool:
        """Whether there are outputs and they are wrong; an answer that did not come is another matter."""
        return bool(self.reason) and self.norm_error is not None

    def placed(self, where: str) -> AnswerGrade:
        """Return the same with words in front of a reason."""
        return replace(self, reason=f"{where}{self.reason}") if self.reason else self


def on_gpu(problem: Problem) -> bool:
    """Return whether calls go to streams: on a CPU one that was waited for says no more than the other."""
    return bool(problem.device == "cuda")


def reason_of(grades: Sequence[AnswerGrade]) -> str:
    """Return the first reason among grades, empty if all are right."""
    return next((grade.reason for grade in grades if grade.reason), "")


class AnswerGrader:
    """Compares outputs that came out of the sandbox with the reference's."""

    def __init__(self, questions: QuestionSet, out: Path, answers: Sequence[ExamAnswer], pool: Executor) -> None:
        self._questions, self._out, self._pool = questions, out, pool
        self._explained: set[str] = set()  # workloads
        self._read = {key: self._reading(*key) for one in answers for key in _keys(one)}  # before they are asked for

    def grade(self, answer: ExamAnswer, question: ExamQuestion, others: Sequence[ExamQuestion]) -> AnswerGrade:
        """Return what an answer is worth; ``others`` are the other questions on its workload."""
        if answer.touched:
            return AnswerGrade(answer.touched, "modified" if answer.touched.startswith("input ") else "outside")
        problem, inputs = self._questions.problem(question.workload), self._questions.inputs(question)
        expected = problem.expected(inputs)
        try:
            results, *more = (tuple(each.result() for each in self._read[key]) for key in _keys(answer))
            repeated = more[0] if more else ()
        except DamagedData as error:
            return AnswerGrade(f"the answer cannot be used: {error.message}")
        first, worst = _compare(problem, results, expected)
        second = _compare(problem, repeated, expected)[0] if repeated else first
        return self._judge((first, second), worst, (problem, question, inputs, results), others)

    def _judge(
        self,
        reasons: tuple[str, str],
        worst: OutputDifference,
        what: tuple[Problem, ExamQuestion, Tensors, Tensors],
        others: Sequence[ExamQuestion],
    ) -> AnswerGrade:
        first, second = reasons
        errors = (worst.norm_error, worst.max_error)
        if first and not second:
            words, id = (UNFINISHED, "unfinished") if on_gpu(what[0]) else (DIFFERS, "")
            return AnswerGrade(f"{words}: {first}", id, *errors)
        if second and not first:
            return AnswerGrade(f"{DIFFERS}: {second}", "", *errors)
        kept = self._kept(*what, others) if first and self._is_to_explain(what[1], others) else ""
        return AnswerGrade(f"{kept}: {first}" if kept else first, "kept" if kept else "", *errors)

    def _is_to_explain(self, question: ExamQuestion, others: Sequence[ExamQuestion]) -> bool:
        """Whether to look for what a wrong answer was kept from: once a workload, and not where nothing was before.

        A look takes as many references as there are other questions, times their inputs.
        """
        is_first = question.purpose == "check" and all(question.number < other.number for other in others)
        if is_first or question.workload in self._explained:
            return False
        self._explained.add(question.workload)
        return True

    def _kept(
        self,
        problem: Problem,
        question: ExamQuestion,
        inputs: Tensors,
        results: Tensors,
        others: Sequence[ExamQuestion],
    ) -> str:
        """Return which inputs of another question explain wrong results, empty if none do."""
        for other in others:
            earlier = self._questions.inputs(other)
            for words, mixed in _mixtures(self._questions.kernel.inputs, inputs, earlier):
                if not _compare(problem, results, problem.expected(mixed))[0]:
                    return words
        return ""

    def _reading(self, version: str, number: int, again: bool) -> list[Future[Any]]:
        question = next(one for one in self._questions.questions if one.number == number)
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


def _keys(answer: ExamAnswer) -> Iterator[Key]:
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


Graded = tuple[ExamQuestion, AnswerGrade]  # a question and what its answer is worth


class Grader:
    """Grades the answers of one task."""

    def __init__(self, questions: QuestionSet, task: GradingTask) -> None:
        self._questions, self._task = questions, task
        self._default = questions.kernel.default_workload.name
        self._answers = {(a.version, a.question): a for a in task.answers}

    def grades(self) -> Grades:
        """Return the checks and suspicions of all versions."""
        checks, suspicions = {}, []
        with ThreadPoolExecutor(CROSSINGS) as pool:
            grader = AnswerGrader(self._questions, Path(self._task.out), self._wanted(), pool)
            for version in self._task.examined:
                graded = self._graded(version, grader)
                checks[version] = tuple(self._check(workload, rows) for workload, rows in graded.items())
                suspicions += list(self._suspicions(version, graded))
        return Grades(checks, tuple(suspicions))

    def _wanted(self) -> list[ExamAnswer]:
        """Return the answers to questions that were asked: what came may claim anything."""
        asked = [one.number for one in self._questions.questions if one.purpose in self._task.purposes]
        keys = ((version, number) for version in self._task.examined for number in asked)
        return [self._answers[key] for key in keys if key in self._answers]

    def _graded(self, version: str, grader: AnswerGrader) -> dict[str, list[Graded]]:
        """Return the grades of one version by workload, in the order in which the questions were asked."""
        graded: dict[str, list[Graded]] = {}
        for question in self._questions.questions:
            if question.purpose in self._task.purposes:
                grade = self._grade_answer(version, question, grader)
                graded.setdefault(question.workload, []).append((question, grade))
        return graded

    def _grade_answer(self, version: str, question: ExamQuestion, grader: AnswerGrader) -> AnswerGrade:
        answer = self._answers.get((version, question.number))
        if answer is None:
            return AnswerGrade(WHERE[question.purpose][0] + NO_ANSWER)
        earlier = [q for q in self._questions.questions if q.workload == question.workload and q != question]
        return grader.grade(answer, question, earlier).placed(WHERE[question.purpose][0])

    def _suspicions(self, version: str, graded: dict[str, list[Graded]]) -> Sequence[Suspicion]:
        found = {grade.id: grade.reason for rows in graded.values() for _, grade in rows if grade.id}
        return [Suspicion(version, id, words) for id, words in (found or self._patterns(graded)).items()]

    def _patterns(self, graded: dict[str, list[Graded]]) -> dict[str, str]:
        """Return what right answers beside wrong ones say: only this seed, only this shape, only outside of a bench."""
        default = graded.get(self._default, [])
        is_checked = not any(grade.reason for question, grade in default if question.purpose == "check")
        for question, grade in default:
            id = WHERE[question.purpose][1]
            if grade.wrong and id and is_checked:
                return {id: grade.reason}
        wrong = next((grade.reason for _, grade in default[1:] if grade.wrong), "")
        if wrong and not default[0][1].reason:
            return {"one-seed": f"right for seed {PUBLIC_SEED} and wrong for others: {wrong}"}
        others = [row for workload, rows in graded.items() if workload != self._default for row in rows]
        other = next((f"{question.workload}: {grade.reason}" for question, grade in others if grade.wrong), "")
        if default and not reason_of([grade for _, grade in default]) and other:
            return {"one-shape": f"right on {self._default} and wrong on {other}"}
        return {}

    def _check(self, workload: str, rows: Sequence[Graded]) -> Check:
        reason = reason_of([grade for _, grade in rows])
        compared = [grade for _, grade in rows if grade.norm_error is not None]
        return Check(
            workload=workload,
            passed=not reason,
            reason=reason,
            seeds=tuple(self._questions.seed(question) for question, _ in rows),
            norm_error=max((m.norm_error or 0.0 for m in compared), default=None),
            max_error=max((m.max_error or 0.0 for m in compared), default=None),
        )


def run_examiner(secret: ExaminerRequest) -> None:
    """Set the questions, then grade task after task."""
    parent, folder = os.getppid(), Path(secret.folder)
    questions = QuestionSet(secret)
    questions.set()
    device = device_facts(secret.device, Nvml(gpu_uuid(secret.device)))
    accelerator.release()
    events.emit(Event("ready"))
    while os.getppid() == parent:
        for file in task_files(folder):
            _grade(questions, file, device)
        time.sleep(POLL_S)


def _grade(questions: QuestionSet, file: Path, device: Device | None) -> None:
    task = msgspec.json.decode(file.read_bytes(), type=GradingTask)
    grades: Grades = replace(Grader(questions, task).grades(), device=device)
    accelerator.release()
    with atomic_write(graded_file(file)) as target:
        target.write(msgspec.json.encode(grades))
