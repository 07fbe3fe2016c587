"""Profiling a draft beside its parent, ncu and all inside the executor; what the calls gave is graded too."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.executors.base import Executor
from ncu_assist.harness.exam.blame import Story
from ncu_assist.harness.exam.client import Exam, Examined, command
from ncu_assist.harness.exam.plan import Plan
from ncu_assist.ncu.command import ProfileOptions
from ncu_assist.pipeline.ncu_stage import Limits, NcuStage
from ncu_assist.pipeline.profiling import VersionCapture, split
from ncu_assist.pipeline.progress import Expected, RangeWatch
from ncu_assist.pipeline.reporter import Reporter

FOLDER = "ncu"  # below the folder that can be written to


@dataclass(frozen=True)
class Profiled:
    """The captures by version, of those that launched something, and the graded answers of the profiled calls."""

    captures: dict[str, VersionCapture]
    examined: Examined


@dataclass(frozen=True)
class Profiler:
    """How the versions of an exam are profiled: where, with which sections, how long, how many launches of a call."""

    executor: Executor
    options: ProfileOptions
    limits: Limits
    max_launches: int
    reporter: Reporter

    def profile(self, exam: Exam) -> Profiled:
        """Profile the default workload. Raises StageFailed or EnvironmentProblem when ncu or the draft fails."""
        plan = exam.plan
        paper, story = exam.profile_paper(), Story(plan.draft)
        watch = RangeWatch(dict.fromkeys(plan.versions, Expected()), self.max_launches, self.reporter)

        def line(text: str) -> None:
            story.line(text)
            watch.line(text)

        capture = self._stage(plan).run(command(paper), line, watch.launch)
        return Profiled(split(capture), exam.grade(paper, story))

    def _stage(self, plan: Plan) -> NcuStage:
        folder = plan.folders.writable / FOLDER
        folder.mkdir(mode=0o700)
        work = Path(os.path.relpath(folder, plan.folders.readable))
        return NcuStage(plan.folders.readable, work, self.executor, self.options, self.limits)
