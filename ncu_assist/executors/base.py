"""What every executor offers: it runs one program that uses the GPU, alone on that GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Unpack

from ncu_assist.process import Completed, RunOptions


class Executor(Protocol):
    """Where GPU work runs."""

    @property
    def name(self) -> str: ...

    def run(self, argv: Sequence[str], **options: Unpack[RunOptions]) -> Completed:
        """Run a program as ``process.run`` does, with the GPU to itself among the runs of this user.

        Raises EnvironmentProblem if the GPU stays taken or the program cannot be started.
        """
        ...
