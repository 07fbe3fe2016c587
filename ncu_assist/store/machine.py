"""Whether a run was measured on this machine, without naming any machine."""

from __future__ import annotations

import hashlib
import uuid
from pathlib import Path

from ncu_assist.record import Run, Source

MACHINE_ID = Path("/etc/machine-id")


def machine_hash(path: Path = MACHINE_ID) -> str:
    """Return a hash that tells this machine from others: of its id, or of a network address where it has none."""
    try:
        machine_id = path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        machine_id = ""
    return hashlib.sha256(f"ncu-assist{machine_id or uuid.getnode()}".encode()).hexdigest()


def shown_source(run: Run, machine: str | None) -> Source:
    """Return what a run is *here*: a live run of another machine counts as recorded.

    ``machine`` is what machine_hash returned.
    """
    if run.source == "live" and run.machine != machine:
        return "recorded"
    return run.source
