"""Which optional parts of the protocol an endpoint takes: tried, left out after a refusal, remembered."""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from ncu_assist.suggest.model.endpoint import REPLY_FORMS, Endpoint, Message, ReplyForm, ToolBox, shown
from ncu_assist.suggest.model.failures import Refused

TokensField = Literal["max_completion_tokens", "max_tokens", ""]
TOKENS_FIELDS: tuple[TokensField, ...] = ("max_completion_tokens", "max_tokens", "")  # the second is the older name

OF_THE_REPLY = re.compile(r"response.?format|json.?schema|json.?object|structured|schema|grammar|guided", re.IGNORECASE)
OF_THE_TOKENS = re.compile(r"max_(completion_)?tokens", re.IGNORECASE)
OF_THE_USAGE = re.compile(r"stream_options|include_usage", re.IGNORECASE)
OF_THE_TEMPERATURE = re.compile(r"temperature", re.IGNORECASE)
# vLLM: "auto" tool choice requires …; llama.cpp: Unsupported param: tools; Ollama: … does not support tools;
# OpenRouter: No endpoints found that support tool use.
OF_THE_TOOLS = re.compile(r"\btools?\b|tool_(choice|calls?)|function.?call", re.IGNORECASE)
OPTIONS = (OF_THE_REPLY, OF_THE_TOKENS, OF_THE_USAGE, OF_THE_TEMPERATURE, OF_THE_TOOLS)
REJECTING = (400, 404, 422)  # what servers answer to a field that they do not know
NEVER_FOR_A_FIELD = (401, 402, 403, 408, 409, 413, 429, 502, 503, 504, 529)
FILE = "endpoints.json"
KEPT_S = 30 * 24 * 3600.0  # servers are updated and learn the stricter forms
LARGEST_BYTES = 1_000_000
MOST_ENTRIES = 200


@dataclass(frozen=True)
class RequestForm:
    """The form of a request: how the reply is asked for, name of the token limit, and which options are sent."""

    reply_form: ReplyForm = "json_schema"
    tokens: TokensField = "max_completion_tokens"
    usage: bool = True
    temperature: bool = True
    tools: bool = True


def request(
    endpoint: Endpoint,
    messages: Sequence[Message],
    schema: dict[str, Any] | None,
    form: RequestForm,
    tools: ToolBox | None = None,
) -> dict[str, Any]:
    """Return the arguments of the client's call: nothing beyond what was asked for and the endpoint takes."""
    arguments: dict[str, Any] = {
        "model": endpoint.model,
        "messages": [_sent(message) for message in messages],
        "stream": True,
    }
    if tools is not None and form.tools:
        arguments["tools"] = [{"type": "function", "function": one} for one in tools.offered]
        if not tools.limits.left(messages):
            arguments["tool_choice"] = "none"
    if form.usage:
        arguments["stream_options"] = {"include_usage": True}
    if endpoint.max_reply_tokens is not None and form.tokens:
        arguments[form.tokens] = endpoint.max_reply_tokens
    if endpoint.temperature is not None and form.temperature:
        arguments["temperature"] = endpoint.temperature
    if schema is not None and form.reply_form != "fences":
        arguments["response_format"] = _response_format(schema, form.reply_form)
    return arguments


def _sent(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.answers, "content": message.text}
    if not message.calls:
        return {"role": message.role, "content": message.text}
    calls = [
        {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
        for one in message.calls
    ]
    return {"role": message.role, "content": message.text or None, "tool_calls": calls}


def words_of(refused: Refused, model: str) -> str:
    """Return what the endpoint says, without the model's name, which may hold any word."""
    return re.sub(rf"(?<![\w.-]){re.escape(model)}(?![\w.-])", "", f"{refused.code} {refused.said}")


def names_an_option(said: str) -> bool:
    """Return whether an endpoint's words are about an optional part of a request."""
    return any(option.search(said) for option in OPTIONS)


def simpler_reply(form: RequestForm) -> RequestForm | None:
    """Return ``form`` with the next simpler form of the reply, None after the simplest."""
    below = REPLY_FORMS[REPLY_FORMS.index(form.reply_form) + 1 :]
    return replace(form, reply_form=below[0]) if below else None


def without(form: RequestForm, endpoint: Endpoint, refused: Refused, offers_tools: bool = False) -> RequestForm | None:
    """Return the form to try after ``refused``, None where nothing that could be left out explains it.

    What the endpoint names is left out; where it names nothing, tools, a simpler reply, then an option less at a time.
    """
    if refused.status in NEVER_FOR_A_FIELD:
        return None
    said = words_of(refused, endpoint.model)
    if offers_tools and (OF_THE_TOOLS.search(said) or (refused.status in REJECTING and not names_an_option(said))):
        return replace(form, tools=False)
    named = _named(form, endpoint, said)
    if named is not None or refused.status not in REJECTING:
        return named
    return simpler_reply(form) or _fewer_options(form, endpoint)


def _named(form: RequestForm, endpoint: Endpoint, said: str) -> RequestForm | None:
    if OF_THE_USAGE.search(said) and form.usage:
        return replace(form, usage=False)
    if OF_THE_TEMPERATURE.search(said) and form.temperature and endpoint.temperature is not None:
        return replace(form, temperature=False)
    if OF_THE_TOKENS.search(said) and form.tokens and endpoint.max_reply_tokens is not None:
        return _next_tokens(form)
    return simpler_reply(form) if OF_THE_REPLY.search(said) else None


def _fewer_options(form: RequestForm, endpoint: Endpoint) -> RequestForm | None:
    if form.usage:
        return replace(form, usage=False)
    if form.tokens and endpoint.max_reply_tokens is not None:
        return _next_tokens(form)
    return replace(form, temperature=False) if form.temperature and endpoint.temperature is not None else None


def _next_tokens(form: RequestForm) -> RequestForm:
    return replace(form, tokens=TOKENS_FIELDS[TOKENS_FIELDS.index(form.tokens) + 1])


def _response_format(schema: dict[str, Any], form: ReplyForm) -> dict[str, Any]:
    if form == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}


def cache_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the file, in the folder that this user's environment names for caches."""
    folder = environment.get("XDG_CACHE_HOME", "")
    return (Path(folder) if Path(folder).is_absolute() else Path.home() / ".cache") / "ncu-assist" / FILE


def remembered(address: str, model: str) -> RequestForm | None:
    """Return what worked last with ``model`` at ``address``, None where nothing is known or it is long ago."""
    entry = _entries().get(_name(address, model))
    if not isinstance(entry, dict) or not _fresh(entry):
        return None
    form = RequestForm(**{f.name: entry.get(f.name, f.default) for f in fields(RequestForm)})
    sound = form.reply_form in REPLY_FORMS and form.tokens in TOKENS_FIELDS
    return form if sound and all(isinstance(one, bool) for one in (form.usage, form.temperature, form.tools)) else None


def remember(address: str, model: str, form: RequestForm) -> None:
    """Keep what worked. A folder that cannot be written is no error: it is found out again next time."""
    if remembered(address, model) == form:
        return
    entries = {**_entries(), _name(address, model): {**asdict(form), "at": time.time()}}
    newest = dict(sorted(entries.items(), key=lambda entry: _at(entry[1]))[-MOST_ENTRIES:])
    with suppress(OSError):
        _write(cache_file(), json.dumps(newest, indent=1))


def _entries() -> dict[str, Any]:
    try:
        with cache_file().open("rb") as stream:
            found = json.loads(stream.read(LARGEST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _fresh(entry: dict[str, Any]) -> bool:
    return 0 <= time.time() - _at(entry) < KEPT_S


def _at(entry: Any) -> float:
    at = entry.get("at") if isinstance(entry, dict) else None
    return float(at) if isinstance(at, int | float) else 0.0


def _name(address: str, model: str) -> str:
    return f"{shown(address)} {model}"
