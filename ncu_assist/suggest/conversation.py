"""Who answers a prompt, a model or a reply that was saved from one, and what was said so far."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

from ncu_assist.errors import UsageProblem
from ncu_assist.store.draft_records import ModelCost
from ncu_assist.suggest.model import Message, Messages, ModelAnswer, ReplyForm

LARGEST_BYTES = 1_000_000  # a kernel's file is tens of thousands
STDIN = "-"
SAVE_AGAIN = "save the reply as plain text in UTF-8"
MARKS = (  # the longer ones first: UTF-32's begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class ReplySource(Protocol):
    """Who answers: a model, or a reply that was saved from one."""

    @property
    def name(self) -> str:
        """The model, empty where it is not known."""
        ...

    @property
    def can_be_answered(self) -> bool:
        """Whether it can be answered."""
        ...

    def answer(self, messages: Messages) -> ModelAnswer:
        """Return the answer; raises ModelProblem where there is none."""
        ...


@dataclass(frozen=True)
class SavedReply:
    """A reply from a file. There is nobody to answer."""

    text: str
    name: str = ""
    can_be_answered: bool = False

    def answer(self, messages: Messages) -> ModelAnswer:
        return ModelAnswer(self.text, ModelCost(), "fences")


@dataclass(frozen=True)
class LanguageModel:
    """A model at an endpoint; ``ask`` is bound to it."""

    name: str
    ask: Callable[[Messages], ModelAnswer] = field(repr=False)
    can_be_answered: bool = True

    def answer(self, messages: Messages) -> ModelAnswer:
        return self.ask(messages)


@dataclass
class Conversation:
    """What was said so far; one draft begins it, and its repairs go on with it."""

    author: ReplySource
    messages: list[Message] = field(default_factory=list)

    def say(self, text: str | Callable[[ReplyForm], str]) -> ModelAnswer:
        """Say something and return the answer; the wording may depend on the form that is asked for.

        Raises ModelProblem where there is no answer.
        """
        answer = self.author.answer(lambda form: [*self.messages, _said(text, form)])
        self.messages += [_said(text, answer.form), Message("assistant", answer.text)]
        return answer


def _said(text: str | Callable[[ReplyForm], str], form: ReplyForm) -> Message:
    return Message("user", text if isinstance(text, str) else text(form))


def saved_reply(path: Path | str, stdin: BinaryIO | None = None) -> str:
    """Return the text of the reply in the file ``path``, or of standard input for ``-``.

    Raises UsageProblem for a file that cannot be read, is empty, too large, or no text.
    """
    name = "standard input" if str(path) == STDIN else str(path)
    content = _content(path, stdin)
    if len(content) > LARGEST_BYTES:
        raise UsageProblem(f"{name} is larger than {LARGEST_BYTES:,} bytes: no reply is that long", SAVE_AGAIN)
    text = _decoded(content, name)
    if not text.strip():
        raise UsageProblem(f"{name} is empty: there is no reply in it", SAVE_AGAIN)
    return text


def _content(path: Path | str, stdin: BinaryIO | None) -> bytes:
    if str(path) == STDIN:
        return (stdin or sys.stdin.buffer).read(LARGEST_BYTES + 1)
    try:
        with Path(path).open("rb") as stream:
            return stream.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise UsageProblem(
            f"the reply {path} cannot be read: {error.strerror}", "--reply with a file that exists"
        ) from None


def _decoded(content: bytes, name: str) -> str:
    encoding = next((encoding for mark, encoding in MARKS if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        words = f"{name} is not text in {encoding}: byte {error.start} cannot be read"
        raise UsageProblem(words, SAVE_AGAIN) from None
    if "\0" in text:
        raise UsageProblem(f"{name} is not text: it holds zero bytes", SAVE_AGAIN)
    return text
