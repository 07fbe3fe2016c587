"""What tests of questions to a model share: an endpoint with short limits, and what was said while it answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from patience import CEILING_S
from suggest.protocol_server import ProtocolServer

from ncu_assist.errors import ModelProblem
from ncu_assist.suggest.model import Endpoint, FailedCall, Message, ModelAnswer, ModelLimits, ToolBox, ask

QUESTION = (Message("system", "You write kernels."), Message("user", "Make it faster."))
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"change": {"type": "string"}},
    "required": ["change"],
    "additionalProperties": False,
}
REPLY = '{"change": "stage the tile in shared memory"}'
FENCED = "Here it is.\n```json\n" + REPLY + "\n```\n"


def limits(**changed: Any) -> ModelLimits:
    """Return limits that no machine is too slow for, but those that a test changes; tries follow one another fast."""
    generous = dict.fromkeys(("connect_s", "first_s", "silence_s", "whole_s"), CEILING_S)
    return ModelLimits(**{**generous, "retry_wait_s": 0.01, **changed})


def endpoint(server: ProtocolServer, **changed: Any) -> Endpoint:
    return Endpoint(**{"model": "m", "base_url": server.base_url, "limits": limits(), **changed})


@dataclass
class Heard:
    """The answer or the problem, and everything that was said on the way."""

    answer: ModelAnswer | None = None
    problem: ModelProblem | None = None
    texts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        assert self.answer is not None, self.problem
        return self.answer.text

    @property
    def words(self) -> str:
        assert self.problem is not None, self.answer
        return f"{self.problem.message} | {self.problem.hint}"

    @property
    def failed(self) -> FailedCall:
        assert isinstance(self.problem, FailedCall)
        return self.problem


def heard(where: Endpoint, schema: dict[str, Any] | None = None, tools: ToolBox | None = None) -> Heard:
    """Ask, and return what came of it."""
    said = Heard()
    try:
        said.answer = ask(where, QUESTION, said.texts.append, schema, said.notes.append, tools)
    except ModelProblem as problem:
        said.problem = problem
    return said
