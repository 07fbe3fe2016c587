"""Where one proof happens: folders, executors, the kernel with parent and draft, and the exam planned for them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.executors.base import Executor
from ncu_assist.executors.local import Local
from ncu_assist.executors.sandbox import Sandbox, remove, sandbox_for
from ncu_assist.harness.exam.client import Exam
from ncu_assist.harness.exam.plan import ExamPlan, new_exam_folders, new_exam_plan
from ncu_assist.harness.exam.processes import AnsweringLimits
from ncu_assist.harness.exam.request import ExamFolders
from ncu_assist.harness.request import HarnessSettings
from ncu_assist.project import Project
from ncu_assist.spec import Kernel
from ncu_assist.store.drafts import StoredDraft
from ncu_assist.suggest.drafting import DraftTask
from ncu_assist.suggest.proof.building import NO_SANDBOX, DraftSource, make_trial
from ncu_assist.suggest.request import ProofOptions

EXAM_S = 300.0  # check and bench of a draft: seconds together, unless it hangs


@dataclass(frozen=True)
class ProofWorkspace:
    """What one proof works in. ``work`` holds what it leaves behind outside of the archive."""

    project: Project
    options: ProofOptions
    work: Path
    folders: ExamFolders
    executor: Executor
    exam: Exam

    @property
    def limits(self) -> AnsweringLimits:
        """How long the answers of a draft may take."""
        return AnsweringLimits(self.project.settings.version_timeout_s, EXAM_S)

    @property
    def sandbox(self) -> str:
        """How a draft is shut in: bwrap, unshare, or none."""
        return self.executor.runner or "" if isinstance(self.executor, Sandbox) else NO_SANDBOX


@contextmanager
def open_workspace(project: Project, options: ProofOptions) -> Iterator[ProofWorkspace]:
    """Start the processes of an exam, which import torch while there is other work to do; all is gone afterwards.

    Raises EnvironmentProblem where drafts cannot be shut in.
    """
    parent = project.work / "proofs"
    parent.mkdir(parents=True, exist_ok=True)
    folders = new_exam_folders(project.work)
    try:
        with (
            tempfile.TemporaryDirectory(dir=parent, prefix="proof-", ignore_cleanup_errors=True) as name,
            Exam(folders, options.device) as exam,
        ):
            work = Path(name).resolve()
            executor = _executor(project, folders, options)
            workspace = ProofWorkspace(project, options, work, folders, executor, exam)
            exam.open(executor, workspace.limits)
            yield workspace
    finally:
        remove(folders.root)


def _executor(project: Project, folders: ExamFolders, options: ProofOptions) -> Executor:
    if not options.sandboxed:
        return Local()
    return sandbox_for(project.root, (folders.writable,), (folders.readable,))


def set_up(workspace: ProofWorkspace, task: DraftTask, stored: StoredDraft) -> tuple[Kernel, ExamPlan]:
    """Write the kernel of a proof into its workspace and plan the exam: from now on its questions are set.

    Raises UsageProblem for a draft that fits no version's name, DamagedData for files that were changed.
    """
    kernel, versions = make_trial(task.kernel, task.parent, DraftSource.of(stored), workspace.work / "trial")
    known, options = workspace.project.settings, workspace.options
    settings = HarnessSettings((), known.check_trials, rounds=options.rounds or known.rounds, device=options.device)
    plan = new_exam_plan(kernel, versions, settings, workspace.project.work, workspace.folders)
    workspace.exam.plan = plan
    return kernel, plan
