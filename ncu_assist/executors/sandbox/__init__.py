"""Runs untrusted programs where they can hurt nothing, and reads what they leave.

A program in it sees little, writes to its job folders alone, and leaves nobody.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Unpack

from ncu_assist.errors import EnvironmentProblem
from ncu_assist.executors.local import Local
from ncu_assist.executors.sandbox.folders import (
    GrowthWatch,
    check_readable,
    lent,
    open_regular,
    read_result,
    remove,
    sweep,
)
from ncu_assist.executors.sandbox.plan import (
    FAILED,
    INSTALL_HINT,
    MARK,
    FolderAccess,
    LimitExceeded,
    SandboxLimits,
    SandboxPlan,
    available,
    choose_runner,
    command_line,
    homes,
    mounts,
    sandbox_user,
    scrubbed,
    software,
)
from ncu_assist.process import Completed, RunOptions

__all__ = [
    "FolderAccess",
    "LimitExceeded",
    "Sandbox",
    "SandboxLimits",
    "available",
    "choose_runner",
    "open_regular",
    "read_result",
    "remove",
    "sandbox_for",
]


@dataclass(frozen=True)
class Sandbox:
    """Where untrusted programs run. Paths are the same inside and outside.

    ``places`` names the job folders that can be written to, further folders to read, and what stays hidden where
    those would show it. ``runner`` None: the best that works here. ``local`` holds the GPU for the program. ``keep``
    names variables that survive the scrubbing of the environment.
    """

    places: FolderAccess
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    runner: str | None = None
    local: Local = field(default_factory=Local)
    keep: tuple[str, ...] = ()
    name: str = "sandbox"

    def run(self, argv: Sequence[str], **options: Unpack[RunOptions]) -> Completed:
        """Run a program as ``Local`` does, but shut in; ``timed_out`` also tells that ``limits.seconds`` were over.

        Of what it leaves in the writable folders, only folders and regular files stay.

        Raises LimitExceeded, a StageFailed, when it was ended for writing too much, and EnvironmentProblem where no
        sandbox can be built or the program cannot be started in it.
        """
        given = options.get("env")
        env = os.environ if given is None else given
        plan = self.plan(options.get("cwd") or Path.cwd(), env)
        folders = self.places.writable
        check_readable(self.places.readable, plan.uid)
        with lent(folders, plan.uid):
            watch = GrowthWatch(folders, self.limits, options.get("is_stuck"))
            try:
                done = replace(self.local, command=" ".join(argv)).run(
                    command_line(self.runner or choose_runner(), plan, argv),
                    env=scrubbed(env, folders, self.keep),
                    cwd=Path("/"),
                    timeout_s=min(self.limits.seconds, options.get("timeout_s") or self.limits.seconds),
                    on_line=options.get("on_line"),
                    is_stuck=watch.is_stuck,
                )
            finally:
                sweep(folders, self.places.readable)
            if not done.timed_out:
                watch.check()
        return _as_seen(done, argv)

    def plan(self, cwd: Path, env: Mapping[str, str]) -> SandboxPlan:
        """Return what a program started in ``cwd`` would see and be, without running it."""
        seen = mounts(self.places, software(env), cwd, self.limits)
        return SandboxPlan(seen, cwd, *sandbox_user(), self.limits)


def sandbox_for(project: Path, writable: tuple[Path, ...], readable: tuple[Path, ...] = ()) -> Sandbox:
    """Return the sandbox for the drafts of a project: of the project it shows only the folders that are named.

    Raises EnvironmentProblem where no sandbox can be built.
    """
    hidden = tuple(dict.fromkeys((project, project.resolve(), *homes())))
    return Sandbox(FolderAccess(writable, readable, hidden), SandboxLimits(), choose_runner())


def _as_seen(done: Completed, argv: Sequence[str]) -> Completed:
    """Return how the program itself ended: walls pass a signal on as 128 + its number."""
    words = done.stderr.strip()
    if (done.exit_code == FAILED and MARK in words) or (done.exit_code == 1 and words.startswith("bwrap: ")):
        raise EnvironmentProblem(words.splitlines()[-1], INSTALL_HINT)
    number = done.exit_code - 128
    code = -number if number in {int(known) for known in signal.valid_signals()} else done.exit_code
    return replace(done, argv=tuple(argv), exit_code=code)
