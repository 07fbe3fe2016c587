"""Whether a run was measured on this machine, without naming any machine."""

from __future__ import annotations

import hashlib
import platform
import uuid
from pathlib import Path

from ncu_assist.record import Run, Source

MACHINE_ID = Path("/etc/machine-id")
MADE_UP = 1 << 40  # this bit is set in an address that belongs to no network card (RFC 4122, 4.5)


def machine_hash(path: Path = MACHINE_ID) -> str:
    """Return a hash that tells this machine from others: of its id, or of a network address where it has none.

    Without either it is of the host's name: Python then makes an address up, another one in each process.
    """
    try:
        machine_id = path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        machine_id = ""
    node = uuid.getnode()
    address = platform.node() if node & MADE_UP else node
    return hashlib.sha256(f"ncu-assist{machine_id or address}".encode()).hexdigest()


def shown_source(run: Run, machine: str | None) -> Source:
    """Return what a run counts as *here*, where runs are chosen: a live one of another machine as a recorded one.

    ``machine`` is what machine_hash returned. Words say what a run is, which is ``run.source``.
    """
    if run.source == "live" and run.machine != machine:
        return "recorded"
    return run.source
