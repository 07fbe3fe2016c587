"""Carries out a plan with bubblewrap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ncu_assist.executors.sandbox.identity import CAP_PERFMON
from ncu_assist.executors.sandbox.orders import jail_argv
from ncu_assist.executors.sandbox.plan import Mount, Plan

PROGRAM = "bwrap"
FLAGS = {"ro": "--ro-bind", "rw": "--bind", "device": "--dev-bind", "symlink": "--symlink"}
# --as-pid-1: the jail is init, so that bwrap returns only when nothing is left
NAMESPACES = ("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--as-pid-1", "--die-with-parent")
NAMES = {CAP_PERFMON: "PERFMON"}
FOR_THE_JAIL = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")  # to give up its rights; it drops these, too


def argv(plan: Plan, command: Sequence[str], program: str = PROGRAM) -> list[str]:
    """Return the command line that runs ``command`` as planned."""
    names = (*FOR_THE_JAIL, *(f"CAP_{NAMES[number]}" for number in plan.identity.capabilities))
    rights = [word for name in names for word in ("--cap-add", name)]
    who = ["--unshare-user"] if plan.identity.uid is None else ["--cap-drop", "ALL", *rights]
    sealed = [word for mount in plan.mounts if mount.sealed for word in ("--remount-ro", mount.target)]
    seen = [word for mount in plan.mounts for word in _words(mount)]
    return [program, *NAMESPACES, *who, *seen, *sealed, "--remount-ro", "/", "--", *jail_argv(plan, (), command)]


def _words(mount: Mount) -> Iterator[str]:
    if mount.kind in FLAGS:
        yield from (FLAGS[mount.kind], mount.source, mount.target)
    elif mount.kind == "proc":
        yield from ("--proc", mount.target)  # which covers what acts on the machine
    elif mount.kind == "folder":
        yield from ("--perms", f"{mount.mode:o}", "--dir", mount.target)
    else:
        yield from ("--perms", f"{mount.mode:o}", "--size", str(mount.size_bytes), "--tmpfs", mount.target)
