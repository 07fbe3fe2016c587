"""The openai client of one endpoint. Every wait has a limit, and Ctrl-C works at once."""

from __future__ import annotations

import email.utils
import json
import math
import queue
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from ncu_assist.errors import ModelProblem
from ncu_assist.render.escape import one_line
from ncu_assist.store.drafts import ModelCost
from ncu_assist.suggest.model.endpoint import (
    CHARACTERS_PER_TOKEN,
    Key,
    ModelLimits,
    ReplyForm,
    Scrubber,
    ToolCall,
    is_local,
)
from ncu_assist.suggest.reply import THOUGHTS

if TYPE_CHECKING:
    from openai import OpenAI


QUOTED_CHARACTERS = 300  # of an endpoint's message
PASSING = (408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529)  # busy, restarting, or behind a busy proxy
GAVE_UP = (502, 504, 524)  # from a proxy that no longer waits for a model that may be at work
NO_CREDIT = re.compile(r"insufficient_quota|billing|credit|exceeded your current quota", re.IGNORECASE)
TOO_LARGE = re.compile(
    r"context.?(length|window|size)|too many tokens|prompt is too long|exceed_context", re.IGNORECASE
)
SET_KEY = "export OPENAI_API_KEY=..., or put the key in ~/.config/ncu-assist/key and chmod 600 it"


@dataclass(eq=False)  # exceptions are compared by identity
class Refused(Exception):
    """The endpoint answered with an error: HTTP status, message, code, and the seconds to wait before a retry."""

    status: int
    said: str
    code: str = ""
    retry_after_s: float | None = None


class Dropped(Exception):
    """The connection broke, or the reply was cut off."""


class Unreachable(Exception):
    """No connection could be made."""


class NeverReachable(Unreachable):
    """No connection can be made, and waiting will not help."""


def refusal(status: int, headers: Mapping[str, str], body: bytes, clean: Callable[[str], str]) -> Refused:
    """Return the error that an HTTP response describes; ``clean`` removes the key from its text."""
    text = body.decode("utf-8", "replace")
    try:
        said, code = error_words(json.loads(text))
    except (ValueError, RecursionError):
        said, code = page_title(text), ""
    if status < 400:
        said = f"redirects to {headers.get('location', 'nowhere')}"
    return Refused(status, clean(said)[:QUOTED_CHARACTERS], clean(code), retry_after(headers))


def error_words(body: Any) -> tuple[str, str]:
    """Return the message and code of an error object, as OpenAI, FastAPI and others write it."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return str(error), ""
    said = error.get("message") or error.get("detail") or error
    return str(said), " ".join(str(error[k]) for k in ("code", "type", "param") if error.get(k) is not None)


def page_title(text: str) -> str:
    """Return the title of a web page, or its first words without tags if it has none."""
    title = re.search(r"<title[^>]*>([^<]*)", text, re.IGNORECASE)
    words = title.group(1) if title else re.sub(r"<[^>]{0,2000}>", " ", text)
    return " ".join(words[: 4 * QUOTED_CHARACTERS].split())


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait by a Retry-After header, a number or a date; None without a usable value."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "")
    seconds = _number(text)
    if seconds is not None:
        return seconds
    parsed = email.utils.parsedate_tz(text)
    return max(0.0, email.utils.mktime_tz(parsed) - time.time()) if parsed else None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def missing_key() -> ModelProblem:
    """Return the problem to report if a remote endpoint is asked without a key."""
    return ModelProblem("there is no key for the endpoint: it is on another machine, and those want one", SET_KEY)


def key_wanted(refused: Refused) -> ModelProblem:
    """Return the problem to report if an endpoint on this machine was asked without a key and requires one."""
    return ModelProblem(
        f"the endpoint wants a key, and none was found (HTTP {refused.status}: {_reason(refused)})", SET_KEY
    )


def may_succeed_later(refused: Refused) -> bool:
    """Return whether the same request may succeed a little later."""
    return refused.status in PASSING and not NO_CREDIT.search(_code_and_words(refused))


def is_too_large(refused: Refused) -> bool:
    """Return whether the prompt is too long for the model."""
    return refused.status == 413 or bool(TOO_LARGE.search(_code_and_words(refused)))


def refusal_problem(refused: Refused, address: str) -> ModelProblem:
    """Return the problem to report for an error that a retry does not fix."""
    said = f"HTTP {refused.status}: {_reason(refused)}"
    if refused.status < 400:
        words = f"the endpoint {_reason(refused)}, where the key is not sent"
        return ModelProblem(words, "that address, as --base-url, if it is to be trusted")
    if is_too_large(refused):
        return ModelProblem(f"the prompt is longer than the model takes ({said})", "a smaller --max-prompt-tokens")
    if refused.status == 402 or NO_CREDIT.search(_code_and_words(refused)):
        return ModelProblem(f"the account has no credit left for this model ({said})", "another model with --model")
    if refused.status in (401, 403):
        return ModelProblem(f"the endpoint refused the key ({said})", SET_KEY)
    if refused.status == 429:
        return ModelProblem(f"the endpoint is rate-limited and stayed so ({said})", "ask again in some minutes")
    if refused.status in (404, 405):
        return ModelProblem(f"{address} has no chat completions ({said})", "check --base-url: most end in /v1")
    if refused.status >= 500:
        return ModelProblem(f"the endpoint failed ({said})", "ask again in some minutes")
    return ModelProblem(f"the endpoint refused the request ({said})", "another model with --model")


def connection_problem(failure: Dropped | Unreachable, address: str) -> ModelProblem:
    """Return the problem to report if a connection fails or breaks."""
    said = one_line(str(failure))
    if isinstance(failure, Dropped):
        return ModelProblem(f"the connection to {address} broke off: {said}", "ask again")
    return ModelProblem(f"{address} cannot be reached: {said}", "start the server there, or check --base-url")


def retry_words(failure: Refused | Dropped | Unreachable) -> str:
    """Describe a failure in a few words, for the line that announces a retry."""
    if isinstance(failure, Refused):
        busy = "the endpoint is rate-limited" if failure.status == 429 else "the endpoint failed"
        return f"{busy} (HTTP {failure.status})"
    if isinstance(failure, Dropped):
        return "the connection broke off"
    return "the endpoint cannot be reached"


def _reason(refused: Refused) -> str:
    return one_line(refused.said, QUOTED_CHARACTERS) or "no reason given"


def _code_and_words(refused: Refused) -> str:
    return f"{refused.code} {refused.said}"


MORE_TIME = "ask again later, or a faster model with --model"
NO_KEY = "none"  # the client requires a key; servers without keys ignore it
ERROR_BYTES = 65_536  # read of an error's body: messages are shorter
RESET_WHEN_CLOSED = struct.pack("ii", 1, 0)  # for SO_LINGER: on, with a timeout of zero
GRACE_S = 5.0  # after the time limits, an abandoned reader thread ends by itself
CHUNKS_AHEAD = 64  # read ahead before the endpoint has to wait
STOP_CHECK_S = 0.1


class Clock:
    """The time limits of one answer, including all retries and waits."""

    def __init__(self, limits: ModelLimits) -> None:
        self.limits = limits
        self._start = time.monotonic()
        self._spoken = False

    def elapsed(self) -> float:
        """Return the seconds since the question was asked."""
        return time.monotonic() - self._start

    def left(self) -> float:
        """Return the seconds left for the whole answer."""
        return self.limits.whole_s - self.elapsed()

    def call(self) -> None:
        """Start another request and reset the wait for its first word."""
        self._spoken = False

    def spoken(self) -> None:
        """Record that the reply has begun."""
        self._spoken = True

    def patience(self) -> float:
        """Return the seconds to wait for the next data; 0 or less if time is up."""
        return min(self.left(), self.limits.silence_s if self._spoken else self.limits.first_s)

    def overdue(self) -> ModelProblem:
        """Return the problem to report if the endpoint took too long."""
        if self.left() <= 0:
            return ModelProblem(f"the model took longer than the {self.limits.whole_s:g} s allowed", MORE_TIME)
        if self._spoken:
            silence = self.limits.silence_s
            return ModelProblem(f"the model fell silent in the middle of its reply, for {silence:g} s", MORE_TIME)
        return ModelProblem(f"the model said nothing for {self.limits.first_s:g} s", MORE_TIME)


class HttpReply(Protocol):
    """The response to a request, before its body is read."""

    def iter_bytes(self, chunk_size: int | None = None) -> Iterator[bytes]: ...


@dataclass(frozen=True)
class ModelClient:
    """The client of the openai package and the address that it connects to.

    ``streams`` are the connections it has opened, newest last; ``scrubber`` removes the key from responses.
    """

    library: OpenAI
    address: str
    streams: list[Any]
    scrubber: Scrubber

    def completion(self, request: dict[str, Any]) -> AbstractContextManager[HttpReply]:
        """Send one question when the context is entered. Raises Refused for any error response."""
        create: Any = self.library.chat.completions.with_streaming_response.create  # overloads by literal arguments
        reply: AbstractContextManager[HttpReply] = create(**request, extra_headers={"Accept-Encoding": "identity"})
        return reply

    def models(self) -> AbstractContextManager[HttpReply]:
        """Request the list of models when the context is entered. Raises Refused for any error response."""
        return self.library.models.with_streaming_response.list()

    def hang_up(self) -> None:
        """Close the connections, which wakes their readers and stops the endpoint from writing.

        The connections are reset: an endpoint whose window is full would not notice a normal close.
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
    """Yield a client for ``address`` for the duration of the block."""
    from openai import DefaultHttpxClient, OpenAI, Timeout

    scrubber = Scrubber(key)
    streams: list[Any] = []
    silence = max(limits.first_s, limits.silence_s) + GRACE_S
    transport = DefaultHttpxClient(
        follow_redirects=False,  # the key goes where the user sent it, nowhere else
        trust_env=not is_local(address),  # a proxy from the environment cannot reach servers on this machine
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
        client.hang_up()  # for any exit from the block
        library.close()


def _watch(streams: list[Any], request: Any) -> None:
    def note(event: str, facts: dict[str, Any]) -> None:
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            streams.append(facts["return_value"])

    request.extensions["trace"] = note  # the library's own trace hook; nothing else exposes the socket


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
    """Yield the body of a reply as it arrives. Closing the iterator closes the connections of ``client``.

    Raises ModelProblem if the clock runs out, and Refused, Dropped or Unreachable for a failed request.
    """
    reader = _Reader(opening)
    try:
        reader.start()  # waits for its thread to start, so Ctrl-C may arrive here
        while (chunk := reader.next_within(clock)) is not None:
            yield chunk
    finally:
        reader.forget()
        client.hang_up()


class _Reader:
    """Reads one reply in its own thread, so that every wait has a limit and Ctrl-C works at once.

    The client's own limits apply to single socket reads. They do not cover name lookups, slow headers or an endless
    stream.
    """

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._waiting: queue.Queue[bytes | Exception | None] = queue.Queue(CHUNKS_AHEAD)
        self._unwanted = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._read, name="model reply", daemon=True).start()

    def next_within(self, clock: Clock) -> bytes | None:
        """Return the next bytes, or None at the end of the body."""
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
        """Let the thread end at its next chunk."""
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
    """Return the failure that an exception of the client or of its HTTP library means; return any other unchanged.

    The HTTP library is matched by name: the package has switched libraries, and both use the same exception names.
    """
    from openai import APIConnectionError

    cause = error.__cause__ if isinstance(error, APIConnectionError) and error.__cause__ else error
    if isinstance(cause, Refused):  # older packages wrap it, like any exception raised while they send
        return cause
    library = type(cause).__module__.partition(".")[0]
    name, said = type(cause).__name__, str(cause) or type(cause).__name__
    if name in ("ConnectTimeout", "PoolTimeout"):
        return Unreachable("no connection came about in time")
    if name in ("ConnectError", "UnsupportedProtocol", "ProxyError") or library == "ssl":
        is_final = "CERTIFICATE_VERIFY" in said or name == "UnsupportedProtocol"
        return (NeverReachable if is_final else Unreachable)(said)
    if library in ("httpx", "httpx2", "httpcore", "httpcore2", "anyio") or isinstance(error, APIConnectionError):
        return Dropped(said)
    return error


BYTES_PER_CHARACTER = 6  # at most, if JSON writes every character as \u1234
LINE_OVERHEAD_BYTES = 65_536  # of an event, in addition to its text
EVENT_BYTES_PER_CHARACTER = 400  # of a stream: an event of some 300 bytes often carries a single character
PAGE_BYTES = 16_384  # read of a web page to find its title
OTHER_FIELDS = (b"", b"event", b"id", b"retry")  # of an event; a comment has no name, and keeps connections alive
DONE = "[DONE]"
REFUSAL_SHOWN = 200  # characters
MOST_CALLS = 50  # of one reply
NO_ENDPOINT = "check --base-url: most end in /v1"

Clean = Callable[[str], str]
Show = Callable[[str], None]
REASON_FIELDS = ("finish_reason", "message", "detail", "reason", "status")  # of an answer without choices
THOUGHT_FIELDS = ("reasoning_content", "reasoning")  # as vLLM, DeepSeek, llama.cpp and OpenRouter, Ollama name them
FENCE = "```"


def too_long(limit: int) -> ModelProblem:
    """Return the problem to report for a reply longer than ``limit`` characters."""
    words = f"the reply grew beyond {limit:,} characters and was cut off: no kernel is that long"
    return ModelProblem(words, "ask again, or another model with --model")


def objects(chunks: Iterable[bytes], limit: int, clean: Clean) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a reply, up to its end mark and at most ``limit`` characters of text.

    ``clean`` removes the key from all text.

    Raises ModelProblem for a reply that is too long, a web page or not JSON; Dropped for a reply that is cut off.
    """
    source = iter(chunks)
    first = b""
    for chunk in source:
        first += chunk.lstrip() if not first else chunk
        if first:
            break
    rest = chain([first], source)
    if first.startswith(b"<"):
        raise _web_page(rest, clean)
    if first.startswith(b"{"):
        yield _single(rest, limit, clean)
        yield {DONE: True}
    else:
        yield from _events(rest, limit, clean)


def _events(chunks: Iterable[bytes], limit: int, clean: Clean) -> Iterator[dict[str, Any]]:
    seen, stray = False, b""
    for line in _lines(chunks, limit):
        name, colon, value = line.partition(b":")
        if colon and name == b"data":
            data = clean(value.decode("utf-8", "replace")).strip()
            if data.startswith(DONE):
                yield {DONE: True}
                return
            if data:
                seen = True
                yield _event(data)
        elif name not in OTHER_FIELDS:
            stray = stray or line
    if stray and not seen:
        begins = one_line(clean(stray.decode("utf-8", "replace")), 80)
        raise ModelProblem(f"the endpoint's answer is no stream of events; it begins: {begins}", NO_ENDPOINT)


def _event(data: str) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        words = f"the endpoint sent an event that is no JSON object: {one_line(data, 80)}"
        raise ModelProblem(words, "ask again; if it stays so, the endpoint does not speak OpenAI's protocol")
    return found


def _lines(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """Yield the lines of a body, including an unfinished last line."""
    buffer, total, finished = bytearray(), 0, False
    for chunk in chunks:
        total += len(chunk)
        buffer += chunk
        if b"\n" in chunk:
            *lines, last = bytes(buffer).split(b"\n")
            buffer, finished = bytearray(last), True
            yield from (line.rstrip(b"\r") for line in lines)
        if len(buffer) > _most(limit) or total > limit * EVENT_BYTES_PER_CHARACTER + LINE_OVERHEAD_BYTES:
            raise too_long(limit)
    if buffer and not finished and not buffer.startswith(b"data:"):
        yield bytes(buffer)


def _single(chunks: Iterable[bytes], limit: int, clean: Clean) -> dict[str, Any]:
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > _most(limit):
            raise too_long(limit)
    try:
        found = json.loads(clean(body.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        raise Dropped("its JSON breaks off before the end") from None
    return found if isinstance(found, dict) else {}


def _web_page(chunks: Iterable[bytes], clean: Clean) -> ModelProblem:
    page = b""
    for chunk in chunks:
        page += chunk
        if len(page) > PAGE_BYTES:
            break
    title = one_line(clean(page_title(page.decode("utf-8", "replace"))), 80)
    return ModelProblem(f"the endpoint answered with a web page instead of a reply: {title or 'untitled'}", NO_ENDPOINT)


def _most(limit: int) -> int:
    return limit * BYTES_PER_CHARACTER + LINE_OVERHEAD_BYTES


def _error(found: dict[str, Any]) -> Refused:
    said, code = error_words(found)
    status = _table(found.get("error")).get("code")
    known = isinstance(status, int) and 400 <= status < 600
    return Refused(status if known and isinstance(status, int) else 500, said, code)


def _content(value: Any) -> str:
    if isinstance(value, list):  # a list of parts, as some endpoints write it
        return "".join(_text(_table(part).get("text")) for part in value)
    return _text(value)


def _first(value: Any) -> dict[str, Any]:
    return _table(value[0]) if isinstance(value, list) and value else {}


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any, known: int | None) -> int | None:
    """Return a count of tokens, or ``known`` if the value is not a count."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else known


@dataclass
class ReplyInProgress:
    """A reply as it arrives, or the tool ``calls`` in place of one.

    ``thought`` counts the characters of reasoning, which are not stored. ``begun``: the endpoint accepted the request
    and sent something. ``reason`` is what it says in place of choices.
    """

    show: Show
    scrubber: Scrubber
    limit: int
    begun: bool = False
    has_choices: bool = False
    reason: str = ""
    thought: int = 0
    finish: str = ""
    refusal: str = ""
    prompt_tokens: int | None = None
    reply_tokens: int | None = None
    calls: list[ToolCall] = field(default_factory=list)
    _places: dict[int, int] = field(default_factory=dict)  # index of a fragment -> the call it belongs to
    _texts: list[str] = field(default_factory=list)
    _characters: int = 0

    @property
    def text(self) -> str:
        return "".join(self._texts)

    @property
    def characters(self) -> int:
        """The number of characters that the model wrote, including its reasoning."""
        return self._characters + self.thought

    def add(self, found: dict[str, Any]) -> bool:
        """Add one object of the reply and return whether it contains output of the model.

        Fields of an unexpected type count as absent. Raises Refused for an error object in place of a reply,
        and ModelProblem if the reply exceeds its limit.
        """
        self.begun = True
        if found.get(DONE):
            self.finish = self.finish or "done"  # the end mark of the stream comes after the finish reason
            return False
        if found.get("error"):
            raise _error(found)
        choice, usage = _first(found.get("choices")), _table(found.get("usage"))
        self.has_choices = self.has_choices or bool(choice)
        self.reason = self.reason or next((t for t in (_text(found.get(name)) for name in REASON_FIELDS) if t), "")
        said = _table(choice.get("delta")) or _table(choice.get("message"))
        text, refusal = _content(said.get("content")), _text(said.get("refusal"))
        thought = next((t for t in (_text(said.get(name)) for name in THOUGHT_FIELDS) if t), "")
        self.thought += len(thought)
        self.refusal += refusal
        asked = self._take_calls(said.get("tool_calls"))
        self._characters += len(text) + len(refusal) + asked
        if self.characters > self.limit:
            raise too_long(self.limit)
        self._say(self.scrubber.feed(text))
        self.finish = self.finish or _text(choice.get("finish_reason"))
        self.prompt_tokens = _count(usage.get("prompt_tokens"), self.prompt_tokens)
        self.reply_tokens = _count(usage.get("completion_tokens"), self.reply_tokens)
        return bool(text or thought or refusal or asked)

    def _take_calls(self, fragments: Any) -> int:
        """Add fragments of tool calls and return their number of characters.

        Name and id come first, then arguments in pieces under the same index. Some servers omit it; others use one
        index for several calls with different ids.
        """
        taken = 0
        for fragment in map(_table, fragments if isinstance(fragments, list) else ()):
            function, index = _table(fragment.get("function")), _count(fragment.get("index"), 0) or 0
            id, name, arguments = _text(fragment.get("id")), _text(function.get("name")), function.get("arguments")
            more = json.dumps(arguments) if isinstance(arguments, dict) else _text(arguments)
            place = self._places.get(index)
            if place is None or (name and id not in ("", self.calls[place].id)):
                if not name or len(self.calls) == MOST_CALLS:
                    continue
                place = self._places[index] = len(self.calls)
                self.calls.append(ToolCall(id or f"call_{place}", name, ""))
            call = self.calls[place]
            self.calls[place] = replace(call, arguments=self.scrubber.whole(call.arguments + more))
            taken += len(name) + len(more)
        return taken

    def end(self) -> None:
        """Record the end of the stream. Raises Dropped if the reply is incomplete."""
        self._say(self.scrubber.rest())
        if not self.finish and (self.has_choices or not self.begun):
            raise Dropped("the reply ended before its end")

    def _say(self, text: str) -> None:
        if text:
            self._texts.append(text)
            self.show(text)


def gather(client: ModelClient, opening: Opening, clock: Clock, gathered: ReplyInProgress) -> None:
    """Ask a question and add the whole reply to ``gathered``.

    Raises the errors of ``received``, ``objects`` and ``add``; ``gathered`` then has the part that arrived.
    """
    clock.call()
    with closing(received(client, opening, clock)) as chunks:
        for found in objects(chunks, gathered.limit, client.scrubber.whole):
            if gathered.add(found):
                clock.spoken()
    gathered.end()


def is_charged(failure: Exception, gathered: ReplyInProgress) -> bool:
    """Return whether a failed request counts as sent: the model may have read the prompt.

    It has not if there was no connection, or if the endpoint answered with an error status instead of a reply.
    """
    if isinstance(failure, Refused):
        return gathered.begun or failure.status in GAVE_UP
    return not isinstance(failure, Unreachable)


def with_reply(cost: ModelCost, gathered: ReplyInProgress, prompt_characters: int, seconds: float) -> ModelCost:
    """Return ``cost`` plus a request and its reply, complete, cut off or absent.

    ``seconds`` count from when the question was asked.
    """
    prompt, reply = gathered.prompt_tokens, gathered.reply_tokens
    return ModelCost(
        calls=cost.calls + 1,
        prompt_tokens=cost.prompt_tokens + (_estimate(prompt_characters) if prompt is None else prompt),
        reply_tokens=cost.reply_tokens + (_estimate(gathered.characters) if reply is None else reply),
        seconds=seconds,
        estimated=cost.estimated or prompt is None or reply is None,
    )


def _estimate(characters: int) -> int:
    return math.ceil(characters / CHARACTERS_PER_TOKEN)


def without_thoughts(text: str) -> str:
    """Return ``text`` without the reasoning that some servers put in front of it."""
    return THOUGHTS.sub("", text, count=1)


def form_of(text: str, asked: ReplyForm) -> ReplyForm | None:
    """Return the form of ``text``: the one asked for, or fences; None for neither."""
    if asked == "fences" or _is_object(text):
        return asked
    return "fences" if FENCE in text else None


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def unusable(gathered: ReplyInProgress, text: str) -> ModelProblem | None:
    """Return why a complete reply cannot be used (cut off, refused, without choices, empty); None if it can.

    ``text`` is the reply without its reasoning.
    """
    if gathered.refusal or gathered.finish == "content_filter":
        said = one_line(gathered.refusal, REFUSAL_SHOWN) or "its provider's filter stopped the reply"
        return ModelProblem(f"the model refused: {said}", "another model with --model")
    if gathered.finish == "length":
        words = f"the reply was cut off at the limit of tokens, after {len(text):,} characters"
        thought = f" and {gathered.thought:,} of reasoning" if gathered.thought else ""
        return ModelProblem(words + thought, "a model or an endpoint that may write more")
    if not gathered.has_choices:
        said = f": {reason}" if (reason := one_line(gathered.reason, REFUSAL_SHOWN)) else ""
        return ModelProblem(f"the endpoint answered without choices{said}", "ask again, or another model with --model")
    if not text.strip():
        thought = f": it reasoned for {gathered.thought:,} characters and said nothing" if gathered.thought else ""
        return ModelProblem(f"the reply is empty{thought}", "ask again, or another model with --model")
    return None
