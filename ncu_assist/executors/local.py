"""Runs GPU work on this machine, one program a GPU at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ncu_assist import process
from ncu_assist.executors.gpu import gpu_key
from ncu_assist.executors.lock import WAIT_S, held, lock_folder


@dataclass(frozen=True)
class Local:
    """Holds a lock on the GPU while the program runs. ``folder`` None: this user's folder for all projects.

    ``command`` is what others are told who wait for the GPU; None: the command line itself.
    """

    folder: Path | None = None
    wait_s: float = WAIT_S
    name: str = "local"
    command: str | None = None

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout_s: float | None = None,
        on_line: Callable[[str], None] | None = None,
        is_stuck: Callable[[], bool] | None = None,
    ) -> process.Completed:
        key = gpu_key(os.environ if env is None else env)
        with held(self.folder or lock_folder(), key, self.command or " ".join(argv), self.wait_s):
            return process.run(argv, env=env, cwd=cwd, timeout_s=timeout_s, on_line=on_line, is_stuck=is_stuck)
