"""What a question to a language model consists of, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ncu_assist.drafts.records import Cost

Rung = Literal["json_schema", "json_object", "fences"]
RUNGS: tuple[Rung, ...] = ("json_schema", "json_object", "fences")  # of the ladder, the strictest form first

CHARACTERS_PER_TOKEN = 4  # of English and code, by the tokenizers' own documentation; an estimate


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    text: str


Messages = Sequence[Message] | Callable[[Rung], Sequence[Message]]  # the wording may depend on the form asked for


@dataclass(frozen=True)
class Limits:
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
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Answer:
    """The text of a reply and the rung of the ladder that it was written for."""

    text: str
    cost: Cost
    rung: Rung
