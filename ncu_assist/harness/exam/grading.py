"""The trusted side grades answers with the reference, and says what a wrong one shows. Runs in a trusted child."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.harness.exam.marking import Mark, Marker, reason_of
from ncu_assist.harness.exam.paper import PUBLIC_SEED, Answer, Grades, Purpose, Question, Suspicion
from ncu_assist.harness.exam.raw import CROSSINGS
from ncu_assist.harness.exam.setting import Questions
from ncu_assist.harness.exam.task import Task
from ncu_assist.record import Check

# What a question was asked for, in front of what is wrong with its answer, and the id of being wrong only there.
WHERE: dict[Purpose, tuple[str, str]] = {
    "check": ("", ""),
    "bench": ("in the last timed call: ", "timed"),
    "profile": ("in the profiled call: ", "profiler"),
}
NO_ANSWER = "no answer came"


@dataclass(frozen=True)
class Marked:
    """A question and what its answer is worth."""

    question: Question
    mark: Mark


class Grader:
    """Grades the answers of one task."""

    def __init__(self, questions: Questions, task: Task) -> None:
        self._questions, self._task = questions, task
        self._default = questions.kernel.default_workload.name
        self._answers = {(a.version, a.question): a for a in task.answers}

    def grades(self) -> Grades:
        """Return the checks and suspicions of all versions."""
        checks, suspicions = {}, []
        with ThreadPoolExecutor(CROSSINGS) as pool:
            marker = Marker(self._questions, Path(self._task.out), self._wanted(), pool)
            for version in self._task.examined:
                marked = self._marked(version, marker)
                checks[version] = tuple(self._check(workload, rows) for workload, rows in marked.items())
                suspicions += list(self._suspicions(version, marked))
        return Grades(checks, tuple(suspicions))

    def _wanted(self) -> list[Answer]:
        """Return the answers to questions that were asked: what came may claim anything."""
        asked = [one.number for one in self._questions.asked if one.purpose in self._task.purposes]
        keys = ((version, number) for version in self._task.examined for number in asked)
        return [self._answers[key] for key in keys if key in self._answers]

    def _marked(self, version: str, marker: Marker) -> dict[str, list[Marked]]:
        """Return the marks of one version by workload, in the order in which the questions were asked."""
        marked: dict[str, list[Marked]] = {}
        for question in self._questions.asked:
            if question.purpose in self._task.purposes:
                mark = self._mark(version, question, marker)
                marked.setdefault(question.workload, []).append(Marked(question, mark))
        return marked

    def _mark(self, version: str, question: Question, marker: Marker) -> Mark:
        answer = self._answers.get((version, question.number))
        if answer is None:
            return Mark(WHERE[question.purpose][0] + NO_ANSWER)
        earlier = [q for q in self._questions.asked if q.workload == question.workload and q != question]
        return marker.mark(answer, question, earlier).placed(WHERE[question.purpose][0])

    def _suspicions(self, version: str, marked: dict[str, list[Marked]]) -> Sequence[Suspicion]:
        found = {m.mark.id: m.mark.reason for rows in marked.values() for m in rows if m.mark.id}
        return [Suspicion(version, id, words) for id, words in (found or self._patterns(marked)).items()]

    def _patterns(self, marked: dict[str, list[Marked]]) -> dict[str, str]:
        """Return what right answers beside wrong ones say: only this seed, only this shape, only outside of a bench."""
        default = marked.get(self._default, [])
        first, rest = default[:1], default[1:]
        for row in default:
            id = WHERE[row.question.purpose][1]
            if row.mark.wrong and id and all(not m.mark.reason for m in default if m.question.purpose == "check"):
                return {id: row.mark.reason}
        wrong = next((m.mark.reason for m in rest if m.mark.wrong), "")
        if first and not first[0].mark.reason and wrong:
            return {"one-seed": f"right for seed {PUBLIC_SEED} and wrong for others: {wrong}"}
        others = [m for workload, rows in marked.items() if workload != self._default for m in rows]
        other = next((f"{m.question.workload}: {m.mark.reason}" for m in others if m.mark.wrong), "")
        if default and not reason_of([m.mark for m in default]) and other:
            return {"one-shape": f"right on {self._default} and wrong on {other}"}
        return {}

    def _check(self, workload: str, rows: Sequence[Marked]) -> Check:
        reason = reason_of([row.mark for row in rows])
        compared = [row.mark for row in rows if row.mark.norm_error is not None]
        return Check(
            workload=workload,
            passed=not reason,
            reason=reason,
            seeds=tuple(self._questions.seed(row.question) for row in rows),
            norm_error=max((m.norm_error or 0.0 for m in compared), default=None),
            max_error=max((m.max_error or 0.0 for m in compared), default=None),
        )
