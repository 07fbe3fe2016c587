"""Where a model is, what is asked of it, how long it may take, and what it answers."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from ncu_assist.errors import UsageProblem
from ncu_assist.store.draft_records import ModelCost

ReplyForm = Literal["json_schema", "json_object", "fences"]
REPLY_FORMS: tuple[ReplyForm, ...] = ("json_schema", "json_object", "fences")  # the strictest first

CHARACTERS_PER_TOKEN = 4  # of English and code, by the tokenizers' own documentation; an estimate
OPENAI = "https://api.openai.com/v1"  # the default of the openai package


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    text: str


Messages = Sequence[Message] | Callable[[ReplyForm], Sequence[Message]]  # the wording may depend on the form asked for


@dataclass(frozen=True)
class ModelLimits:
    """How long to wait and how much to take. ``whole_s`` bounds one answer with all its retries and waits.

    A model that reasons is silent for minutes before its first word, hence ``first_s``; a word later than ``silence_s``
    after the last sign of life is not coming. A kernel's file is tens of thousands of characters.
    """

    connect_s: float = 10.0
    first_s: float = 300.0
    silence_s: float = 120.0
    whole_s: float = 900.0
    retries: int = 3
    retry_wait_s: float = 1.0  # before the first retry, then doubled; a Retry-After of the endpoint goes first
    reply_chars: int = 1_000_000


@dataclass(frozen=True)
class Endpoint:
    """Where the model is. Without ``base_url`` the package's own (OPENAI_BASE_URL, else api.openai.com).

    ``key_file`` is read where no environment variable holds a key; None is ~/.config/ncu-assist/key. What is None of
    ``max_reply_tokens`` and ``temperature`` is not sent: some models refuse requests that name them.
    """

    model: str
    base_url: str | None = None
    key_file: Path | None = None
    max_reply_tokens: int | None = None
    temperature: float | None = None
    limits: ModelLimits = field(default_factory=ModelLimits)


@dataclass(frozen=True)
class ModelAnswer:
    """The text of a reply and the form that it was written in."""

    text: str
    cost: ModelCost
    form: ReplyForm


def resolve(base_url: str | None, environment: Mapping[str, str] = os.environ) -> str:
    """Return the address that is meant: the one given, else OPENAI_BASE_URL, else that of OpenAI.

    Raises UsageProblem for what is no address of a web server.
    """
    address = base_url or environment.get("OPENAI_BASE_URL") or OPENAI
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise UsageProblem(f"{shown(address)} is not the address of an endpoint", "--base-url http://127.0.0.1:8000/v1")
    return address


def is_local(address: str) -> bool:
    """Return whether ``address`` is on this machine, by its name alone: nothing is looked up."""
    host = urlsplit(address).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return False
    return found.is_loopback or found.is_unspecified  # 0.0.0.0, as servers print where they listen


def shown(address: str) -> str:
    """Return ``address`` without what may be secret in it: user, password, query."""
    try:
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "what was given"
    return SplitResult(parts.scheme, host, parts.path.rstrip("/"), "", "").geturl() or "what was given"


def is_open(address: str) -> bool:
    """Return whether what is sent to ``address`` can be read on the way: plain HTTP to another machine."""
    return urlsplit(address).scheme == "http" and not is_local(address)
