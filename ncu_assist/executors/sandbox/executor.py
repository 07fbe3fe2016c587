"""Runs one program so that it can hurt nothing: it sees little, writes to its job folders alone, and leaves nobody."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ncu_assist.errors import EnvironmentProblem
from ncu_assist.executors.local import Local
from ncu_assist.executors.sandbox.environment import scrubbed
from ncu_assist.executors.sandbox.identity import identity
from ncu_assist.executors.sandbox.limits import Limits
from ncu_assist.executors.sandbox.orders import FAILED, MARK
from ncu_assist.executors.sandbox.ownership import check_readable, lent
from ncu_assist.executors.sandbox.places import Places, homes, software
from ncu_assist.executors.sandbox.plan import Plan, mounts
from ncu_assist.executors.sandbox.runners import INSTALL_HINT, choose_runner, command_line
from ncu_assist.executors.sandbox.tree import sweep
from ncu_assist.executors.sandbox.watch import GrowthWatch
from ncu_assist.process import Completed


@dataclass(frozen=True)
class Sandbox:
    """Where untrusted programs run. Paths are the same inside and outside.

    ``places`` names the job folders that can be written to, further folders to read, and what stays hidden where
    those would show it. ``runner`` None: the best that works here. ``local`` holds the GPU for the program. ``keep``
    names variables that survive the scrubbing of the environment.
    """

    places: Places
    limits: Limits = field(default_factory=Limits)
    runner: str | None = None
    local: Local = field(default_factory=Local)
    keep: tuple[str, ...] = ()
    name: str = "sandbox"

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout_s: float | None = None,
        on_line: Callable[[str], None] | None = None,
        is_stuck: Callable[[], bool] | None = None,
    ) -> Completed:
        """Run a program as ``Local`` does, but shut in; ``timed_out`` also tells that ``limits.seconds`` were over.

        Of what it leaves in the writable folders, only folders and regular files stay.

        Raises Overflow, a StageFailed, when it was ended for writing too much, and EnvironmentProblem where no
        sandbox can be built or the program cannot be started in it.
        """
        env = os.environ if env is None else env
        plan = self.plan(cwd or Path.cwd(), env)
        folders = self.places.writable
        check_readable(self.places.readable, plan.identity.uid)
        with lent(folders, plan.identity.uid):
            watch = GrowthWatch(folders, self.limits, is_stuck)
            try:
                done = replace(self.local, command=" ".join(argv)).run(
                    command_line(self.runner or choose_runner(), plan, argv),
                    env=scrubbed(env, folders, self.keep),
                    cwd=Path("/"),
                    timeout_s=min(self.limits.seconds, timeout_s or self.limits.seconds),
                    on_line=on_line,
                    is_stuck=watch.is_stuck,
                )
            finally:
                sweep(folders, self.places.readable)
            if not done.timed_out:
                watch.check()
        return _as_seen(done, argv)

    def plan(self, cwd: Path, env: Mapping[str, str]) -> Plan:
        """Return what a program started in ``cwd`` would see and be, without running it."""
        seen = mounts(self.places, software(env), cwd, self.limits)
        return Plan(seen, cwd, identity(), self.limits)


def sandbox_for(
    project: Path, writable: tuple[Path, ...], readable: tuple[Path, ...] = (), limits: Limits | None = None
) -> Sandbox:
    """Return the sandbox for the drafts of a project: of the project it shows only the folders that are named.

    Raises EnvironmentProblem where no sandbox can be built.
    """
    hidden = tuple(dict.fromkeys((project, project.resolve(), *homes())))
    return Sandbox(Places(writable, readable, hidden), limits or Limits(), choose_runner())


def _as_seen(done: Completed, argv: Sequence[str]) -> Completed:
    """Return how the program itself ended: walls pass a signal on as 128 + its number."""
    words = done.stderr.strip()
    if (done.exit_code == FAILED and MARK in words) or (done.exit_code == 1 and words.startswith("bwrap: ")):
        raise EnvironmentProblem(words.splitlines()[-1], INSTALL_HINT)
    number = done.exit_code - 128
    code = -number if number in {int(known) for known in signal.valid_signals()} else done.exit_code
    return replace(done, argv=tuple(argv), exit_code=code)
