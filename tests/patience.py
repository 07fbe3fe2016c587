"""No test passes or fails by how fast the machine is: it waits for events, up to a ceiling that only a hang reaches.

Where a limit of time is itself under test, what is slow never ends, and ``leaping`` lets the limit pass at once.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any

import pytest

import ncu_assist

CEILING_S = 300.0
LEAP_S = 1e6
PACKAGE = str(Path(ncu_assist.__file__).parent)


def leaping(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, happened: Callable[[], bool], again: bool = False
) -> None:
    """Let eleven days pass in a module's clock as soon as something has happened.

    ``again``: and whenever it is read from then on, since a sign of life may be read that was given before.
    """
    leaps = count(1)

    def monotonic() -> float:
        return time.monotonic() + (LEAP_S * (next(leaps) if again else 1) if happened() else 0.0)

    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=time.sleep, monotonic=monotonic))


def soon(condition: Callable[[], bool]) -> bool:
    """Wait until a condition holds of which no event tells."""
    deadline = time.monotonic() + CEILING_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def has_ended(pid: int) -> bool:
    """Wait until a process has ended, whoever is its parent."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], CEILING_S)[0])
    finally:
        os.close(handle)


def lines_run(work: Callable[[], object]) -> int:
    """Return how many lines of this package's own code some work takes: the same number on every machine."""
    lines = 0

    def line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return line

    before = sys.gettrace()
    sys.settrace(lambda frame, *_: line if frame.f_code.co_filename.startswith(PACKAGE) else None)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines


def grows_linearly(work: Callable[[int], object], size: int) -> bool:
    """Whether twice the size takes about twice the lines: what grows with the square takes four times as many."""
    return lines_run(lambda: work(2 * size)) < 3 * lines_run(lambda: work(size))


def press_ctrl_c() -> None:
    """Send SIGINT to the main thread, from any: the kernel may give one for the process to whoever sends it."""
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, signal.SIGINT)
