"""How far long work is: told where it is done, to a reporter or whoever listens above, who shows it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

T = TypeVar("T")
Listener = Callable[[str, int, int], None]  # what is done, how many steps are done, of how many
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def told_to(listener: Listener | None) -> Iterator[None]:
    """Tell a listener of all rows of steps that are begun in the block."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def teller(what: str, total: int) -> Callable[[int], None]:
    """Return what tells whoever listens now how many of so many steps are done; from other threads too."""
    listener = _listener.get()
    if listener is None:
        return lambda _done: None
    return lambda done: listener(what, done, total)


def steps(what: str, items: Sequence[T]) -> Iterator[T]:
    """Yield the items, and tell before each and at the end how far it is; a row within a row tells nothing."""
    tell, listener = teller(what, len(items)), _listener.get()
    _listener.set(None)
    try:
        for done, item in enumerate(items):
            tell(done)
            yield item
    finally:
        tell(len(items))
        _listener.set(listener)


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
