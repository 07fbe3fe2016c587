"""Which optional parts of the protocol an endpoint takes, and what to leave out after it refused a request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ncu_assist.suggest.model.failures import Refused
from ncu_assist.suggest.model.records import RUNGS, Endpoint, Message, Rung

TokensField = Literal["max_completion_tokens", "max_tokens", ""]
TOKENS_FIELDS: tuple[TokensField, ...] = ("max_completion_tokens", "max_tokens", "")  # the second is the older name

OF_THE_RUNG = re.compile(r"response.?format|json.?schema|json.?object|structured|schema|grammar|guided", re.IGNORECASE)
OF_THE_TOKENS = re.compile(r"max_(completion_)?tokens", re.IGNORECASE)
OF_THE_USAGE = re.compile(r"stream_options|include_usage", re.IGNORECASE)
OF_THE_TEMPERATURE = re.compile(r"temperature", re.IGNORECASE)
OPTIONS = (OF_THE_RUNG, OF_THE_TOKENS, OF_THE_USAGE, OF_THE_TEMPERATURE)
REJECTING = (400, 404, 422)  # what servers answer to a field that they do not know
NEVER_FOR_A_FIELD = (401, 402, 403, 408, 409, 413, 429, 502, 503, 504, 529)


@dataclass(frozen=True)
class Dialect:
    """The form of a request: rung of the ladder, name of the token limit, and which options are sent."""

    rung: Rung = "json_schema"
    tokens: TokensField = "max_completion_tokens"
    usage: bool = True
    temperature: bool = True


def request(
    endpoint: Endpoint, messages: Sequence[Message], schema: dict[str, Any] | None, form: Dialect
) -> dict[str, Any]:
    """Return the arguments of the client's call: nothing beyond what was asked for and the endpoint takes."""
    arguments: dict[str, Any] = {
        "model": endpoint.model,
        "messages": [{"role": message.role, "content": message.text} for message in messages],
        "stream": True,
    }
    if form.usage:
        arguments["stream_options"] = {"include_usage": True}
    if endpoint.max_reply_tokens is not None and form.tokens:
        arguments[form.tokens] = endpoint.max_reply_tokens
    if endpoint.temperature is not None and form.temperature:
        arguments["temperature"] = endpoint.temperature
    if schema is not None and form.rung != "fences":
        arguments["response_format"] = _response_format(schema, form.rung)
    return arguments


def words_of(refused: Refused, model: str) -> str:
    """Return what the endpoint says, without the model's name, which may hold any word."""
    return re.sub(rf"(?<![\w.-]){re.escape(model)}(?![\w.-])", "", f"{refused.code} {refused.said}")


def names_an_option(said: str) -> bool:
    """Return whether an endpoint's words are about an optional part of a request."""
    return any(option.search(said) for option in OPTIONS)


def next_rung(form: Dialect) -> Dialect | None:
    """Return ``form`` one rung further down the ladder, None below the last."""
    below = RUNGS[RUNGS.index(form.rung) + 1 :]
    return replace(form, rung=below[0]) if below else None


def without(form: Dialect, endpoint: Endpoint, refused: Refused) -> Dialect | None:
    """Return the form to try after ``refused``, None where nothing that could be left out explains it.

    What the endpoint names is left out; where it names nothing, a rung, then an option at a time.
    """
    if refused.status in NEVER_FOR_A_FIELD:
        return None
    said = words_of(refused, endpoint.model)
    named = _named(form, endpoint, said)
    if named is not None or refused.status not in REJECTING:
        return named
    return next_rung(form) or _fewer_options(form, endpoint)


def _named(form: Dialect, endpoint: Endpoint, said: str) -> Dialect | None:
    if OF_THE_USAGE.search(said) and form.usage:
        return replace(form, usage=False)
    if OF_THE_TEMPERATURE.search(said) and form.temperature and endpoint.temperature is not None:
        return replace(form, temperature=False)
    if OF_THE_TOKENS.search(said) and form.tokens and endpoint.max_reply_tokens is not None:
        return _next_tokens(form)
    return next_rung(form) if OF_THE_RUNG.search(said) else None


def _fewer_options(form: Dialect, endpoint: Endpoint) -> Dialect | None:
    if form.usage:
        return replace(form, usage=False)
    if form.tokens and endpoint.max_reply_tokens is not None:
        return _next_tokens(form)
    return replace(form, temperature=False) if form.temperature and endpoint.temperature is not None else None


def _next_tokens(form: Dialect) -> Dialect:
    return replace(form, tokens=TOKENS_FIELDS[TOKENS_FIELDS.index(form.tokens) + 1])


def _response_format(schema: dict[str, Any], rung: Rung) -> dict[str, Any]:
    if rung == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}
