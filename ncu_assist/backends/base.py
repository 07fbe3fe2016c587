"""What every backend offers: whether it claims a source file, how it builds it, how the child process loads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ncu_assist.spec import Kernel, Version

Call = Callable[[tuple[Any, ...], tuple[Any, ...], Mapping[str, int]], None]
"""A loaded version: called with (inputs, outputs, integers of the workload); it fills the outputs."""


@dataclass(frozen=True)
class BuildOutcome:
    """One version after its build. ``artifact`` is None after a failure; ``log`` holds the compiler's words whole.

    ``problem`` is what is wrong with one that compiles, and cannot be called all the same.
    """

    version: str
    artifact: Path | None
    log: str
    reused: bool
    seconds: float
    problem: str = ""


def never() -> bool:
    """Return False: the answer of a build that nobody cancels."""
    return False


class Backend(Protocol):
    """One language: ``build`` runs in the parent and never imports torch, ``load`` runs in the child."""

    name: str

    def claims(self, path: Path) -> bool:
        """Return whether this backend builds and loads the source file at ``path``."""
        ...

    def options(self) -> str:
        """Return what decides on a build beside source and versions of programs; empty where nothing is built.

        Raises EnvironmentProblem if the compiler itself is missing.
        """
        ...

    def build(
        self, kernel: Kernel, versions: Sequence[Version], work: Path, is_cancelled: Callable[[], bool] = never
    ) -> dict[str, BuildOutcome]:
        """Build versions below ``work`` and return an outcome for each, by version name.

        A version that does not compile is an outcome without an artifact. Raises EnvironmentProblem if the compiler
        itself is missing.
        """
        ...

    def load(self, artifact: Path, kernel: Kernel) -> Call:
        """Return the version as a call; raises StageFailed if the artifact lacks the kernel's entry point."""
        ...
