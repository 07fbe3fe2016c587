"""The ways to build a sandbox, and which of them works on this machine."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from ncu_assist import process
from ncu_assist.errors import EnvironmentProblem, NcuAssistError
from ncu_assist.executors.sandbox import bwrap, unshare
from ncu_assist.executors.sandbox.environment import scrubbed
from ncu_assist.executors.sandbox.identity import identity
from ncu_assist.executors.sandbox.limits import Limits
from ncu_assist.executors.sandbox.places import Places, homes, software
from ncu_assist.executors.sandbox.plan import Plan, mounts

Runner = Callable[[Plan, Sequence[str]], list[str]]
RUNNERS: dict[str, Runner] = {"bwrap": bwrap.argv, "unshare": unshare.argv}  # the first that works is taken
INSTALL_HINT = "apt install bubblewrap (or your system's package of it); or, at your own risk, --no-sandbox"
PROBE_TIMEOUT_S = 20.0
# SIGINT is for the program, which may keep what is finished; its walls must outlast it
KEEP_STANDING = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")


def available() -> str:
    """Return the name of the runner that will be used, or why there is none."""
    try:
        return choose_runner()
    except EnvironmentProblem as problem:
        return problem.message


def choose_runner() -> str:
    """Return the name of the first runner that works here; raises EnvironmentProblem with the reasons if none does."""
    reasons = {}
    for name in RUNNERS:
        reasons[name] = why_not(name)
        if not reasons[name]:
            return name
    words = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    raise EnvironmentProblem(f"untrusted code cannot be shut in here ({words})", INSTALL_HINT)


@functools.cache
def why_not(name: str) -> str:
    """Return why a runner does not work on this machine, found out once by using it; empty if it works."""
    if shutil.which(name) is None:
        return "not installed"
    folder = Path("/")
    try:
        seen = mounts(Places((), (), homes()), software(os.environ), folder, Limits())
        plan = Plan(seen, folder, identity(), Limits())
        done = process.run(
            command_line(name, plan, ["true"]), env=scrubbed(os.environ, ()), cwd=folder, timeout_s=PROBE_TIMEOUT_S
        )
    except (NcuAssistError, OSError) as error:
        return str(error)
    if done.exit_code == 0:
        return ""
    return (done.stderr.strip().splitlines() or [f"exit code {done.exit_code}"])[-1]


def command_line(name: str, plan: Plan, argv: Sequence[str]) -> list[str]:
    """Return the whole command line for a runner."""
    return [*KEEP_STANDING, *RUNNERS[name](plan, argv)]
