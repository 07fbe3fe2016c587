"""Profiling a draft beside its parent, and what a proof measured as runs, beside the draft and in the archive."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ncu_assist.backends.base import BuildOutcome
from ncu_assist.executors.base import Executor
from ncu_assist.harness.exam.client import Exam, Examined, command
from ncu_assist.harness.exam.collecting import EventSummary
from ncu_assist.harness.exam.plan import ExamPlan
from ncu_assist.ncu.command import ProfileOptions
from ncu_assist.pipeline.archiving import Measurement, VersionResult, save
from ncu_assist.pipeline.ncu_stage import NcuLimits, NcuStage
from ncu_assist.pipeline.profiling import ExpectedLaunches, RangeWatch, VersionCapture, split
from ncu_assist.pipeline.reporter import Reporter
from ncu_assist.record import Bench
from ncu_assist.store import Store, StoredRun
from ncu_assist.suggest.proof.workspace import TrialKernel

NCU_FOLDER = "ncu"  # below the folder that can be written to
RunPair = tuple[StoredRun, StoredRun]  # parent and draft


@dataclass(frozen=True)
class ProfiledExam:
    """The captures by version, of those that launched something, and the graded answers of the profiled calls."""

    captures: dict[str, VersionCapture]
    examined: Examined


@dataclass(frozen=True)
class DraftProfiler:
    """How the versions of an exam are profiled: where, with which sections, how long, how many launches of a call."""

    executor: Executor
    options: ProfileOptions
    limits: NcuLimits
    max_launches: int
    reporter: Reporter

    def profile(self, exam: Exam) -> ProfiledExam:
        """Profile the default workload. Raises StageFailed or EnvironmentProblem when ncu or the draft fails."""
        plan = exam.plan
        exam_request, summary = exam.profile_request(), EventSummary(plan.draft)
        watch = RangeWatch(dict.fromkeys(plan.versions, ExpectedLaunches()), self.max_launches, self.reporter)

        def line(text: str) -> None:
            summary.line(text)
            watch.line(text)

        capture = self._stage(plan).run(command(exam_request), line, watch.launch)
        return ProfiledExam(split(capture), exam.grade(exam_request, summary))

    def _stage(self, plan: ExamPlan) -> NcuStage:
        folder = plan.folders.writable / NCU_FOLDER
        folder.mkdir(mode=0o700)
        work = Path(os.path.relpath(folder, plan.folders.readable))
        return NcuStage(plan.folders.readable, work, self.executor, self.options, self.limits)


@dataclass(frozen=True)
class ProofMeasurement:
    """What was measured: the exam's times and facts, the builds, and the captures once there are some."""

    trial: TrialKernel
    examined: Examined
    builds: Mapping[str, BuildOutcome]
    captures: Mapping[str, VersionCapture]
    options: ProfileOptions
    built_in: Path


def save_runs(measurement: ProofMeasurement, store: Store, id: str) -> RunPair:
    """Save parent and draft as runs of one bench and return them."""
    shared = _shared(measurement, f"ncu-assist suggest prove {id}")
    both = (measurement.trial.parent, measurement.trial.draft)
    parent, draft = (save(store, shared, _version_result(measurement, one.name)) for one in both)
    return parent, draft


def _version_result(measurement: ProofMeasurement, name: str) -> VersionResult:
    measured, version = measurement.examined.measured, measurement.trial.kernel.version(name)
    log = log_of(measurement.builds[name], measurement.built_in)
    checks = measured.checks.get(name, ())
    notes = ("measured in a proof of a draft, beside it",) if name == measurement.trial.parent.name else ()
    return VersionResult(version, log, checks, measurement.captures.get(name), notes)


def _shared(measurement: ProofMeasurement, command: str) -> Measurement:
    measured, kernel = measurement.examined.measured, measurement.trial.kernel
    facts = measured.bench
    bench = None
    if facts is not None:
        bench = Bench(facts.bench_id, facts.flush, facts.rounds, facts.temperature_c, facts.throttle_reasons, ())
    return Measurement(
        kernel=kernel,
        workloads=tuple(w for w in kernel.workloads if w.name in _workloads(measurement)),
        moment=datetime.now(UTC),
        device=measured.device,
        toolchain=measured.toolchain,
        bench=bench,
        samples=measured.samples,
        options=measurement.options if measurement.captures else None,
        command=command,
    )


def _workloads(measurement: ProofMeasurement) -> set[str]:
    checked = {check.workload for checks in measurement.examined.measured.checks.values() for check in checks}
    return {measurement.trial.kernel.default_workload.name, *checked}


def log_of(outcome: BuildOutcome, work: Path) -> str:
    """Return a compiler's words without the folder that the draft was built in."""
    return outcome.log.replace(f"{work}/", "")
