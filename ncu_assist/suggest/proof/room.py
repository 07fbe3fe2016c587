"""Where one proof happens: folders, executors, and an exam whose processes start before there is a draft."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.executors.base import Executor
from ncu_assist.executors.local import Local
from ncu_assist.executors.sandbox import Sandbox, remove, sandbox_for
from ncu_assist.harness.exam.answering_process import Limits
from ncu_assist.harness.exam.client import Exam
from ncu_assist.harness.exam.folders import Folders
from ncu_assist.harness.exam.plan import new_folders
from ncu_assist.project import Project
from ncu_assist.suggest.wish import Proving

NO_SANDBOX = "none"
BUILD = "build"
EXAM_S = 300.0  # check and bench of a draft: seconds together, unless it hangs


@dataclass(frozen=True)
class Room:
    """What one proof works in. ``work`` holds what it leaves behind outside of the archive; ``builder`` has no GPU."""

    project: Project
    wish: Proving
    work: Path
    folders: Folders
    executor: Executor
    builder: Executor
    exam: Exam

    @property
    def build_folder(self) -> Path:
        """Where the builder may write: a folder that no draft runs in."""
        return self.work / BUILD

    @property
    def limits(self) -> Limits:
        """How long the answers of a draft may take."""
        return Limits(self.project.settings.version_timeout_s, EXAM_S)

    @property
    def sandbox(self) -> str:
        """How a draft is shut in: bwrap, unshare, or none."""
        return self.executor.runner or "" if isinstance(self.executor, Sandbox) else NO_SANDBOX


@contextmanager
def opened(project: Project, wish: Proving) -> Iterator[Room]:
    """Start the processes of an exam, which import torch while there is other work to do; all is gone afterwards.

    Raises EnvironmentProblem where drafts cannot be shut in.
    """
    parent = project.work / "proofs"
    parent.mkdir(parents=True, exist_ok=True)
    folders = new_folders(project.work)
    try:
        with (
            tempfile.TemporaryDirectory(dir=parent, prefix="proof-", ignore_cleanup_errors=True) as name,
            Exam(folders, wish.device) as exam,
        ):
            work = Path(name).resolve()
            (work / BUILD).mkdir()
            executor, builder = (_executor(project, folders, wish, one) for one in (folders.writable, work / BUILD))
            room = Room(project, wish, work, folders, executor, builder, exam)
            exam.open(executor, room.limits)
            yield room
    finally:
        remove(folders.root)


def _executor(project: Project, folders: Folders, wish: Proving, writable: Path) -> Executor:
    if not wish.sandboxed:
        return Local()
    return sandbox_for(project.root, (writable,), (folders.readable,))
