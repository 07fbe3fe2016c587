"""Bytes of a reply -> its JSON objects: one an event of a stream, or one in all from endpoints that do not stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from ncu_assist.errors import ModelProblem
from ncu_assist.render.escape import one_line
from ncu_assist.suggest.model.failures import Dropped, page_title

BYTES_PER_CHARACTER = 6  # of a line, at most, when JSON spells every character as \u1234
LINE_OVERHEAD_BYTES = 65_536  # of an event beside its text
EVENT_BYTES_PER_CHARACTER = 400  # of a stream: an event of some 300 bytes often carries a single character
PAGE_BYTES = 16_384  # of a web page that are read to name it
OTHER_FIELDS = (b"", b"event", b"id", b"retry")  # of an event; a comment has no name, and keeps connections alive
DONE = "[DONE]"
NO_ENDPOINT = "check --base-url: most end in /v1"

Clean = Callable[[str], str]


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
