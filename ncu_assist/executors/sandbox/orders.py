"""The command line of jail.py, which every runner ends with."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from ncu_assist.executors.sandbox.plan import Mount, Plan
from ncu_assist.executors.sandbox.syscalls import call_filter

FAILED, MARK = 125, "sandbox: "  # as in jail.py, which is not imported: only its process needs ctypes
JAIL = Path(__file__).resolve().with_name("jail.py")


def jail_argv(plan: Plan, mounts: tuple[Mount, ...], argv: Sequence[str]) -> list[str]:
    """Return the command that confines itself and runs ``argv``; it makes ``mounts`` first, where there are any."""
    limits = plan.limits
    order = {
        "mounts": [asdict(mount) for mount in mounts],
        "cwd": str(plan.cwd),
        "uid": plan.identity.uid,
        "capabilities": plan.identity.capabilities,
        "filter": call_filter().hex(),
        "limits": {
            "NPROC": limits.processes,
            "FSIZE": limits.file_bytes,
            "NOFILE": limits.open_files,
            "CORE": 0,
        },
    }
    return [str(Path(sys.executable).resolve()), "-I", "-S", str(JAIL), json.dumps(order), *argv]
