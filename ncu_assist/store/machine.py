"""Whether a run was measured on this machine, without naming any machine."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ncu_assist.record import Run, Source

MACHINE_ID = Path("/etc/machine-id")


def machine_hash(path: Path = MACHINE_ID) -> str | None:
    """Return a hash that tells this machine from others; None where it has no id."""
    try:
        machine_id = path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None
    return hashlib.sha256(f"ncu-assist{machine_id}".encode()).hexdigest() if machine_id else None


def shown_source(run: Run, machine: str | None) -> Source:
    """Return what a run is *here*: a live run of another machine counts as recorded.

    ``machine`` is what machine_hash returned.
    """
    if run.source == "live" and run.machine != machine:
        return "recorded"
    return run.source
