"""The child process: ``python -m ncu_assist.harness REQUEST.json``; progress on stdout, results in files."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from ncu_assist.errors import NcuAssistError, StageFailed
from ncu_assist.harness import accelerator, events, request
from ncu_assist.harness.events import Event

CONTEXT_LOST = 5


def main(path: Path) -> int:
    """Do what the request says and return the exit code: 0, or the one of the error that was reported."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a call that hangs in C never gets back to Python to be interrupted
    try:
        return _run(request.read(path))
    except NcuAssistError as error:
        events.emit(Event("problem", text=error.message, hint=error.hint, exit_code=error.exit_code))
        return error.exit_code


def _run(job: request.Request) -> int:
    accelerator.open_device(job.settings.device)
    from ncu_assist.harness import results, session

    events.emit(Event("ready"))
    try:
        work = session.Session(job)
        results.write_facts(work.out, work.facts())
        work.load()
        _stages(work)
    except session.ContextLost:
        return CONTEXT_LOST
    except OSError as error:
        raise StageFailed(f"results cannot be written to {job.out}: {error.strerror}", "free space there") from error
    results.write_facts(work.out, work.facts())
    return 0


def _stages(work: object) -> None:
    from ncu_assist.harness import session

    assert isinstance(work, session.Session)
    stages = work.request.settings.stages
    if "check" in stages:
        session.run_check(work)
    if "bench" in stages:
        from ncu_assist.harness.bench_stage import run_bench

        run_bench(work)
    if "profile" in stages:
        session.run_profile(work)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
