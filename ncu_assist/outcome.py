"""What a command over several versions came to: runs in the archive, what is missing, what failed."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_assist.diff import Diff
from ncu_assist.errors import StageFailed
from ncu_assist.record import Source
from ncu_assist.store import StoredRun


@dataclass(frozen=True)
class VersionOutcome:
    """One version: its run, or why there is none. A run with a ``failure`` holds what was finished before it."""

    version: str
    run: StoredRun | None
    failure: str = ""
    failure_code: int = StageFailed.exit_code


@dataclass(frozen=True)
class Outcome:
    """All versions asked for, in the order of their numbers, on the workloads asked for."""

    kernel: str
    workloads: tuple[str, ...]
    source: Source
    versions: tuple[VersionOutcome, ...]
    diffs: tuple[Diff, ...] = ()  # between the first version and each other, where verdicts were asked for

    @property
    def exit_code(self) -> int:
        """0, or the exit code of what failed, the highest of several."""
        return max((v.failure_code for v in self.versions if v.failure), default=0)


@dataclass(frozen=True)
class KernelListing:
    """What `list` shows of a kernel: its versions, each with the run that shows it as it is now, if there is one."""

    kernel: str
    summary: str  # empty for a foreign program, which has no folder
    workloads: tuple[str, ...]
    default_workload: str | None
    versions: tuple[VersionOutcome, ...]
