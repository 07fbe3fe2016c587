"""The child process: ``python -m ncu_assist.harness REQUEST.json``; progress on stdout, results in files.

With ``--warm PIPE DEVICE [REQUEST.json]`` it imports what it needs, opens the device, rehearses that request, and waits
for the path of the one to do at the pipe. Without a DEVICE (empty) it leaves the GPU alone until then.
"""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

from ncu_assist.errors import StageFailed
from ncu_assist.harness import accelerator, events
from ncu_assist.harness.events import CONTEXT_LOST, Event, exit_code_of
from ncu_assist.harness.request import HarnessRequest, read_request

PARENT_LOOK_S = 1.0


def main(path: Path) -> int:
    """Do what the request says and return the exit code: 0, or the one of the error that was reported."""
    return exit_code_of(lambda: _run(read_request(path, HarnessRequest)))


def _run(job: HarnessRequest) -> int:
    accelerator.open_device(job.settings.device)
    from ncu_assist.harness import results, session

    events.emit(Event("ready"))
    try:
        work = session.HarnessSession(job)
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

    assert isinstance(work, session.HarnessSession)
    stages = work.request.settings.stages
    if "check" in stages:
        session.run_check(work)
    if "bench" in stages:
        from ncu_assist.harness.bench import run_bench

        run_bench(work)
    if "profile" in stages:
        session.run_profile(work)


def warm(pipe: Path, device: str, rehearsal: Path | None = None) -> int:
    """Do the request that comes through a pipe, everything imported; end without one when the parent is gone."""

    def wait() -> int:
        handle, parent = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), os.getppid()
        if device:
            accelerator.open_device(device)
        else:
            accelerator.load_torch()
        from ncu_assist.harness import bench, session

        if rehearsal is not None:
            bench.rehearse(session.HarnessSession(read_request(rehearsal, HarnessRequest)))
        events.emit(Event("ready"))
        said = b""
        while not said.endswith(b"\n"):
            if select.select([handle], [], [], PARENT_LOOK_S)[0]:
                said += os.read(handle, select.PIPE_BUF)
            elif os.getppid() != parent:
                return 0
        return main(Path(os.fsdecode(said[:-1])))

    return exit_code_of(wait)


if __name__ == "__main__":
    if sys.argv[1] == "--warm":
        code = warm(Path(sys.argv[2]), sys.argv[3], *map(Path, sys.argv[4:]))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # all is written; somebody waits, and torch takes its time to leave in order
    sys.exit(main(Path(sys.argv[1])))
