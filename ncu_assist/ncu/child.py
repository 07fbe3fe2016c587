"""The child processes that read reports: what they may take, so that a damaged one cannot take the machine's memory."""

from __future__ import annotations

import builtins
import contextlib
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_assist.errors import DamagedData, NcuAssistError, ReaderBug

if TYPE_CHECKING:
    from ncu_assist.process import Waiting

MEMORY_BYTES = 2 << 30
FRAME = re.compile(r'^ +File "(.+)", line \d+', re.MULTILINE)  # of a traceback, the last one raised it
OURS = str(Path(__file__).parents[1])
WORDS_LIMIT = 300  # characters of a failed reader's output in a message


def run_child(
    argv: Sequence[str],
    timeout_s: float,
    *,
    what: str,
    reader: str,
    limit_s: float,
    said: Mapping[int, type[NcuAssistError]] | None = None,
    stopped: Callable[[], bool] | None = None,
    on_line: Callable[[str], None] | None = None,
    ready: Waiting | None = None,
) -> None:
    """Run a module of ours with arguments, until it ends or ``stopped`` says yes; ``on_line`` gets what it prints.

    A child of that module that is ``ready`` gets the arguments as a line of JSON in place of a new one.

    ``what`` it reads and with whose ``reader`` are words of messages; ``limit_s`` is for all of it, of which this child
    has ``timeout_s``. Raises what it tells of as JSON in the last line of stderr, errors of ``said`` by exit code, and
    DamagedData when it crashes or does not end in time, ReaderBug when an exception of our code ended it.
    """
    from ncu_assist import process  # not in the child itself, which is to start at once

    if ready is not None:
        done = ready.run(json.dumps(argv[1:]).encode(), on_line, stopped, timeout_s)
    else:
        done = process.run([sys.executable, "-m", *argv], timeout_s=timeout_s, is_stuck=stopped, on_line=on_line)
    if done.timed_out:
        raise DamagedData(f"{what} could not be read within {limit_s:g} s", "profile again")
    last = (done.stderr.strip().splitlines() or [""])[-1]  # NVIDIA's reader may have written before it
    if said and done.exit_code in said and last.startswith("{"):
        told = json.loads(last)
        raise said[done.exit_code](told["message"][:WORDS_LIMIT], told["hint"])
    if done.exit_code != 0:
        words = (last or f"exit code {done.exit_code}")[:WORDS_LIMIT]
        if _is_ours(done.stderr, last):
            raise ReaderBug(f"{what} cannot be read because of a bug in ncu-assist ({words})", done.stderr)
        raise DamagedData(f"{what} cannot be read: {reader} failed ({words})", "profile again")


def _is_ours(stderr: str, last: str) -> bool:
    """Tell whether an exception of our code ended a child, by its traceback; no lack of memory or of disk space."""
    kind = getattr(builtins, last.partition(":")[0], None)
    is_of_machine = isinstance(kind, type) and issubclass(kind, OSError | MemoryError | KeyboardInterrupt)
    return OURS in (FRAME.findall(stderr) or [""])[-1] and not is_of_machine


def limit_memory(limit: int) -> None:
    """Limit this process to so many bytes of address space, and let it leave no core.

    Where the system has no such limit, as Windows, or refuses it, as macOS, the reader works without: the parent's
    limit of time still ends it.
    """
    try:
        import resource
    except ModuleNotFoundError:
        return
    for which, value in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, limit)):
        hard = resource.getrlimit(which)[1]
        least = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(which, (least, least))
