"""How far a long row of steps is: told where it is worked on, shown by whoever listens above."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

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
