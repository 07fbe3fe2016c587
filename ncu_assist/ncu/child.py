"""The child processes that read reports, and may get ready before, as those do that make pages.

What they may take is limited, so that a damaged report cannot take the machine's memory.
"""

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
    from ncu_assist.process import Completed, Waiting

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
) -> None:
    """Run a module of ours with arguments, until it ends or ``stopped`` says yes; ``on_line`` gets what it prints.

    ``what`` it reads and with whose ``reader`` are words of messages; ``limit_s`` is for all of it, of which this child
    has ``timeout_s``. Raises what it tells of as JSON in the last line of stderr, errors of ``said`` by exit code, and
    DamagedData when it crashes or does not end in time, ReaderBug when an exception of our code ended it.
    """
    done = run_module(argv, timeout_s=timeout_s, is_stuck=stopped, on_line=on_line)
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


def run_module(
    argv: Sequence[str],
    *,
    timeout_s: float | None = None,
    is_stuck: Callable[[], bool] | None = None,
    on_line: Callable[[str], None] | None = None,
) -> Completed:
    """Run a module of ours with arguments, as ``process.run`` does.

    A child of that module that ``get_ready`` started gets the arguments, as a line of JSON, in place of a new one.
    """
    from ncu_assist import process  # not in the child itself, which is to start at once

    if ready := _one_ready(argv[0]):
        return ready.run(json.dumps(argv[1:]).encode(), lambda line: _pass_on(line, on_line), is_stuck, timeout_s)
    command, env = process.module_argv(*argv), process.module_environment()
    return process.run(command, env=env, timeout_s=timeout_s, is_stuck=is_stuck, on_line=on_line)


_READY: dict[str, list[Waiting]] = {}
READY, IS_READY = "--ready", "ready"
SOON_S = 0.5  # what a fresh child takes to be as far


def get_ready(module: str, count: int, *more: str) -> None:
    """Start children of a module for ``run_child`` to hand arguments to; ``more`` is what they get ready with.

    A fresh one has Python to start and modules to import first. ``end_ready`` ends those that are left.
    """
    from ncu_assist.process import Waiting, module_argv, module_environment

    def command(pipe: str) -> list[str]:
        return module_argv(module, READY, pipe, *more)

    with contextlib.suppress(OSError):  # no room for a pipe: fresh ones will do
        _READY.setdefault(module, []).extend(Waiting(command, env=module_environment()) for _ in range(count))


def ready_count(module: str) -> int:
    """Return how many children of a module get ready, or are."""
    return len(_READY.get(module, []))


def end_ready(*modules: str) -> None:
    """End the children of modules that got ready for nothing."""
    for module in modules:
        while one := _taken(module):
            one.end()


def _one_ready(module: str) -> Waiting | None:
    """Return a child that is ready, None without one. One that died, or is far from ready, is ended."""
    while one := _taken(module):
        if one.ready.wait(SOON_S) and not one.is_over:
            return one
        one.end()
    return None


def _taken(module: str) -> Waiting | None:
    with contextlib.suppress(KeyError, IndexError):  # several threads may ask
        return _READY[module].pop()
    return None


def _pass_on(line: str, on_line: Callable[[str], None] | None) -> None:
    if on_line is not None and line != IS_READY:
        on_line(line)


def handed(arguments: list[str], prepare: Callable[..., None] | None = None) -> list[str]:
    """Return, in a child, its arguments: of one that was started to get ready those that it is handed later.

    ``prepare`` is called before, with what ``get_ready`` gave; its errors do not count.
    """
    if arguments[0] != READY:
        return arguments
    _, pipe, *more = arguments
    if prepare is not None:
        with contextlib.suppress(Exception):
            prepare(*more)
    sys.stdout.write(f"{IS_READY}\n")
    sys.stdout.flush()
    with Path(pipe).open(encoding="ascii") as work:
        given: list[str] = json.loads(work.readline())
    return given


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
