"""Reads one reply in a thread of its own, so that every wait has a limit and Ctrl-C is heard at once.

The client's own limits are per read of the socket: names that are looked up, headers that drip, and a stream without
end would pass them.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, suppress

from ncu_assist.suggest.model.clock import Clock
from ncu_assist.suggest.model.failures import Dropped, Refused, Unreachable
from ncu_assist.suggest.model.line import Line, Reply

CHUNKS_AHEAD = 64  # that wait to be read, before the endpoint is made to wait
STOP_CHECK_S = 0.1

Opening = Callable[[], AbstractContextManager[Reply]]


def received(line: Line, opening: Opening, clock: Clock) -> Generator[bytes, None, None]:
    """Yield the body of a reply as it comes. The connections of ``line`` are shut when the iterator is closed.

    Raises ModelProblem where the clock's patience ends, Refused, Dropped or Unreachable for what went wrong.
    """
    reader = _Reader(opening)
    try:
        reader.start()  # waits for its thread, so that Ctrl-C may come meanwhile
        while (chunk := reader.next_within(clock)) is not None:
            yield chunk
    finally:
        reader.forget()
        line.hang_up()


class _Reader:
    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._waiting: queue.Queue[bytes | Exception | None] = queue.Queue(CHUNKS_AHEAD)
        self._unwanted = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._read, name="model reply", daemon=True).start()

    def next_within(self, clock: Clock) -> bytes | None:
        """Return the next bytes, None at the end of the body."""
        patience = clock.patience()
        if patience <= 0:
            raise clock.overdue()
        try:
            found = self._waiting.get(timeout=patience)
        except queue.Empty:
            raise clock.overdue() from None
        if isinstance(found, Exception):
            raise translated(found) from None
        return found

    def forget(self) -> None:
        """Let the thread end as soon as it has something to hand over."""
        self._unwanted.set()

    def _read(self) -> None:
        try:
            with self._opening() as reply:
                for chunk in reply.iter_bytes():
                    if not self._hand_over(chunk):
                        return
            self._hand_over(None)
        except Exception as error:
            self._hand_over(error)

    def _hand_over(self, found: bytes | Exception | None) -> bool:
        while not self._unwanted.is_set():
            with suppress(queue.Full):
                self._waiting.put(found, timeout=STOP_CHECK_S)
                return True
        return False


def translated(error: Exception) -> Exception:
    """Return what an exception of the client or of the library below it means; others are returned as they are.

    The library is told by name: the package has changed from one to another, with the same names of exceptions.
    """
    from openai import APIConnectionError

    cause = error.__cause__ if isinstance(error, APIConnectionError) and error.__cause__ else error
    if isinstance(cause, Refused):  # which older packages wrap, as they do anything that is raised while they send
        return cause
    library = type(cause).__module__.partition(".")[0]
    name, said = type(cause).__name__, str(cause) or type(cause).__name__
    if name in ("ConnectTimeout", "PoolTimeout"):
        return Unreachable("no connection came about in time")
    if name in ("ConnectError", "UnsupportedProtocol", "ProxyError") or library == "ssl":
        return Unreachable(said, final="CERTIFICATE_VERIFY" in said or name == "UnsupportedProtocol")
    if library in ("httpx", "httpx2", "httpcore", "httpcore2", "anyio") or isinstance(error, APIConnectionError):
        return Dropped(said)
    return error
