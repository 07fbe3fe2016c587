"""The floors of many runs: the ceilings of a GPU are read once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ncu_assist.ceilings import Ceilings, Floor, ceilings_of, floor_of
from ncu_assist.record import Device
from ncu_assist.store import StoredRun


@dataclass(frozen=True)
class Floors:
    """What an archive knows of GPUs, and the package of their models."""

    reports: Path
    _known: dict[Device, Ceilings | None] = field(default_factory=dict, repr=False)

    def of(self, stored: StoredRun, workload: str | None) -> Floor | None:
        """Return the least time of a workload on the GPU of a run; None where that or its rates are not known."""
        facts = stored.run.workload(workload) if workload else None
        device = stored.run.device
        if facts is None or device is None:
            return None
        if device not in self._known:
            self._known[device] = ceilings_of(device, self.reports)
        return floor_of(facts, self._known[device])
