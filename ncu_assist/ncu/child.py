"""The child processes that read reports: what they may take, and how their failures are told."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ncu_assist import process
from ncu_assist.errors import DamagedData, NcuAssistError

MEMORY_BYTES = 2 << 30
WORDS_LIMIT = 300  # characters of a failed reader's output in a message


@dataclass(frozen=True)
class Reading:
    """What a child process reads, and with whose reader, in the words of messages; ``limit_s`` is for all of it."""

    what: str
    reader: str
    limit_s: float
    said: Mapping[int, type[NcuAssistError]] = field(default_factory=dict)  # errors that it tells of, by exit code


def run_child(
    argv: Sequence[str], reading: Reading, timeout_s: float, stopped: Callable[[], bool] | None = None
) -> None:
    """Run a module of ours with arguments, until it ends or ``stopped`` says yes.

    Raises what it tells of as JSON in the last line of stderr, and DamagedData when it crashes or does not end within
    ``timeout_s``.
    """
    done = process.run([sys.executable, "-m", *argv], timeout_s=timeout_s, is_stuck=stopped)
    if done.timed_out:
        raise DamagedData(f"{reading.what} could not be read within {reading.limit_s:g} s", "profile again")
    last = (done.stderr.strip().splitlines() or [""])[-1]  # NVIDIA's reader may have written before it
    if done.exit_code in reading.said and last.startswith("{"):
        told = json.loads(last)
        raise reading.said[done.exit_code](told["message"][:WORDS_LIMIT], told["hint"])
    if done.exit_code != 0:
        words = (last or f"exit code {done.exit_code}")[:WORDS_LIMIT]
        raise DamagedData(f"{reading.what} cannot be read: {reading.reader} failed ({words})", "profile again")
