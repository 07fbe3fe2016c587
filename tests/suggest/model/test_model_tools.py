"""Tools that a model calls before it replies: fragments put together, limits, endpoints that take none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from suggest.asking import REPLY, SCHEMA, endpoint, heard, limits
from suggest.protocol_server import KEY, Reply, calling, delta, error, events, protocol_server, raw, streamed

from ncu_assist.suggest.model import Message, ToolLimits, tokens_beside
from ncu_assist.suggest.model.asking import NO_MORE
from ncu_assist.suggest.model.client import MOST_CALLS
from ncu_assist.suggest.model.endpoint import ToolCall

LINES = ("lines", '{"reference": "k/v1"}')
REFUSALS: dict[str, Reply] = {  # as servers word it
    "vLLM": error(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    "llama.cpp": error(500, "Unsupported param: tools"),
    "llama.cpp, newer": error(500, "tools param requires --jinja flag"),
    "Ollama": error(400, "registry.ollama.ai/library/llama2:latest does not support tools"),
    "OpenRouter": error(404, "No endpoints found that support tool use."),
    "unnamed": error(400, "Bad Request"),
}


@dataclass
class Box:
    """Tools that answer with their name, and remember what was asked."""

    limits: ToolLimits = field(default_factory=ToolLimits)
    about: str = "You may call tools."
    size: int = 0
    called: list[tuple[str, str]] = field(default_factory=list)

    @property
    def offered(self) -> Sequence[dict[str, Any]]:
        return [{"name": "lines", "description": "lines", "parameters": {"type": "object", "properties": {}}}]

    def call(self, name: str, arguments: str) -> str:
        self.called.append((name, arguments))
        return f"{name} says 7" + "." * self.size


def roles(body: dict[str, Any]) -> list[str]:
    return [message["role"] for message in body["messages"]]


def test_what_it_asks_for_is_answered_and_then_it_replies() -> None:
    box = Box()
    with protocol_server(calling(LINES, ("sass", '{"line": 3}')), streamed(REPLY)) as server:
        said = heard(endpoint(server), SCHEMA, box)
        first, second = (asked.body for asked in server.questions)
    assert said.text == REPLY
    assert box.called == [LINES, ("sass", '{"line": 3}')]
    assert first["tools"] == [{"type": "function", "function": box.offered[0]}]
    assert first["messages"][0] == {"role": "system", "content": "You may call tools."}
    assert roles(second) == ["system", "system", "user", "assistant", "tool", "tool"]
    asking, answer = second["messages"][3:5]
    assert asking["content"] is None
    assert asking["tool_calls"][0] == {
        "id": "call_lines_0",
        "type": "function",
        "function": {"name": "lines", "arguments": LINES[1]},
    }
    assert answer == {"role": "tool", "tool_call_id": "call_lines_0", "content": "lines says 7"}
    assert "tool_choice" not in second
    assert said.answer is not None
    assert [message.role for message in said.answer.exchanged] == ["assistant", "tool", "tool"]
    assert (said.answer.cost.calls, said.answer.cost.prompt_tokens) == (2, 22)
    assert said.notes[0] == 'the model calls lines {"reference": "k/v1"}'


WHOLE = json.dumps(
    {
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"id": "a", "function": {"name": "lines", "arguments": {"line": 3}}}],
                },
                "finish_reason": "tool_calls",
            }
        ]
    }
).encode()
OTHER_FORMS: dict[str, tuple[Reply, list[tuple[str, str]]]] = {
    "one index for all, whole arguments": (
        events(
            delta(tool_calls=[{"index": 0, "id": "a", "function": {"name": "lines", "arguments": "{}"}}]),
            delta(tool_calls=[{"index": 0, "id": "b", "function": {"name": "sass", "arguments": "{}"}}]),
            delta("stop"),
            "[DONE]",
        ),
        [("lines", "{}"), ("sass", "{}")],
    ),
    "no index, no id": (
        events(delta(tool_calls=[{"function": {"name": "lines", "arguments": "{}"}}]), delta("tool_calls"), "[DONE]"),
        [("lines", "{}")],
    ),
    "a new id in each fragment": (
        events(
            delta(tool_calls=[{"index": 0, "id": "a", "function": {"name": "lines", "arguments": '{"li'}}]),
            delta(tool_calls=[{"index": 0, "id": "b", "function": {"arguments": 'ne": 3}'}}]),
            delta("tool_calls"),
            "[DONE]",
        ),
        [("lines", '{"line": 3}')],
    ),
    "not streamed, arguments as an object": (raw(WHOLE, "application/json"), [("lines", '{"line": 3}')]),
    "fields of other types": (
        events(delta(content=REPLY, tool_calls=[7, {"index": "x", "function": []}]), delta("stop"), "[DONE]"),
        [],
    ),
}


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_forms_of_other_servers(form: str) -> None:
    reply, calls = OTHER_FORMS[form]
    box = Box()
    with protocol_server(reply, streamed(REPLY)) as server:
        said = heard(endpoint(server), SCHEMA, box)
    assert said.text == REPLY
    assert box.called == calls


@pytest.mark.parametrize("refusal", REFUSALS)
def test_an_endpoint_that_takes_none_is_asked_without_and_that_is_remembered(refusal: str) -> None:
    def reply(talk: Any) -> None:
        (REFUSALS[refusal] if "tools" in talk.asked.body else streamed(REPLY))(talk)

    with protocol_server(reply) as server:
        first, second = (heard(endpoint(server), SCHEMA, Box()) for _ in range(2))
        asked = [asked.body for asked in server.questions]
    assert (first.text, second.text) == (REPLY, REPLY)
    assert ["tools" in one for one in asked] == [True, False, False]
    assert roles(asked[1]) == ["system", "user"]
    assert asked[1]["response_format"]["type"] == "json_schema"
    assert first.notes[0].endswith("; asks without tools instead")
    assert first.answer is not None
    assert first.answer.cost.calls == 1


def test_tokens_beside_the_prompt_are_those_of_the_request() -> None:
    box = Box(ToolLimits())
    with protocol_server(calling(LINES), events(delta(content=""), end=False)) as server:
        said = heard(endpoint(server, limits=limits(retries=0)), SCHEMA, box)
        first, second = (asked.body for asked in server.questions)
        beside = tokens_beside(endpoint(server), SCHEMA, box)
    extra = len(json.dumps(first["tools"])) + len(json.dumps(first["response_format"]))
    assert beside == (extra + len(box.about)) // 4
    asked = sum(len(one["content"] or "") for one in second["messages"]) + len(LINES[1])
    assert said.failed.cost.calls == 2
    assert said.failed.cost.prompt_tokens == 11 + -(-(asked + extra) // 4)  # the first was counted by the server


def test_nothing_is_offered_unless_there_is_something() -> None:
    with protocol_server(streamed(REPLY)) as server:
        heard(endpoint(server), SCHEMA)
        (asked,) = server.questions
    assert "tools" not in asked.body
    assert roles(asked.body) == ["system", "user"]


@pytest.mark.parametrize(("limits", "size"), [(ToolLimits(calls=1), 0), (ToolLimits(tokens=100), 500)])
def test_beyond_its_limit_it_is_told_to_answer(limits: ToolLimits, size: int) -> None:
    box = Box(limits, size=size)
    with protocol_server(calling(LINES, LINES), streamed(REPLY)) as server:
        said = heard(endpoint(server), SCHEMA, box)
        last = server.questions[-1].body
    assert said.text == REPLY
    assert len(box.called) == 1
    assert last["messages"][-1]["content"] == NO_MORE
    assert last["tool_choice"] == "none"
    assert last["tools"]


def test_one_that_never_stops_asking_gets_no_third_time() -> None:
    with protocol_server(calling(LINES)) as server:
        said = heard(endpoint(server), SCHEMA, Box(ToolLimits(calls=2)))
        assert len(server.questions) == 4
    assert "asks for more tools than it may, and does not answer" in said.words
    assert said.failed.cost.calls == 4


def test_calls_without_end_and_a_key_in_them() -> None:
    many = [{"index": number, "id": f"c{number}", "function": {"name": "lines"}} for number in range(2 * MOST_CALLS)]
    echo = {"index": 0, "function": {"arguments": json.dumps({"reference": KEY})}}
    reply = events(delta(tool_calls=many), delta(tool_calls=[echo]), delta("tool_calls"), "[DONE]")
    box = Box(ToolLimits(calls=1_000))
    with protocol_server(reply, streamed(REPLY)) as server:
        said = heard(endpoint(server), SCHEMA, box)
    assert said.text == REPLY
    assert len(box.called) == MOST_CALLS
    assert KEY not in "".join(arguments for _, arguments in box.called)


def test_what_is_left_counts_what_was_said_before() -> None:
    call = Message("assistant", "", (ToolCall("a", "lines", "{}"),))
    said = [Message("user", "make it faster"), call, Message("tool", "x" * 400, answers="a")]
    assert ToolLimits(calls=3, tokens=200).left(said) == 2
    assert ToolLimits(calls=3, tokens=100).left(said) == 0
