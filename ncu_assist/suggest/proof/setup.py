"""What one proof works with: the trial, the exam's plan, and where untrusted programs run."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.drafts import StoredDraft
from ncu_assist.executors.base import Executor
from ncu_assist.executors.local import Local
from ncu_assist.executors.sandbox import Sandbox, sandbox_for
from ncu_assist.harness.exam.plan import Plan, new_plan
from ncu_assist.harness.request import Settings
from ncu_assist.project import Project
from ncu_assist.suggest.drafting import Brief
from ncu_assist.suggest.proof.trial import Trial, make_trial
from ncu_assist.suggest.wish import Proving

NO_SANDBOX = "none"
BUILD = "build"


@dataclass(frozen=True)
class Setup:
    """One proof. ``work`` holds all that it leaves behind outside of the archive."""

    project: Project
    brief: Brief
    stored: StoredDraft
    wish: Proving
    trial: Trial
    plan: Plan
    executor: Executor
    builder: Executor
    work: Path

    @property
    def build_folder(self) -> Path:
        """Where the builder may write: a folder that no draft runs in."""
        return self.work / BUILD

    @property
    def workload(self) -> str:
        """The workload that is timed and profiled."""
        return self.trial.kernel.default_workload.name

    @property
    def sandbox(self) -> str:
        """How the draft is shut in: bwrap, unshare, or none."""
        return self.executor.runner or "" if isinstance(self.executor, Sandbox) else NO_SANDBOX


@contextmanager
def setup(project: Project, brief: Brief, stored: StoredDraft, wish: Proving) -> Iterator[Setup]:
    """Make what a proof works with, and remove it afterwards.

    Raises EnvironmentProblem where drafts cannot be shut in, UsageProblem for a draft that fits no version's name.
    """
    folder = project.work / "proofs"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="proof-", ignore_cleanup_errors=True) as name:
        work = Path(name).resolve()
        trial = make_trial(brief, stored, work / "trial")
        known = project.settings
        settings = Settings((), known.check_trials, rounds=wish.rounds or known.rounds, device=wish.device)
        plan = new_plan(trial.kernel, trial.parent, trial.draft, settings, project.work)
        executor, builder = (_executor(project, plan, wish, folder) for folder in (plan.folders.writable, work / BUILD))
        (work / BUILD).mkdir()
        try:
            yield Setup(project, brief, stored, wish, trial, plan, executor, builder, work)
        finally:
            shutil.rmtree(plan.folders.root, ignore_errors=True)


def _executor(project: Project, plan: Plan, wish: Proving, writable: Path) -> Executor:
    if not wish.sandboxed:
        return Local()
    return sandbox_for(project.root, (writable,), (plan.folders.readable,))
