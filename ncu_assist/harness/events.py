"""The child's progress and errors: one JSON line an event on its stdout, between whatever kernels print there."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import msgspec

from ncu_assist.errors import EnvironmentProblem, NcuAssistError, NoTorch, StageFailed, UsageProblem

# Versions of a bench: an empty call, a device copy of the same bytes, the copy engine with the bytes from the host.
EMPTY, COPY, LINK = "(empty)", "(copy)", "(link)"
RANGE = "ncu-assist"  # the outer range, which ncu filters by
SEPARATOR = "|"
# Of Python functions as versions: what is pickled for the child, and what it says of their inputs and results.
PICKLED, DESCRIBED = "callables.pickle", "results.json"
INPUTS, REFERENCE = "the inputs", "the reference"  # with a blank: no function is called that


def range_name(version: str, workload: str, repeat: int = 0) -> str:
    """Return the name of the inner NVTX range of a call; ``repeat`` counts further calls of the same work from 1."""
    return SEPARATOR.join([version, workload, *([str(repeat)] if repeat else [])])


def call_of(name: str) -> tuple[str, str]:
    """Return version and workload from the name of an inner range."""
    version, workload, _ = _parts(name)
    return version, workload


def repeat_of(name: str) -> int:
    """Return which call of the same work an inner range is of; 0 is the first."""
    return _parts(name)[2]


def _parts(name: str) -> tuple[str, str, int]:
    version, _, rest = name.partition(SEPARATOR)
    workload, separator, repeat = rest.rpartition(SEPARATOR)
    return (version, workload, int(repeat)) if separator and repeat.isdecimal() else (version, rest, 0)


Kind = Literal["ready", "begin", "end", "round", "failed", "fatal", "problem"]
MARK = '{"event":'
LINE_LIMIT = 256_000  # letters of an event: what is longer is the output of a kernel, made to look like one
CONTEXT_LOST = 5  # the exit code of a child whose GPU answers no more


@dataclass(frozen=True)
class Event:
    """``begin`` and ``end`` frame work on a version; ``round`` counts bench rounds (index of total).

    ``failed``: this version did not do this, the child goes on. ``fatal``: the GPU context is lost, the child ends.
    ``problem``: no version is to blame; ``text`` is the message, ``hint``, ``exit_code`` and ``kind`` as in
    NcuAssistError.
    """

    event: Kind
    stage: str = ""
    version: str = ""
    workload: str = ""
    index: int = 0
    total: int = 0
    text: str = ""
    hint: str = ""
    exit_code: int = 0
    kind: str = ""


def emit(event: Event) -> None:
    """Write an event to stdout at once, on a line of its own whatever a kernel printed before it."""
    sys.stdout.write(f"\n{msgspec.json.encode(event).decode()}\n")
    sys.stdout.flush()


def parse(line: str) -> Event | None:
    """Return the event in a line of the child's stdout, None for anything else."""
    start = line.rfind(MARK)
    if start < 0 or len(line) - start > LINE_LIMIT:
        return None
    try:
        return msgspec.json.decode(line[start:], type=Event)
    except (msgspec.DecodeError, RecursionError):  # a kernel may print anything, nested as deep as it likes
        return None


def exit_code_of(work: Callable[[], int]) -> int:
    """Do the work and return the exit code: its own, or the one of the error that was reported."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a call that hangs in C never gets back to Python to be interrupted
    try:
        return work()
    except NcuAssistError as error:
        emit(Event("problem", text=error.message, hint=error.hint, exit_code=error.exit_code, kind=error.kind))
        return error.exit_code


KINDS: dict[str, type[NcuAssistError]] = {one.kind: one for one in (NoTorch,)}
BY_EXIT_CODE: dict[int, type[NcuAssistError]] = {2: UsageProblem, 5: StageFailed, 6: EnvironmentProblem}


def error_of(problem: Event) -> NcuAssistError:
    """Return the error that a child reported as it was raised there."""
    known = KINDS.get(problem.kind) or BY_EXIT_CODE.get(problem.exit_code, NcuAssistError)
    return known(problem.text, problem.hint)
