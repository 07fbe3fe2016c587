"""The parent's side of the sandboxed child: started as early as there are folders for it, it waits for its paper."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ncu_assist.executors.base import Executor
from ncu_assist.harness.client import Watch, child_environment
from ncu_assist.harness.events import Event
from ncu_assist.harness.exam.folders import Folders
from ncu_assist.process import Completed


@dataclass(frozen=True)
class Limits:
    """Seconds for the longest silence of the sandboxed side, and for all of it."""

    silence_s: float
    total_s: float


@dataclass(frozen=True)
class Seat:
    """Where a sandboxed child works: the folders of the exam, the device, the name of its paper."""

    folders: Folders
    device: str
    name: str

    @property
    def command(self) -> list[str]:
        """The program that answers the paper; it starts in the exam's readable folder."""
        paper = str(self.folders.paper(self.name))
        return [sys.executable, "-m", "ncu_assist.harness.exam", "answer", paper, self.device]


class AnsweringProcess:
    """A sandboxed child in a thread of its own, from ``start`` until ``wait`` or ``close``."""

    def __init__(self, seat: Seat, executor: Executor, limits: Limits, is_over: Callable[[], bool]) -> None:
        self._seat, self._executor, self._limits, self._is_over = seat, executor, limits, is_over
        self._on_event: Callable[[Event], None] = lambda event: None
        self._completed: Completed | None = None
        self._error: BaseException | None = None
        self._closed = threading.Event()
        self.watch = Watch(lambda event: self._on_event(event), limits.silence_s)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> AnsweringProcess:
        """Start the child, its folder being there before: it may have to be given to another user."""
        self._seat.folders.out(self._seat.name).mkdir()
        self._thread.start()
        return self

    def tell(self, on_event: Callable[[Event], None]) -> None:
        """Say who hears what the child tells from now on."""
        self._on_event = on_event

    def wait(self) -> Completed:
        """Return how the child ended; raises what the executor raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._completed is not None
        return self._completed

    def close(self) -> None:
        """End the child if it still runs."""
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._completed = self._executor.run(
                self._seat.command,
                env=child_environment(),
                cwd=Path(self._seat.folders.readable),
                timeout_s=self._limits.total_s,
                on_line=self.watch.line,
                is_stuck=lambda: self._closed.is_set() or self.watch.is_stuck() or self._is_over(),
            )
        except BaseException as error:
            self._error = error
