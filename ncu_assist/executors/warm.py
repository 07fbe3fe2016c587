"""Runs the measuring child in a process that is warm already: torch imported, the GPU opened, nothing else done.

A process serves one measurement and ends with it. What a version breaks, leaks or leaves in caches ends there too, so
that a number is that of a fresh process. The next one is warmed while the person reads.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Unpack

from ncu_assist import process
from ncu_assist.executors.local import Local, gpu_key, held, lock_folder
from ncu_assist.process import Completed, RunOptions

HARNESS = ("-m", "ncu_assist.harness")
WARM = "--warm"  # the child waits for its request at the pipe that is named next


class _Process:
    """One warm process, from its start to the end of its only measurement."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], cwd: Path | None) -> None:
        self._lines: list[str] = []
        self._on_line: Callable[[str], None] | None = None
        self._lock = threading.Lock()
        self._ending, self.heard = threading.Event(), threading.Event()
        self._completed: Completed | BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(argv, env, cwd), daemon=True)
        self._thread.start()

    def _run(self, argv: Sequence[str], env: Mapping[str, str], cwd: Path | None) -> None:
        try:
            self._completed = process.run(argv, env=env, cwd=cwd, on_line=self._line, is_stuck=self._ending.is_set)
        except BaseException as error:
            self._completed = error
        finally:
            self.heard.set()

    def _line(self, line: str) -> None:
        with self._lock:
            if self._on_line is None:
                self._lines.append(line)
            else:
                self._on_line(line)
        if line:
            self.heard.set()

    def is_over(self) -> bool:
        return not self._thread.is_alive()

    def follow(self, on_line: Callable[[str], None], is_stuck: Callable[[], bool]) -> Completed:
        """Pass on what was said and is said until the process ends; it is ended by what ``is_stuck`` raises, too."""
        with self._lock:
            for line in self._lines:
                on_line(line)
            self._on_line = on_line
        try:
            while self._thread.is_alive():
                self._thread.join(process.POLL_S)
                if not self._ending.is_set() and self._thread.is_alive() and is_stuck():
                    self._ending.set()
        except BaseException:
            self.end()
            raise
        if isinstance(self._completed, Completed):
            return self._completed
        assert self._completed is not None
        raise self._completed

    def end(self) -> None:
        self._ending.set()
        self._thread.join()


@dataclass
class Warm:
    """An executor for one folder and environment, which ``start`` gives it. ``close`` ends what still waits."""

    device: str
    local: Local = field(default_factory=Local)
    name: str = "warm"
    _folder: Path | None = None
    _spare: tuple[_Process, Path] | None = None
    _how: tuple[Mapping[str, str], Path | None] | None = None

    def start(self, env: Mapping[str, str], cwd: Path | None) -> None:
        """Warm a process for the next measurement, unless one is waiting."""
        if self._spare is not None and not self._spare[0].is_over():
            return
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="ncu-assist-"))
        self._how = env, cwd
        pipe = self._folder / "request"
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe, 0o600)
        argv = [sys.executable, *HARNESS, WARM, str(pipe), self.device]
        self._spare = _Process(argv, env, cwd), pipe

    def wait(self, timeout_s: float) -> bool:
        """Wait until the process that was started is warm, or has failed; tell whether it is."""
        return self._spare is not None and self._spare[0].heard.wait(timeout_s)

    def run(self, argv: Sequence[str], **options: Unpack[RunOptions]) -> Completed:
        """Hand a request of the harness to the warm process; run any other program as ``Local`` does."""
        if tuple(argv[1:3]) != HARNESS:
            return self.local.run(argv, **options)
        env = options.get("env") or os.environ
        command = self.local.command or " ".join(argv)
        with held(self.local.folder or lock_folder(), gpu_key(env), command, self.local.wait_s):
            self.start(env, options.get("cwd"))
            assert self._spare is not None
            warm, pipe = self._spare
            self._spare = None
            with pipe.open("r+b", buffering=0) as request:  # r+: no reader is waited for
                request.write(f"{argv[3]}\n".encode())
                on_line, is_stuck = options.get("on_line"), options.get("is_stuck")
                return warm.follow(on_line or _unheard, is_stuck or _never)

    def close(self) -> None:
        """End the process that waits and give its memory back."""
        if self._spare is not None:
            self._spare[0].end()
            self._spare = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def _unheard(_: str) -> None:
    return


def _never() -> bool:
    return False
