"""The openai client of one endpoint: no hidden retries, no redirects, no proxy to this machine, bounded errors."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from ncu_assist.suggest.model.address import is_local
from ncu_assist.suggest.model.failures import refusal
from ncu_assist.suggest.model.records import Limits
from ncu_assist.suggest.model.secret import Key, Scrubber

if TYPE_CHECKING:
    from openai import OpenAI

NO_KEY = "none"  # the client insists on one; servers without keys ignore it
ERROR_BYTES = 65_536  # of an error's body that are read: messages are shorter
RESET_WHEN_CLOSED = struct.pack("ii", 1, 0)  # for SO_LINGER: on, for no time
GRACE_S = 5.0  # beyond the time limits, after which a reading thread that nobody waits for ends by itself


class Reply(Protocol):
    """What the client gives for a request whose body is still to be read."""

    def iter_bytes(self, chunk_size: int | None = None) -> Iterator[bytes]: ...


@dataclass(frozen=True)
class Line:
    """A client and the address that it talks to.

    ``streams`` are the connections it has opened, the newest last; ``scrubber`` takes the key out of what comes back.
    """

    client: OpenAI
    address: str
    streams: list[Any]
    scrubber: Scrubber

    def completion(self, request: dict[str, Any]) -> AbstractContextManager[Reply]:
        """Put one question. Entering the context sends it; Refused is raised for any answer but a success."""
        create: Any = self.client.chat.completions.with_streaming_response.create  # overloads by literal arguments
        reply: AbstractContextManager[Reply] = create(**request, extra_headers={"Accept-Encoding": "identity"})
        return reply

    def models(self) -> AbstractContextManager[Reply]:
        """Ask for the list of models, likewise."""
        return self.client.models.with_streaming_response.list()

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
def connected(address: str, key: Key | None, limits: Limits) -> Iterator[Line]:
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
    client = OpenAI(
        api_key=key.reveal() if key else NO_KEY,
        base_url=address,
        timeout=Timeout(silence, connect=limits.connect_s),
        max_retries=0,
        http_client=transport,
    )
    line = Line(client, address, streams, scrubber)
    try:
        yield line
    finally:
        line.hang_up()  # whatever ended the block, and wherever it was then
        client.close()


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
