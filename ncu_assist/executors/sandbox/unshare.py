"""Carries out a plan with util-linux's unshare, where there is no bubblewrap: jail.py makes the mounts."""

from __future__ import annotations

from collections.abc import Sequence

from ncu_assist.executors.sandbox.orders import jail_argv
from ncu_assist.executors.sandbox.plan import Plan

PROGRAM = "unshare"
NAMESPACES = ("--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child=KILL")
AS_USER = ("--user", "--map-root-user")  # root of the namespace alone, until jail.py gives that up
WITH_PARENT = ("setpriv", "--pdeathsig", "KILL")  # of the same package: what bwrap's --die-with-parent does


def argv(plan: Plan, command: Sequence[str], program: str = PROGRAM) -> list[str]:
    """Return the command line that runs ``command`` as planned."""
    who = AS_USER if plan.identity.uid is None else ()
    return [*WITH_PARENT, program, *who, *NAMESPACES, "--", *jail_argv(plan, plan.mounts, command)]
