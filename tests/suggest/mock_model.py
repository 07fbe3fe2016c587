"""A model that answers from a queue, for tests that are not about talking to one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ncu_assist.store.drafts import ModelCost
from ncu_assist.suggest.model import REPLY_FORMS, Endpoint, Message, Messages, ModelAnswer, ToolBox


class MockModel:
    """Takes the place of ``suggest.model.ask``: gives the next of ``answers``, raises it if an error."""

    def __init__(self, *answers: str | ModelAnswer | BaseException) -> None:
        self.left = list(answers)
        self.asked: list[Sequence[Message]] = []

    def __call__(
        self,
        endpoint: Endpoint,
        messages: Messages,
        on_text: Callable[[str], None],
        schema: dict[str, Any] | None = None,
        on_note: Callable[[str], None] = lambda note: None,
        tools: ToolBox | None = None,
    ) -> ModelAnswer:
        self.asked.append(messages(REPLY_FORMS[0]) if callable(messages) else messages)
        answer = self.left.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, str):
            answer = ModelAnswer(answer, ModelCost(1, 100, 10, 0.5), REPLY_FORMS[0])
        on_text(answer.text)
        return answer
