"""Where one proof happens: folders, executors, the kernel with parent and draft, and the exam planned for them."""

from __future__ import annotations

import shutil
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
from ncu_assist.spec import Kernel, Version
from ncu_assist.spec_file import FILE, read_kernel
from ncu_assist.store.drafts import StoredDraft, source_name
from ncu_assist.suggest.drafting import DraftTask
from ncu_assist.suggest.request import ProofOptions

NO_SANDBOX = "none"
BUILD = "build"
EXAM_S = 300.0  # check and bench of a draft: seconds together, unless it hangs


@dataclass(frozen=True)
class ProofWorkspace:
    """What one proof works in. ``work`` holds what it leaves behind outside of the archive; ``builder`` has no GPU."""

    project: Project
    options: ProofOptions
    work: Path
    folders: ExamFolders
    executor: Executor
    builder: Executor
    exam: Exam

    @property
    def build_folder(self) -> Path:
        """Where the builder may write: a folder that no draft runs in."""
        return self.work / BUILD

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
            (work / BUILD).mkdir()
            executor, builder = (_executor(project, folders, options, one) for one in (folders.writable, work / BUILD))
            workspace = ProofWorkspace(project, options, work, folders, executor, builder, exam)
            exam.open(executor, workspace.limits)
            yield workspace
    finally:
        remove(folders.root)


def _executor(project: Project, folders: ExamFolders, options: ProofOptions, writable: Path) -> Executor:
    if not options.sandboxed:
        return Local()
    return sandbox_for(project.root, (writable,), (folders.readable,))


def set_up(workspace: ProofWorkspace, task: DraftTask, stored: StoredDraft) -> tuple[Kernel, ExamPlan]:
    """Write the kernel of a proof into its workspace and plan the exam: from now on its questions are set.

    Raises UsageProblem for a draft that fits no version's name, DamagedData for files that were changed.
    """
    kernel, versions = make_trial(task, stored, workspace.work / "trial")
    known, options = workspace.project.settings, workspace.options
    settings = HarnessSettings((), known.check_trials, rounds=options.rounds or known.rounds, device=options.device)
    plan = new_exam_plan(kernel, versions, settings, workspace.project.work, workspace.folders)
    workspace.exam.plan = plan
    return kernel, plan


def make_trial(task: DraftTask, stored: StoredDraft, root: Path) -> tuple[Kernel, tuple[Version, Version]]:
    """Write ``root``/kernels/<kernel> and return it with parent and draft, which is named as the next version would be.

    kernel.toml and reference are as they are, the parent as it was. Raises DamagedData for a draft or a run whose files
    were changed, OSError where the disk refuses.
    """
    assert stored.draft.claim is not None
    name = f"v{max(version.number for version in task.kernel.versions) + 1}_{stored.draft.claim.slug}"
    folder = root / "kernels" / task.kernel.name
    folder.mkdir(parents=True)
    for file in (FILE, task.kernel.reference.name):
        shutil.copyfile(task.kernel.folder / file, folder / file)
    for file, text in task.parent.source_texts().items():
        if file not in (FILE, task.kernel.reference.name):
            (folder / file).write_text(text, encoding="utf-8", newline="")
    (folder / f"{name}{stored.draft.suffix}").write_bytes(stored.read(source_name(stored.draft.suffix)))
    kernel = read_kernel(folder)
    return kernel, (kernel.version(task.parent.run.version), kernel.version(name))
