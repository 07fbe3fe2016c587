"""The conversation about one draft: the prompt, replies, and what a reply that cannot be used is answered with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from ncu_assist.drafts.records import Cost
from ncu_assist.suggest.model import Answer, Message, Messages, Rung


class Speaker(Protocol):
    """Who answers: a model, or a reply that was saved from one."""

    @property
    def name(self) -> str:
        """The model, empty where it is not known."""
        ...

    @property
    def goes_on(self) -> bool:
        """Whether it can be answered."""
        ...

    def answer(self, messages: Messages) -> Answer:
        """Return the answer; raises ModelProblem where there is none."""
        ...


@dataclass(frozen=True)
class Saved:
    """A reply from a file. There is nobody to answer."""

    text: str
    name: str = ""
    goes_on: bool = False

    def answer(self, messages: Messages) -> Answer:
        return Answer(self.text, Cost(), "fences")


@dataclass(frozen=True)
class Model:
    """A model at an endpoint; ``ask`` is bound to it."""

    name: str
    ask: Callable[[Messages], Answer] = field(repr=False)
    goes_on: bool = True

    def answer(self, messages: Messages) -> Answer:
        return self.ask(messages)


@dataclass
class Talk:
    """What was said so far; one draft begins it, and its repairs go on with it."""

    speaker: Speaker
    messages: list[Message] = field(default_factory=list)

    def say(self, text: str | Callable[[Rung], str]) -> Answer:
        """Say something and return the answer; the wording may depend on the form that is asked for.

        Raises ModelProblem where there is no answer.
        """
        answer = self.speaker.answer(lambda rung: [*self.messages, _said(text, rung)])
        self.messages += [_said(text, answer.rung), Message("assistant", answer.text)]
        return answer


def _said(text: str | Callable[[Rung], str], rung: Rung) -> Message:
    return Message("user", text if isinstance(text, str) else text(rung))


def added(one: Cost, other: Cost) -> Cost:
    """Return what two questions cost together."""
    return replace(
        one,
        calls=one.calls + other.calls,
        prompt_tokens=one.prompt_tokens + other.prompt_tokens,
        reply_tokens=one.reply_tokens + other.reply_tokens,
        seconds=one.seconds + other.seconds,
        estimated=one.estimated or other.estimated,
    )
