"""Profiling a draft beside its parent, and what a proof measured as runs, beside the draft and in the archive."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ncu_assist.harness.exam.client import EventSummary, Examined, command
from ncu_assist.harness.exam.plan import ExamPlan
from ncu_assist.ncu.command import ProfileOptions
from ncu_assist.pipeline.archiving import Measurement, VersionResult, save
from ncu_assist.pipeline.ncu_stage import NcuLimits, NcuStage
from ncu_assist.pipeline.profiling import ExpectedLaunches, RangeWatch, VersionCapture, split
from ncu_assist.pipeline.reporter import Reporter
from ncu_assist.spec import Kernel
from ncu_assist.store import Store, StoredRun
from ncu_assist.suggest.proof.building import BuiltDraft
from ncu_assist.suggest.proof.workspace import ProofWorkspace

NCU_FOLDER = "ncu"  # below the folder that can be written to
RunPair = tuple[StoredRun, StoredRun]  # parent and draft


def profile(workspace: ProofWorkspace, reporter: Reporter) -> tuple[dict[str, VersionCapture], Examined]:
    """Profile the default workload of the exam in a workspace.

    Return the captures by version, of those that launched something, and the graded answers of the profiled calls.
    Raises StageFailed or EnvironmentProblem when ncu or the draft fails.
    """
    exam, settings = workspace.exam, workspace.project.settings
    plan, exam_request, summary = exam.plan, exam.profile_request(), EventSummary(exam.plan.draft)
    watch = RangeWatch(dict.fromkeys(plan.versions, ExpectedLaunches()), settings.max_launches, reporter)

    def line(text: str) -> None:
        summary.line(text)
        watch.line(text)

    folder = plan.folders.writable / NCU_FOLDER
    folder.mkdir(mode=0o700)
    work = Path(os.path.relpath(folder, plan.folders.readable))
    limits = NcuLimits(settings.profile_timeout_s, settings.version_timeout_s)
    stage = NcuStage(plan.folders.readable, work, workspace.executor, ProfileOptions(), limits)
    capture = stage.run(command(exam_request), line, watch.launch)
    return split(capture), exam.grade(exam_request, summary)


@dataclass(frozen=True)
class ProofMeasurement:
    """What was measured: the exam's times and facts, the build of both, and the captures once there are some.

    ``kernel`` is the one of the proof, with its reference; that of the ``plan`` is sealed.
    """

    kernel: Kernel
    plan: ExamPlan
    examined: Examined
    build: BuiltDraft
    captures: Mapping[str, VersionCapture]


def save_runs(measurement: ProofMeasurement, store: Store, id: str) -> RunPair:
    """Save parent and draft as runs of one bench and return them."""
    shared = _shared(measurement, f"ncu-assist suggest prove {id}")
    both = (measurement.plan.parent, measurement.plan.draft)
    parent, draft = (save(store, shared, _version_result(measurement, name)) for name in both)
    return parent, draft


def _version_result(measurement: ProofMeasurement, name: str) -> VersionResult:
    checks = measurement.examined.measured.checks.get(name, ())
    log = measurement.build.log_of(name)
    notes = ("measured in a proof of a draft, beside it",) if name == measurement.plan.parent else ()
    return VersionResult(measurement.kernel.version(name), log, checks, measurement.captures.get(name), notes)


def _shared(measurement: ProofMeasurement, command: str) -> Measurement:
    measured, kernel = measurement.examined.measured, measurement.kernel
    examined = {check.workload for checks in measured.checks.values() for check in checks}
    examined.add(kernel.default_workload.name)
    return Measurement(
        kernel=kernel,
        workloads=tuple(w for w in kernel.workloads if w.name in examined),
        moment=datetime.now(UTC),
        device=measured.device,
        toolchain=measured.toolchain,
        bench=measured.bench,
        samples=measured.samples,
        options=ProfileOptions() if measurement.captures else None,
        command=command,
    )
