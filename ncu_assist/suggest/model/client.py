"""The openai client of one endpoint, with a limit on every wait and Ctrl-C heard at once."""

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


QUOTED_CHARACTERS = 300  # of what an endpoint says
PASSING = (408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529)  # busy, restarting, or behind a busy proxy
NO_CREDIT = re.compile(r"insufficient_quota|billing|credit|exceeded your current quota", re.IGNORECASE)
TOO_LARGE = re.compile(
    r"context.?(length|window|size)|too many tokens|prompt is too long|exceed_context", re.IGNORECASE
)
SET_KEY = "export OPENAI_API_KEY=..., or put the key in ~/.config/ncu-assist/key and chmod 600 it"


@dataclass(eq=False)  # an exception is told apart by identity
class Refused(Exception):
    """The endpoint answered with an error: its HTTP status, its words and code, the seconds it asks to wait."""

    status: int
    said: str
    code: str = ""
    retry_after_s: float | None = None


class Dropped(Exception):
    """The connection broke, or the reply ended before its end."""


class Unreachable(Exception):
    """No connection came about."""


class NeverReachable(Unreachable):
    """None will come about, however long one waits."""


def refusal(status: int, headers: Mapping[str, str], body: bytes, clean: Callable[[str], str]) -> Refused:
    """Return an HTTP error as the endpoint meant it; ``clean`` takes the key out of what it says."""
    text = body.decode("utf-8", "replace")
    try:
        said, code = error_words(json.loads(text))
    except (ValueError, RecursionError):
        said, code = page_title(text), ""
    if status < 400:
        said = f"redirects to {headers.get('location', 'nowhere')}"
    return Refused(status, clean(said)[:QUOTED_CHARACTERS], clean(code), retry_after(headers))


def error_words(body: Any) -> tuple[str, str]:
    """Return the words and the code of an error object, as OpenAI, FastAPI and others write it."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return str(error), ""
    said = error.get("message") or error.get("detail") or error
    return str(said), " ".join(str(error[k]) for k in ("code", "type", "param") if error.get(k) is not None)


def page_title(text: str) -> str:
    """Return the title of a web page, else its first words without tags."""
    title = re.search(r"<title[^>]*>([^<]*)", text, re.IGNORECASE)
    words = title.group(1) if title else re.sub(r"<[^>]{0,2000}>", " ", text)
    return " ".join(words[: 4 * QUOTED_CHARACTERS].split())


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a Retry-After header asks to wait, as number or date; None without a usable one."""
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
    """Return what to say where an endpoint elsewhere is asked without a key."""
    return ModelProblem("there is no key for the endpoint: it is on another machine, and those want one", SET_KEY)


def key_wanted(refused: Refused) -> ModelProblem:
    """Return what to say where an endpoint on this machine was asked without a key, and wants one."""
    return ModelProblem(
        f"the endpoint wants a key, and none was found (HTTP {refused.status}: {_reason(refused)})", SET_KEY
    )


def may_succeed_later(refused: Refused) -> bool:
    """Return whether the same request may succeed a little later."""
    return refused.status in PASSING and not NO_CREDIT.search(_code_and_words(refused))


def is_too_large(refused: Refused) -> bool:
    """Return whether the prompt is longer than the model takes."""
    return refused.status == 413 or bool(TOO_LARGE.search(_code_and_words(refused)))


def refusal_problem(refused: Refused, address: str) -> ModelProblem:
    """Return what to say of an error that stays."""
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
    """Return what to say of a connection that cannot be had or kept."""
    said = one_line(str(failure))
    if isinstance(failure, Dropped):
        return ModelProblem(f"the connection to {address} broke off: {said}", "ask again")
    return ModelProblem(f"{address} cannot be reached: {said}", "start the server there, or check --base-url")


def retry_words(failure: Refused | Dropped | Unreachable) -> str:
    """Return in few words what happened, for the line that says that it is tried again."""
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
        is_final = "CERTIFICATE_VERIFY" in said or name == "UnsupportedProtocol"
        return (NeverReachable if is_final else Unreachable)(said)
    if library in ("httpx", "httpx2", "httpcore", "httpcore2", "anyio") or isinstance(error, APIConnectionError):
        return Dropped(said)
    return error


BYTES_PER_CHARACTER = 6  # of a line, at most, when JSON spells every character as \u1234
LINE_OVERHEAD_BYTES = 65_536  # of an event beside its text
EVENT_BYTES_PER_CHARACTER = 400  # of a stream: an event of some 300 bytes often carries a single character
PAGE_BYTES = 16_384  # of a web page that are read to name it
OTHER_FIELDS = (b"", b"event", b"id", b"retry")  # of an event; a comment has no name, and keeps connections alive
DONE = "[DONE]"
REFUSAL_SHOWN = 200  # characters
MOST_CALLS = 50  # of one reply
NO_ENDPOINT = "check --base-url: most end in /v1"

Clean = Callable[[str], str]
Show = Callable[[str], None]
THOUGHT_FIELDS = ("reasoning_content", "reasoning")  # as vLLM, DeepSeek, llama.cpp and OpenRouter, Ollama name them
FENCE = "```"


def too_long(limit: int) -> ModelProblem:
    """Return what to say of a reply beyond ``limit`` characters."""
    words = f"the reply grew beyond {limit:,} characters and was cut off: no kernel is that long"
    return ModelProblem(words, "ask again, or another model with --model")


def objects(chunks: Iterable[bytes], limit: int, clean: Clean) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a reply of at most ``limit`` characters of text, up to its end mark.

    ``clean`` takes the key out of everything that is read.

    Raises ModelProblem for a reply that is too long, a web page, or no JSON; Dropped for one that breaks off.
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
    """Yield lines, and the unfinished last one of a body in which no line is finished."""
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
    if isinstance(value, list):  # of parts, as some endpoints write it
        return "".join(_text(_table(part).get("text")) for part in value)
    return _text(value)


def _first(value: Any) -> dict[str, Any]:
    return _table(value[0]) if isinstance(value, list) and value else {}


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any, known: int | None) -> int | None:
    """Return a count of tokens, what was known before where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else known


@dataclass
class ReplyInProgress:
    """A reply while it comes, or the ``calls`` of tools in its place.

    ``thought`` counts the characters of reasoning, which are not kept.
    """

    show: Show
    scrubber: Scrubber
    limit: int
    thought: int = 0
    finish: str = ""
    refusal: str = ""
    prompt_tokens: int | None = None
    reply_tokens: int | None = None
    calls: list[ToolCall] = field(default_factory=list)
    _places: dict[int, int] = field(default_factory=dict)  # of the call that fragments of an index belong to
    _texts: list[str] = field(default_factory=list)
    _characters: int = 0

    @property
    def text(self) -> str:
        return "".join(self._texts)

    @property
    def characters(self) -> int:
        """What the model wrote in all, thoughts included."""
        return self._characters + self.thought

    def add(self, found: dict[str, Any]) -> bool:
        """Take one object of the reply and return whether the model says something in it.

        Fields of other types than the protocol's count as absent. Raises Refused for an error in the place of a reply,
        ModelProblem when the reply has grown beyond its limit.
        """
        if found.get(DONE):
            self.finish = self.finish or "done"  # the end mark of the stream comes after the reason
            return False
        if found.get("error"):
            raise _error(found)
        choice, usage = _first(found.get("choices")), _table(found.get("usage"))
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
        """Take fragments of calls and return their characters.

        Name and id come first, arguments in pieces under the same index; some servers leave the index out, or give each
        of several calls the same one with an id of its own.
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
        """Take note that no more comes. Raises Dropped where the reply has not said that it is at its end."""
        self._say(self.scrubber.rest())
        if not self.finish:
            raise Dropped("the reply ended before its end")

    def _say(self, text: str) -> None:
        if text:
            self._texts.append(text)
            self.show(text)


def gather(client: ModelClient, opening: Opening, clock: Clock, gathered: ReplyInProgress) -> None:
    """Put a question and add what comes back to ``gathered``, to its end.

    Raises what ``received``, ``objects`` and ``add`` raise; what had come by then is in ``gathered``.
    """
    clock.call()
    with closing(received(client, opening, clock)) as chunks:
        for found in objects(chunks, gathered.limit, client.scrubber.whole):
            if gathered.add(found):
                clock.spoken()
    gathered.end()


def with_reply(cost: ModelCost, gathered: ReplyInProgress, prompt_characters: int, seconds: float) -> ModelCost:
    """Return ``cost`` with a reply added, whole or broken off; ``seconds`` since the question was put.

    A request that brought nothing back is not counted: endpoints do not charge for it.
    """
    if not gathered.characters and not gathered.finish:
        return replace(cost, seconds=seconds)
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
    """Return ``text`` without the reasoning that some servers leave in front of it."""
    return THOUGHTS.sub("", text, count=1)


def form_of(text: str, asked: ReplyForm) -> ReplyForm | None:
    """Return the form that ``text`` was written in: the one asked for, or fences; None for neither."""
    if asked == "fences" or _is_object(text):
        return asked
    return "fences" if FENCE in text else None


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def unusable(gathered: ReplyInProgress, text: str) -> ModelProblem | None:
    """Return what is wrong with a reply that came to its end: cut off, refused, empty; None where nothing is.

    ``text`` is what it says beside its reasoning.
    """
    if gathered.refusal or gathered.finish == "content_filter":
        said = one_line(gathered.refusal, REFUSAL_SHOWN) or "its provider's filter stopped the reply"
        return ModelProblem(f"the model refused: {said}", "another model with --model")
    if gathered.finish == "length":
        words = f"the reply was cut off at the limit of tokens, after {len(text):,} characters"
        thought = f" and {gathered.thought:,} of reasoning" if gathered.thought else ""
        return ModelProblem(words + thought, "a model or an endpoint that may write more")
    if not text.strip():
        thought = f": it reasoned for {gathered.thought:,} characters and said nothing" if gathered.thought else ""
        return ModelProblem(f"the reply is empty{thought}", "ask again, or another model with --model")
    return None
