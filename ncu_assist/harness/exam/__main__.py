"""The two sides: ``python -m ncu_assist.harness.exam examine SECRET.json`` and, sandboxed, ``answer PAPER.json``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from ncu_assist.errors import StageFailed
from ncu_assist.harness import accelerator, events
from ncu_assist.harness.child import CONTEXT_LOST, exit_code_of
from ncu_assist.harness.events import Event
from ncu_assist.harness.exam.paper import Paper, Secret
from ncu_assist.harness.request_file import read


def main(side: str, path: Path) -> int:
    """Be one side and return the exit code: 0, or the one of the error that was reported."""
    work = {"examine": lambda: _examine(read(path, Secret)), "answer": lambda: _answer(read(path, Paper))}
    return exit_code_of(work[side])


def _examine(secret: Secret) -> int:
    accelerator.open_device(secret.device)
    from ncu_assist.harness.exam import examiner

    examiner.run(secret)
    return 0


def _answer(paper: Paper) -> int:
    accelerator.open_device(paper.request.settings.device)
    from ncu_assist.harness.exam import stages
    from ncu_assist.harness.session import ContextLost

    try:
        room = stages.prepare(paper)
        events.emit(Event("ready"))
        stages.run(room)
    except ContextLost:
        return CONTEXT_LOST
    except OSError as error:
        raise StageFailed(f"answers cannot be written to {paper.request.out}: {error.strerror}") from error
    if "profile" not in paper.request.settings.stages:  # a profiler writes its report when its program winds up
        _leave()
    return 0


def _leave() -> NoReturn:
    """End at once, without what a draft has put at the end, nor the second that torch takes to tear down."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
