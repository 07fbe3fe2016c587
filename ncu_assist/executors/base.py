"""What every executor offers: it runs one program that uses the GPU, alone on that GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ncu_assist.process import Completed


class Executor(Protocol):
    """Where GPU work runs."""

    @property
    def name(self) -> str: ...

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout_s: float | None = None,
        on_line: Callable[[str], None] | None = None,
        is_stuck: Callable[[], bool] | None = None,
    ) -> Completed:
        """Run a program as ``process.run`` does, with the GPU to itself among the runs of this user.

        Raises EnvironmentProblem if the GPU stays taken or the program cannot be started.
        """
        ...
