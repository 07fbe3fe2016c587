"""A real HTTP server on loopback that speaks the OpenAI protocol, and can fail in each way that real ones do."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-test-0123456789abcdefghijklmnop"


@dataclass(frozen=True)
class Asked:
    """One request: its path, headers in lower case, and body."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def rung(self) -> str:
        return str(self.body.get("response_format", {}).get("type", "fences"))


@dataclass
class Talk:
    """What a reply has in hand: the request, and the connection to answer on."""

    asked: Asked
    handler: BaseHTTPRequestHandler
    server: ProtocolServer

    def send(self, status: int, body: bytes, content_type: str, **headers: str) -> None:
        """Send a whole answer. ``retry_after="1"`` becomes the header Retry-After."""
        self.handler.send_response(status)
        for name, value in {"content-type": content_type, "content-length": str(len(body)), **headers}.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.end_headers()
        self.handler.wfile.write(body)

    def begin(self, content_type: str = "text/event-stream") -> None:
        """Begin an answer that comes in chunks."""
        self.handler.send_response(200)
        self.handler.send_header("content-type", content_type)
        self.handler.send_header("transfer-encoding", "chunked")
        self.handler.end_headers()

    def chunk(self, data: bytes) -> None:
        self.handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.handler.wfile.flush()

    def end(self) -> None:
        self.handler.wfile.write(b"0\r\n\r\n")

    def event(self, value: Any) -> None:
        self.chunk(f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n".encode())

    def wait(self, seconds: float) -> None:
        """Be slow, but not beyond the end of the test."""
        self.server.closing.wait(seconds)

    def leave(self) -> None:
        """Close the connection without having said that the answer is complete."""
        self.handler.close_connection = True

    def reset(self) -> None:
        """Break the connection off, as a crash does; what is under way to the client may be lost with it."""
        connection = self.handler.connection
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.handler.close_connection = True
        connection.close()


Reply = Callable[[Talk], None]


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return one event of a stream with ``fields`` in its delta."""
    choice = {"index": 0, "delta": fields, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def usage(prompt: int, reply: int) -> dict[str, Any]:
    """Return the last event of a stream whose tokens were asked for."""
    counts = {"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": counts}


def streamed(
    text: str, *, tokens: tuple[int, int] | None = (11, 7), finish: str = "stop", pieces: int = 3, pause_s: float = 0.0
) -> Reply:
    """Answer with ``text`` in ``pieces``; tokens are counted where the request asks for it, and ``tokens`` is given."""

    def reply(talk: Talk) -> None:
        talk.begin()
        talk.event(delta(role="assistant", content=""))
        step = max(1, -(-len(text) // pieces))
        for start in range(0, len(text), step):
            talk.event(delta(content=text[start : start + step]))
            talk.wait(pause_s)
        talk.event(delta(finish))
        if tokens is not None and talk.asked.body.get("stream_options", {}).get("include_usage"):
            talk.event(usage(*tokens))
        talk.event("[DONE]")
        talk.end()

    return reply


def calling(*calls: tuple[str, str], text: str = "", pieces: int = 3) -> Reply:
    """Ask for tools, each a name and its arguments as JSON, in fragments as OpenAI streams them."""

    def reply(talk: Talk) -> None:
        talk.begin()
        talk.event(delta(role="assistant", content=text or None))
        for index, (name, arguments) in enumerate(calls):
            head = {"index": index, "id": f"call_{name}_{index}", "type": "function"}
            talk.event(delta(tool_calls=[{**head, "function": {"name": name, "arguments": ""}}]))
            step = max(1, -(-len(arguments) // pieces))
            for start in range(0, len(arguments), step):
                piece = {"arguments": arguments[start : start + step]}
                talk.event(delta(tool_calls=[{"index": index, "function": piece}]))
        talk.event(delta("tool_calls"))
        if talk.asked.body.get("stream_options", {}).get("include_usage"):
            talk.event(usage(11, 7))
        talk.event("[DONE]")
        talk.end()

    return reply


def events(*values: Any, end: bool = True) -> Reply:
    """Answer with these events, text as it is; without ``end`` the connection is then closed."""

    def reply(talk: Talk) -> None:
        talk.begin()
        for value in values:
            talk.event(value)
        talk.end() if end else talk.leave()

    return reply


def error(status: int, message: str, code: str = "", **headers: str) -> Reply:
    """Answer with an error as OpenAI writes it."""
    body = {"error": {"message": message, "type": "invalid_request_error", "code": code or None, "param": None}}
    return raw(json.dumps(body).encode(), "application/json", status, **headers)


def raw(body: bytes, content_type: str = "text/event-stream", status: int = 200, **headers: str) -> Reply:
    """Answer with these bytes."""
    return lambda talk: talk.send(status, body, content_type, **headers)


def whole(text: str) -> Reply:
    """Answer without streaming, although it was asked for."""
    message = {"role": "assistant", "content": text}
    counts = {"prompt_tokens": 11, "completion_tokens": 7}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": counts}
    return raw(json.dumps(body).encode(), "application/json")


def slow(seconds: float, reply: Reply) -> Reply:
    """Say nothing for ``seconds``, then ``reply``."""

    def later(talk: Talk) -> None:
        talk.wait(seconds)
        reply(talk)

    return later


def endless(piece: bytes) -> Reply:
    """Send ``piece`` again and again until the client hangs up, which ``server.hung_up`` tells."""

    def reply(talk: Talk) -> None:
        talk.begin()
        try:
            while not talk.server.closing.is_set():
                talk.chunk(piece)
                talk.server.sent += len(piece)
        except OSError:
            talk.server.hung_up.set()
            talk.handler.close_connection = True

    return reply


def only(rungs: Sequence[str], text: str, refused: Reply) -> Reply:
    """Answer with ``text`` on ``rungs`` of the ladder, with ``refused`` on the others."""
    answer = streamed(text)
    return lambda talk: (answer if talk.asked.rung in rungs else refused)(talk)


@dataclass
class ProtocolServer:
    """Answers each question with the next of ``replies``, the last again and again; keeps what it was asked."""

    address: str = ""  # http://127.0.0.1:PORT
    replies: list[Reply] = field(default_factory=list)
    models: tuple[str, ...] | None = None  # of /v1/models; None: it has no such list
    asked: list[Asked] = field(default_factory=list)
    sent: int = 0  # bytes of endless replies
    hung_up: threading.Event = field(default_factory=threading.Event)
    closing: threading.Event = field(default_factory=threading.Event)
    _taken: int = 0

    @property
    def base_url(self) -> str:
        return f"{self.address}/v1"

    @property
    def questions(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.path.endswith("/chat/completions")]

    def next_reply(self) -> Reply:
        reply = self.replies[min(self._taken, len(self.replies) - 1)]
        self._taken += 1
        return reply

    def listing(self, talk: Talk) -> None:
        if self.models is None:
            talk.send(404, b"not here", "text/plain")
        else:
            data = [{"id": name, "object": "model"} for name in self.models]
            talk.send(200, json.dumps({"object": "list", "data": data}).encode(), "application/json")


@contextmanager
def protocol_server(*replies: Reply) -> Iterator[ProtocolServer]:
    """Serve on a free port of loopback while the block runs."""
    server = ProtocolServer(replies=list(replies))
    http = _Server(("127.0.0.1", 0), _handler(server))
    server.address = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        http.shutdown()
        http.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that hang up: tests do that."""


def _handler(server: ProtocolServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            server.next_reply()(self._talk(body))

        def do_GET(self) -> None:
            server.listing(self._talk({}))

        def log_message(self, format: str, *args: Any) -> None:
            """Leave the tests' stderr alone."""

        def _talk(self, body: dict[str, Any]) -> Talk:
            headers = {name.lower(): value for name, value in self.headers.items()}
            server.asked.append(Asked(self.path, headers, body))
            return Talk(server.asked[-1], self, server)

    return Handler
