"""Questions that are answered: streaming, tokens, the least a request says, endpoints that differ."""

from __future__ import annotations

import threading
from functools import partial
from itertools import count
from types import SimpleNamespace

import pytest
from patience import CEILING_S
from suggest.asking import FENCED, QUESTION, REPLY, SCHEMA, endpoint, heard, limits
from suggest.protocol_server import KEY, Talk, delta, error, events, protocol_server, raw, slow, streamed, usage, whole

from ncu_assist.suggest.model import Endpoint, ask, client


@pytest.mark.slow
def test_the_reply_comes_piece_by_piece_and_whole() -> None:
    with protocol_server(streamed(REPLY, pieces=5)) as server:
        said = heard(endpoint(server), SCHEMA)
    assert said.text == REPLY
    assert "".join(said.texts) == REPLY
    assert len(said.texts) == 5
    assert said.notes == []


def test_text_is_shown_while_the_rest_is_still_to_come() -> None:
    shown = threading.Event()
    waited: list[bool] = []

    def halting(talk: Talk) -> None:
        talk.begin()
        talk.event(delta(content="a"))
        waited.append(shown.wait(CEILING_S))
        for event in (delta(content="b"), delta("stop"), "[DONE]"):
            talk.event(event)
        talk.end()

    with protocol_server(halting) as server:
        assert ask(endpoint(server), QUESTION, lambda text: shown.set()).text == "ab"
    assert waited == [True]


def test_the_request_says_no_more_than_needed() -> None:
    with protocol_server(streamed(REPLY)) as server:
        heard(endpoint(server), SCHEMA)
        [asked] = server.questions
    assert set(asked.body) == {"model", "messages", "stream", "stream_options", "response_format"}
    assert asked.body["messages"][1] == {"role": "user", "content": "Make it faster."}
    assert asked.body["response_format"]["json_schema"] == {"name": "reply", "strict": True, "schema": SCHEMA}
    assert asked.headers["authorization"] == f"Bearer {KEY}"


def test_tokens_as_the_endpoint_counts_them() -> None:
    with protocol_server(streamed("hello", tokens=(11, 7))) as server:
        answer = heard(endpoint(server)).answer
    assert answer is not None
    assert (answer.cost.calls, answer.cost.prompt_tokens, answer.cost.reply_tokens) == (1, 11, 7)
    assert not answer.cost.estimated
    assert answer.cost.seconds > 0


def test_tokens_are_estimated_where_none_are_reported_and_marked_so() -> None:
    with protocol_server(streamed("x" * 40, tokens=None)) as server:
        answer = heard(endpoint(server)).answer
    assert answer is not None
    assert answer.cost.estimated
    assert answer.cost.reply_tokens == 10
    assert answer.cost.prompt_tokens == 9  # 33 characters of two messages


def test_reasoning_is_counted_but_not_part_of_the_reply() -> None:
    thoughts = [delta(reasoning_content="hmm " * 5), delta(reasoning="so " * 5), delta(content="yes"), delta("stop")]
    with protocol_server(events(*thoughts, "[DONE]")) as server:
        answer = heard(endpoint(server)).answer
    assert answer is not None
    assert answer.text == "yes"
    assert answer.cost.reply_tokens == 10  # 38 characters


def test_thoughts_that_a_server_leaves_in_the_text_are_taken_out() -> None:
    with protocol_server(streamed(f"<think>let me see {{</think>\n{REPLY}")) as server:
        said = heard(endpoint(server), SCHEMA)
        assert len(server.questions) == 1
    assert said.text.strip() == REPLY


def test_an_endpoint_that_does_not_stream() -> None:
    with protocol_server(whole(REPLY)) as server:
        said = heard(endpoint(server), SCHEMA)
    assert said.text == REPLY
    assert said.answer is not None
    assert said.answer.cost.reply_tokens == 7


def test_comments_between_events_keep_a_slow_endpoint_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred seconds pass whenever the clock is looked at: only the silence since the last word counts."""
    monkeypatch.setattr(client, "time", SimpleNamespace(monotonic=partial(next, count(step=CEILING_S / 3))))

    def alive(talk: Talk) -> None:
        talk.begin()
        for _ in range(6):
            talk.chunk(b": still working\n\n")
        for value in (delta(content="done"), delta("stop"), "[DONE]"):
            talk.event(value)
        talk.end()

    with protocol_server(alive) as server:
        assert heard(endpoint(server, limits=limits(whole_s=1e9))).text == "done"


def test_events_of_odd_but_harmless_shapes() -> None:
    odd = [{"choices": None}, {"choices": ["x"]}, {"choices": [{"delta": None}]}, {"usage": "many"}]
    parts = delta(content=[{"type": "text", "text": "o"}, {"type": "text", "text": "k"}])
    with protocol_server(events(*odd, parts, delta("stop"), usage(3, 1))) as server:
        said = heard(endpoint(server))
    assert said.text == "ok"


def test_an_event_cut_anywhere_and_lines_that_end_as_on_windows() -> None:
    body = ('data: {"choices": [{"delta": {"content": "grün"}, "finish_reason": "stop"}]}\r\n\r\n').encode()

    def byte_by_byte(talk: Talk) -> None:
        talk.begin()
        for byte in body:
            talk.chunk(bytes([byte]))
        talk.end()

    with protocol_server(byte_by_byte) as server:
        assert heard(endpoint(server)).text == "grün"


def test_a_model_that_wants_the_other_name_of_the_token_limit() -> None:
    wants = error(400, "Unsupported parameter: 'max_completion_tokens' is not supported.", "unsupported_parameter")
    with protocol_server(wants, streamed(REPLY)) as server:
        said = heard(endpoint(server, max_reply_tokens=500), SCHEMA)
        first, second = (asked.body for asked in server.questions)
    assert first["max_completion_tokens"] == 500
    assert second["max_tokens"] == 500
    assert "max_completion_tokens" not in second
    assert second["response_format"]["type"] == "json_schema"  # the ladder is not to blame
    assert "refused the request" in said.notes[0]


def test_options_that_an_endpoint_refuses_by_name_are_left_out() -> None:
    refusals = [
        error(422, "Extra inputs are not permitted: stream_options"),
        error(400, "Unsupported value: 'temperature' does not support 0.2 with this model.", "unsupported_value"),
    ]
    with protocol_server(*refusals, streamed(REPLY, tokens=None)) as server:
        assert heard(endpoint(server, temperature=0.2), SCHEMA).text == REPLY
        bodies = [asked.body for asked in server.questions]
    assert bodies[0]["temperature"] == 0.2
    assert "stream_options" not in bodies[1]
    assert "temperature" not in bodies[2]


def test_an_endpoint_on_this_machine_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with protocol_server(streamed(REPLY)) as server:
        assert heard(endpoint(server)).text == REPLY
        assert KEY not in str(server.questions[0].headers)


def test_the_base_url_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with protocol_server(slow(0.01, streamed(FENCED))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert heard(Endpoint("m")).text == FENCED


def test_proxies_of_the_environment_are_not_used_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with protocol_server(streamed(REPLY)) as server, protocol_server(raw(b"proxy")) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.address)
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert heard(endpoint(server)).text == REPLY
        assert proxy.asked == []
