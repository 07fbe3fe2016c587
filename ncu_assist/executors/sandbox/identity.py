"""Who a program in the sandbox is: never root, and without any right beyond reading hardware counters."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

SANDBOX_UID = (
    2_000_000_000  # outside every range that distributions, containers and systemd hand out (systemd, UIDS-GIDS)
)
CAP_SYS_ADMIN = 21
CAP_PERFMON = 38  # linux/capability.h; enough for the driver to open its counters, and no right on files
WHOLE_MAP = "0 0 4294967295"  # user_namespaces(7): the map of the first user namespace
DRIVER_PARAMETERS = Path("/proc/driver/nvidia/params")
ADMIN_ONLY = "RmProfilingAdminOnly: 1"


@dataclass(frozen=True)
class Identity:
    """The user id to become (None: stay, in a user namespace of its own) and the capabilities that remain."""

    uid: int | None
    capabilities: tuple[int, ...] = ()


def identity() -> Identity:
    """Return whom the sandbox runs programs as.

    Real root becomes a user that owns nothing: the kernel counts no processes of root, and root's own files would be
    open to it. It needs no user namespace then, in which the driver would refuse counters that are kept for admins.
    """
    if not is_real_root():
        return Identity(None)
    return Identity(SANDBOX_UID, (CAP_PERFMON,) if counters_are_restricted() else ())


def is_real_root() -> bool:
    """Tell whether this process is root of the machine, and not only of a user namespace or a bare container."""
    if os.geteuid() != 0:
        return False
    whole = " ".join(Path("/proc/self/uid_map").read_text().split()) == WHOLE_MAP
    effective = next(
        int(line.split()[1], 16)
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("CapEff:")
    )
    return whole and bool(effective >> CAP_SYS_ADMIN & 1)


def counters_are_restricted(parameters: Path = DRIVER_PARAMETERS) -> bool:
    """Tell whether the driver keeps hardware counters for administrators (NVIDIA's ERR_NVGPUCTRPERM page)."""
    try:
        return ADMIN_ONLY in parameters.read_text()
    except OSError:
        return False
