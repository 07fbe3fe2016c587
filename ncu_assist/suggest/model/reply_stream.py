"""The bytes of a reply as they come -> its text, why it ended and what it cost."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from ncu_assist.errors import ModelProblem
from ncu_assist.render.escape import one_line
from ncu_assist.store.draft_records import ModelCost
from ncu_assist.suggest.model.client import Clock, ModelClient, Opening, received
from ncu_assist.suggest.model.endpoint import CHARACTERS_PER_TOKEN, ReplyForm, Scrubber, ToolCall
from ncu_assist.suggest.model.failures import Dropped, Refused, error_words, page_title

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
THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)  # of servers that do not part them from the reply
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
