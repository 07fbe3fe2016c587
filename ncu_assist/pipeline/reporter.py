"""How the stages speak while they work: the caller passes something that shows it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Reporter(Protocol):
    """``note`` is a line that stays; ``status`` replaces the live line."""

    def note(self, text: str) -> None: ...

    def status(self, text: str) -> None: ...


class Pace:
    """Says how long a row of equal steps still takes, by those that are done; nothing before the first."""

    def __init__(self, total: int, now: Callable[[], float] = time.monotonic) -> None:
        self._total, self._now = total, now
        self._started = now()

    def left(self, done: int) -> str:
        """Return the time left as `` · 12 s left`` where it is a second or more, else nothing."""
        seconds = (self._now() - self._started) / done * (self._total - done) if done else 0.0
        return f" · {minutes(seconds)} left" if seconds >= 1 else ""


def minutes(seconds: float) -> str:
    """Return a time as a person plans with it: ``40 s``, ``3 min``."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
