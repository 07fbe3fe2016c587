"""The two sides: ``python -m ncu_assist.harness.exam examine SECRET.json DEVICE``, ``answer REQUEST.json DEVICE``.

The second one is sandboxed. Both may start before there is anything to do: they import torch and open the device,
then wait for the file.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import NoReturn, TypeVar

from ncu_assist.errors import StageFailed
from ncu_assist.harness import accelerator, events
from ncu_assist.harness.events import CONTEXT_LOST, Event, exit_code_of
from ncu_assist.harness.exam.plan import ExaminerRequest, ExamRequest
from ncu_assist.harness.request import read_request

POLL_S = 0.01
T = TypeVar("T")


def main(side: str, path: Path, device: str) -> int:
    """Be one side and return the exit code: 0, or the one of the error that was reported."""
    work = {"examine": _examine, "answer": _answer}
    return exit_code_of(lambda: work[side](path, device))


def _examine(path: Path, device: str) -> int:
    accelerator.open_device(device)
    from ncu_assist.harness.exam import examiner

    secret = _awaited(path, ExaminerRequest)
    os.chdir(secret.kernel_folder)
    examiner.run_examiner(secret)
    return 0


def _awaited(path: Path, kind: type[T]) -> T:
    """Return what is in a file once it is there; who started us ends us if it never comes."""
    while not path.is_file():
        time.sleep(POLL_S)
    return read_request(path, kind)


def _answer(path: Path, device: str) -> int:
    accelerator.open_device(device)
    from ncu_assist.harness.exam import answering
    from ncu_assist.harness.session import ContextLost

    exam_request = _awaited(path, ExamRequest)
    try:
        prepared = answering.prepare(exam_request)
        events.emit(Event("ready"))
        answering.run_stages(*prepared)
    except ContextLost:
        return CONTEXT_LOST
    except OSError as error:
        raise StageFailed(f"answers cannot be written to {exam_request.request.out}: {error.strerror}") from error
    if "profile" not in exam_request.request.settings.stages:  # a profiler writes its report when its program winds up
        _leave()
    return 0


def _leave() -> NoReturn:
    """End at once, without what a draft has put at the end, nor the second that torch takes to tear down."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
