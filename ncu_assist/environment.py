"""What ``doctor`` found out about this machine, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Condition:
    """One thing looked at. Without a ``needed`` one measuring is impossible; ``fix`` is one command or step to try."""

    name: str
    state: Literal["ok", "missing"]
    detail: str
    fix: str = ""
    needed: bool = True


@dataclass(frozen=True)
class Examination:
    """All conditions, in the order they were looked at."""

    conditions: tuple[Condition, ...]

    @property
    def can_measure(self) -> bool:
        """Whether everything that measuring needs is there."""
        return all(c.state == "ok" for c in self.conditions if c.needed)
