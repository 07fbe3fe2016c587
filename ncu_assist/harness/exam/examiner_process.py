"""The parent's side of the trusted child: it sets questions while others build, and grades when it is asked."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

import msgspec

from ncu_assist import process
from ncu_assist.errors import NcuAssistError, StageFailed
from ncu_assist.harness.client import ERRORS, START_TIMEOUT_S, child_environment, what_happened
from ncu_assist.harness.events import Event, parse
from ncu_assist.harness.exam.folders import Folders
from ncu_assist.harness.exam.paper import Grades
from ncu_assist.harness.exam.task import Task, hand_over

POLL_S = 0.01
GRADE_TIMEOUT_S = 300.0
STDERR_TAIL = 2000  # characters


class ExaminerProcess:
    """A context manager around the trusted child. It holds no lock on the GPU: it works there only before and after."""

    def __init__(self, folders: Folders, device: str) -> None:
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

    def grades(self, task: Task) -> Grades:
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
        paper = str(self._folders.secret_paper)
        argv = [sys.executable, "-m", "ncu_assist.harness.exam", "examine", paper, self._device]
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
            return ERRORS.get(self._told.exit_code, NcuAssistError)(self._told.text, self._told.hint)
        assert self._completed is not None
        words = self._completed.stderr[-STDERR_TAIL:].strip()
        happened = what_happened(self._completed, START_TIMEOUT_S)
        return StageFailed(f"the grading process {happened}\n{words}".rstrip(), "ncu-assist doctor")
