"""A model that answers from a queue, for tests that are not about talking to one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ncu_assist.drafts.records import Cost
from ncu_assist.suggest.model import RUNGS, Answer, Endpoint, Message, Messages


class MockModel:
    """Takes the place of ``suggest.model.ask``: gives the next of ``answers``, raises it if an error."""

    def __init__(self, *answers: str | Answer | BaseException) -> None:
        self.left = list(answers)
        self.asked: list[Sequence[Message]] = []

    def __call__(
        self,
        endpoint: Endpoint,
        messages: Messages,
        on_text: Callable[[str], None],
        schema: dict[str, Any] | None = None,
        on_note: Callable[[str], None] = lambda note: None,
    ) -> Answer:
        self.asked.append(messages(RUNGS[0]) if callable(messages) else messages)
        answer = self.left.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, str):
            answer = Answer(answer, Cost(1, 100, 10, 0.5), RUNGS[0])
        on_text(answer.text)
        return answer
