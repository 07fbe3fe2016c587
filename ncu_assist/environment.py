"""What ``doctor`` found out about this machine, and what a report of a bug says, as data."""

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

    @property
    def is_complete(self) -> bool:
        """Whether nothing at all is missing."""
        return all(c.state == "ok" for c in self.conditions)


@dataclass(frozen=True)
class LastError:
    """The last command of this user that failed; ``traceback`` is empty for what a user can act on."""

    when: str
    version: str
    command: str
    exit_code: int
    message: str
    hint: str
    traceback: str = ""


@dataclass(frozen=True)
class BugReport:
    """What a maintainer asks for first, without names of people and machines; packages by name, those that are here."""

    version: str
    python: str
    platform: str
    packages: dict[str, str]
    examination: Examination
    last_error: LastError | None
