"""The parent's side of the two children: the sandboxed one, which answers, and the trusted one, which grades.

Both are started early and wait for their request.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import msgspec

from ncu_assist import process
from ncu_assist.errors import StageFailed
from ncu_assist.executors.base import Executor
from ncu_assist.harness.client import START_TIMEOUT_S, Watch, child_environment, what_happened
from ncu_assist.harness.events import Event, error_of, parse
from ncu_assist.harness.exam.request import ExamFolders, Grades, GradingTask, hand_over
from ncu_assist.process import Completed

POLL_S = 0.01
GRADE_TIMEOUT_S = 300.0
STDERR_TAIL = 2000  # characters


@dataclass(frozen=True)
class AnsweringLimits:
    """Seconds for the longest silence of the sandboxed side, and for all of it."""

    silence_s: float
    total_s: float


@dataclass(frozen=True)
class AnsweringJob:
    """Where a sandboxed child works: the folders of the exam, the device, the name of its request."""

    folders: ExamFolders
    device: str
    name: str

    @property
    def command(self) -> list[str]:
        """The program that answers the request; it starts in the exam's readable folder."""
        exam_request = str(self.folders.request_file(self.name))
        return [sys.executable, "-m", "ncu_assist.harness.exam", "answer", exam_request, self.device]


class AnsweringProcess:
    """A sandboxed child in a thread of its own, from ``start`` until ``wait`` or ``close``."""

    def __init__(
        self, job: AnsweringJob, executor: Executor, limits: AnsweringLimits, is_over: Callable[[], bool]
    ) -> None:
        self._job, self._executor, self._limits, self._is_over = job, executor, limits, is_over
        self._on_event: Callable[[Event], None] = lambda event: None
        self._completed: Completed | None = None
        self._error: BaseException | None = None
        self._closed = threading.Event()
        self.watch = Watch(lambda event: self._on_event(event), limits.silence_s)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> AnsweringProcess:
        """Start the child, its folder being there before: it may have to be given to another user."""
        self._job.folders.out(self._job.name).mkdir()
        self._thread.start()
        return self

    def listen(self, on_event: Callable[[Event], None]) -> None:
        """Pass the child's events to this function from now on."""
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
                self._job.command,
                env=child_environment(),
                cwd=Path(self._job.folders.readable),
                timeout_s=self._limits.total_s,
                on_line=self.watch.line,
                is_stuck=lambda: self._closed.is_set() or self.watch.is_stuck() or self._is_over(),
            )
        except BaseException as error:
            self._error = error


class ExaminerProcess:
    """A context manager around the trusted child. It holds no lock on the GPU: it works there only before and after."""

    def __init__(self, folders: ExamFolders, device: str) -> None:
        self._folders, self._device = folders, device
        self._completed: process.Completed | None = None
        self._told: Event | None = None
        self._error: BaseException | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> ExaminerProcess:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._closed.set()
        self._thread.join()

    def grades(self, task: GradingTask) -> Grades:
        """Return what grading a task gives.

        Raises what the child reports: StageFailed where reference.py fails, EnvironmentProblem without a GPU.
        """
        file, deadline = hand_over(task, self._folders.secret), time.monotonic() + GRADE_TIMEOUT_S
        while not file.is_file():
            if not self._thread.is_alive():
                raise self.failure()
            if time.monotonic() > deadline:
                raise StageFailed(f"the answers were not graded within {GRADE_TIMEOUT_S:.0f} s")
            time.sleep(POLL_S)
        return msgspec.json.decode(file.read_bytes(), type=Grades)

    @property
    def failed(self) -> bool:
        """Whether the child has ended, which it does not do by itself."""
        return not self._thread.is_alive()

    def _is_over(self) -> bool:
        """Raise once nobody waits for the child: it is ended at once, as it has nothing to leave."""
        if self._closed.is_set():
            raise StageFailed("the exam was closed")
        return False

    def _run(self) -> None:
        exam_request = str(self._folders.examiner_request_file)
        argv = [sys.executable, "-m", "ncu_assist.harness.exam", "examine", exam_request, self._device]
        try:
            self._completed = process.run(
                argv,
                env=child_environment(),
                cwd=self._folders.secret,
                on_line=self._line,
                is_stuck=self._is_over,
            )
        except BaseException as error:
            self._error = error

    def _line(self, line: str) -> None:
        event = parse(line)
        if event is not None and event.event == "problem":
            self._told = event

    def failure(self) -> BaseException:
        """Return why the child has ended, as the error to raise."""
        if self._error is not None:
            return self._error
        if self._told is not None:
            return error_of(self._told)
        assert self._completed is not None
        words = self._completed.stderr[-STDERR_TAIL:].strip()
        happened = what_happened(self._completed, START_TIMEOUT_S)
        return StageFailed(f"the grading process {happened}\n{words}".rstrip(), "ncu-assist doctor")
