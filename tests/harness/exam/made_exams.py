"""Exams for tests: of a draft of add_one, in this process or in processes of their own."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from kernel_folder import TOML
from patience import CEILING_S
from planted import PYTHON, write_planted

from ncu_assist.backends import build_versions
from ncu_assist.executors.base import Executor
from ncu_assist.harness.client import TimeLimits
from ncu_assist.harness.exam.client import EventSummary, Exam, Examined
from ncu_assist.harness.exam.plan import ExamPlan, new_exam_plan
from ncu_assist.harness.request import HarnessSettings, Stage
from ncu_assist.spec_file import read_kernel

SETTINGS = HarnessSettings(stages=(), rounds=8, repeats=1, device="cpu")
LIMITS = TimeLimits(silence_s=CEILING_S, total_s=2 * CEILING_S)
# two more shapes, so that there is a choice
SHAPES = '[workloads.{name}]\nn = {n}\ndtype = "float32"\n'
LARGER = TOML + "\n".join(SHAPES.format(name=f"n{n}", n=n) for n in (7, 4096))


def plan_of(root: Path, draft: str, settings: HarnessSettings = SETTINGS, toml: str = TOML) -> ExamPlan:
    """Plan an exam of the source of a draft beside a right parent."""
    folder = write_planted(root, {"v0_right.py": PYTHON["v0_right.py"], "v1_draft.py": draft})
    (folder / "kernel.toml").write_text(toml)
    kernel = read_kernel(folder)
    return new_exam_plan(kernel, kernel.versions, settings, root / "work")


def in_processes(
    plan: ExamPlan,
    root: Path,
    stages: tuple[Stage, ...] = ("check", "bench"),
    limits: TimeLimits = LIMITS,
    executor: Executor | None = None,
) -> Examined:
    """Hold an exam as it is held, but without a sandbox unless one is given."""
    from ncu_assist.executors.local import Local

    with Exam.of(plan) as exam:
        build = partial(build_versions, plan.kernel, plan.kernel.versions, root / "work")
        where = executor or Local(root / "locks")
        return exam.measure(build, where, lambda event: None, limits, stages)


def in_this_process(plan: ExamPlan, root: Path, stages: tuple[Stage, ...] = ("check", "bench")) -> Examined:
    """Hold an exam without starting anything, which saves importing torch twice; for drafts that only compute."""
    from dataclasses import replace

    from ncu_assist.harness.exam import answering as sandboxed
    from ncu_assist.harness.exam.client import PURPOSES, collect_results
    from ncu_assist.harness.exam.examiner import Grader, QuestionSet
    from ncu_assist.harness.exam.plan import GradingTask

    questions = QuestionSet(plan.secret)
    if not list(plan.folders.questions.iterdir()):
        questions.set()
    plan.deliver(build_versions(plan.kernel, plan.kernel.versions, root / "work"))
    exam_request = plan.write_request("-".join(stages), stages)
    sandboxed.run_stages(*sandboxed.prepare(exam_request))
    measured, answers, seen = collect_results(plan, exam_request, EventSummary(plan.draft), None)
    purposes = tuple(PURPOSES[stage] for stage in stages)
    grades = Grader(
        questions, GradingTask("here", purposes, exam_request.examined, answers, exam_request.request.out)
    ).grades()
    return Examined(replace(measured, checks=grades.checks), (*seen, *grades.suspicions))
