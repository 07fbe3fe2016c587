"""The openai client of one endpoint, with a limit on every wait and Ctrl-C heard at once."""

from __future__ import annotations

import queue
import socket
import struct
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from ncu_assist.errors import ModelProblem
from ncu_assist.suggest.model.endpoint import Key, ModelLimits, Scrubber, is_local
from ncu_assist.suggest.model.failures import Dropped, Refused, Unreachable, refusal

if TYPE_CHECKING:
    from openai import OpenAI

MORE_TIME = "ask again later, or a faster model with --model"
NO_KEY = "none"  # the client insists on one; servers without keys ignore it
ERROR_BYTES = 65_536  # of an error's body that are read: messages are shorter
RESET_WHEN_CLOSED = struct.pack("ii", 1, 0)  # for SO_LINGER: on, for no time
GRACE_S = 5.0  # beyond the time limits, after which a reading thread that nobody waits for ends by itself
CHUNKS_AHEAD = 64  # that wait to be read, before the endpoint is made to wait
STOP_CHECK_S = 0.1


class Clock:
    """The time limits of one answer, all its retries and waits included."""

    def __init__(self, limits: ModelLimits) -> None:
        self.limits = limits
        self._start = time.monotonic()
        self._spoken = False

    def elapsed(self) -> float:
        """Return the seconds since the question was put."""
        return time.monotonic() - self._start

    def left(self) -> float:
        """Return the seconds that remain of the whole."""
        return self.limits.whole_s - self.elapsed()

    def call(self) -> None:
        """Begin another request: its first word is waited for anew."""
        self._spoken = False

    def spoken(self) -> None:
        """Take note that the reply has begun."""
        self._spoken = True

    def patience(self) -> float:
        """Return how long to wait for the next sign of life, in seconds, 0 or less when time is up."""
        return min(self.left(), self.limits.silence_s if self._spoken else self.limits.first_s)

    def overdue(self) -> ModelProblem:
        """Return what to say once patience is at its end."""
        if self.left() <= 0:
            return ModelProblem(f"the model took longer than the {self.limits.whole_s:g} s allowed", MORE_TIME)
        if self._spoken:
            silence = self.limits.silence_s
            return ModelProblem(f"the model fell silent in the middle of its reply, for {silence:g} s", MORE_TIME)
        return ModelProblem(f"the model said nothing for {self.limits.first_s:g} s", MORE_TIME)


class HttpReply(Protocol):
    """What the client gives for a request whose body is still to be read."""

    def iter_bytes(self, chunk_size: int | None = None) -> Iterator[bytes]: ...


@dataclass(frozen=True)
class ModelClient:
    """The client of the openai package and the address that it talks to.

    ``streams`` are the connections it has opened, the newest last; ``scrubber`` takes the key out of what comes back.
    """

    library: OpenAI
    address: str
    streams: list[Any]
    scrubber: Scrubber

    def completion(self, request: dict[str, Any]) -> AbstractContextManager[HttpReply]:
        """Put one question. Entering the context sends it; Refused is raised for any answer but a success."""
        create: Any = self.library.chat.completions.with_streaming_response.create  # overloads by literal arguments
        reply: AbstractContextManager[HttpReply] = create(**request, extra_headers={"Accept-Encoding": "identity"})
        return reply

    def models(self) -> AbstractContextManager[HttpReply]:
        """Ask for the list of models, likewise."""
        return self.library.models.with_streaming_response.list()

    def hang_up(self) -> None:
        """Shut the connections, which wakes who reads from them, and tells the endpoint to stop writing.

        They are reset when they are closed: an endpoint whose window is full would not notice a mere end.
        """
        for stream in self.streams:
            connection = stream.get_extra_info("socket")
            if connection is not None:
                with suppress(OSError):
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_WHEN_CLOSED)
                    connection.shutdown(socket.SHUT_RDWR)
        self.streams.clear()


@contextmanager
def connected(address: str, key: Key | None, limits: ModelLimits) -> Iterator[ModelClient]:
    """Yield a client for ``address`` while the block runs."""
    from openai import DefaultHttpxClient, OpenAI, Timeout

    scrubber = Scrubber(key)
    streams: list[Any] = []
    silence = max(limits.first_s, limits.silence_s) + GRACE_S
    transport = DefaultHttpxClient(
        follow_redirects=False,  # the key goes where the user sent it, nowhere else
        trust_env=not is_local(address),  # a proxy of the environment cannot reach this machine's own servers
        event_hooks={"request": [partial(_watch, streams)], "response": [partial(_raise_unless_success, scrubber)]},
    )
    library = OpenAI(
        api_key=key.reveal() if key else NO_KEY,
        base_url=address,
        timeout=Timeout(silence, connect=limits.connect_s),
        max_retries=0,
        http_client=transport,
    )
    client = ModelClient(library, address, streams, scrubber)
    try:
        yield client
    finally:
        client.hang_up()  # whatever ended the block, and wherever it was then
        library.close()


def _watch(streams: list[Any], request: Any) -> None:
    def note(event: str, facts: dict[str, Any]) -> None:
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            streams.append(facts["return_value"])

    request.extensions["trace"] = note  # the library's own way to tell what it does; the socket has no other


def _raise_unless_success(scrubber: Scrubber, response: Any) -> None:
    if response.is_success:
        return
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > ERROR_BYTES:
            break
    raise refusal(response.status_code, response.headers, bytes(body[:ERROR_BYTES]), scrubber.whole)


Opening = Callable[[], AbstractContextManager[HttpReply]]


def received(client: ModelClient, opening: Opening, clock: Clock) -> Generator[bytes, None, None]:
    """Yield the body of a reply as it comes. The connections of ``client`` are shut when the iterator is closed.

    Raises ModelProblem where the clock's patience ends, Refused, Dropped or Unreachable for what went wrong.
    """
    reader = _Reader(opening)
    try:
        reader.start()  # waits for its thread, so that Ctrl-C may come meanwhile
        while (chunk := reader.next_within(clock)) is not None:
            yield chunk
    finally:
        reader.forget()
        client.hang_up()


class _Reader:
    """Reads one reply in a thread of its own, so that every wait has a limit and Ctrl-C is heard at once.

    The client's own limits are per read of the socket: names that are looked up, headers that drip, and a stream
    without end would pass them.
    """

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
