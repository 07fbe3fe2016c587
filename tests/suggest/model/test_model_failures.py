"""Every way an endpoint can fail has words, a hint, and exit code 8."""

from __future__ import annotations

import json
import socket
from types import SimpleNamespace

import pytest
from patience import CEILING_S
from suggest.asking import REPLY, SCHEMA, Heard, endpoint, heard, limits
from suggest.protocol_server import (
    Reply,
    Talk,
    delta,
    endless,
    error,
    events,
    protocol_server,
    raw,
    slow,
    streamed,
    usage,
)

from ncu_assist.errors import UsageProblem
from ncu_assist.suggest.model import Endpoint, asking

HANG_S = 10 * CEILING_S
PIECE = b"data: " + json.dumps(delta(content="x" * 1000)).encode() + b"\n\n"
PAGE = b"<!DOCTYPE html><html><head><title>502 Bad \x1b[31mGateway</title></head></html>"


def _object(**fields: object) -> Reply:
    return raw(json.dumps(fields).encode(), "application/json")


FAILURES: dict[str, tuple[Reply, str, str]] = {
    "wrong key": (error(401, "Incorrect API key provided"), "refused the key (HTTP 401", "OPENAI_API_KEY"),
    "no permission": (error(403, "Country not supported"), "refused the key (HTTP 403", "OPENAI_API_KEY"),
    "no credit": (error(429, "You exceeded your current quota", "insufficient_quota"), "no credit left", "--model"),
    "prompt too long": (
        error(400, "This model's maximum context length is 8192 tokens", "context_length_exceeded"),
        "longer than the model takes",
        "--max-prompt-tokens",
    ),
    "body too large": (error(413, "Request Entity Too Large"), "longer than the model takes", "--max-prompt-tokens"),
    "bad request": (error(400, "nothing pleases me"), "refused the request (HTTP 400: nothing pleases me)", "--model"),
    "no such path": (error(404, "Not Found"), "has no chat completions", "--base-url"),
    "web page": (raw(PAGE, "text/html"), "a web page instead of a reply: 502 Bad \\x1b[31mGateway", "--base-url"),
    "page as stream": (raw(PAGE), "a web page instead of a reply", "--base-url"),
    "an error's web page": (raw(PAGE, "text/html", 400), "HTTP 400: 502 Bad \\x1b[31mGateway", "--model"),
    "not events": (raw(b"hello, I am a printer"), "no stream of events; it begins: hello, I am", "--base-url"),
    "lines, not events": (raw(b"one\ntwo\n"), "no stream of events", "--base-url"),
    "a line and blank ones": (raw(b"hello\n\n\n"), "no stream of events; it begins: hello", "--base-url"),
    "garbage event": (events("{not json"), "an event that is no JSON object: {not json", "ask again"),
    "list event": (events("[1, 2]"), "an event that is no JSON object", "ask again"),
    "nested too deep": (events("[" * 100_000), "no JSON object", "ask again"),
    "no choices": (_object(choices=[]), "the endpoint answered without choices", "--model"),
    "no choices and why": (
        _object(choices=[], finish_reason="content_\x1b[31mfilter"),
        "the endpoint answered without choices: content_\\x1b[31mfilter",
        "--model",
    ),
    "a message in place of choices": (
        _object(object="error", message="upstream gave nothing", error=None),
        "answered without choices: upstream gave nothing",
        "--model",
    ),
    "no choices and an error": (_object(choices=[], error={"message": "GPU gone"}), "GPU gone", "some minutes"),
    "a stream without choices": (events(usage(11, 0), "[DONE]"), "the endpoint answered without choices", "--model"),
    "a stream that ends so": (events(usage(11, 0)), "the endpoint answered without choices", "--model"),
    "empty": (streamed(""), "the reply is empty", "ask again"),
    "blank": (streamed(" \n "), "the reply is empty", "ask again"),
    "only thoughts": (
        events(delta(reasoning_content="hmm"), delta("stop"), "[DONE]"),
        "reasoned for 3 characters and said nothing",
        "ask again",
    ),
    "cut off": (streamed('{"a', finish="length"), "cut off at the limit of tokens, after 3 characters", "write more"),
    "refused": (
        events(delta(refusal="I cannot"), delta(refusal=" help."), delta("stop")),
        "refused: I cannot help.",
        "--model",
    ),
    "filtered": (streamed("I", finish="content_filter"), "its provider's filter stopped", "--model"),
    "broken JSON": (raw(b'{"choices": [{"mess', "application/json"), "broke off: its JSON breaks off", "ask again"),
    "broken stream": (events(delta(content="half")), "broke off: the reply ended before its end", "ask again"),
    "cut connection": (events(delta(content="half"), end=False), "broke off", "ask again"),
    "nothing at all": (lambda talk: talk.reset(), "broke off", "ask again"),
    "empty body": (raw(b""), "the reply ended before its end", "ask again"),
    "server error": (error(500, "out of memory"), "the endpoint failed (HTTP 500: out of memory)", "some minutes"),
    "overloaded": (error(529, "Overloaded"), "the endpoint failed (HTTP 529", "some minutes"),
    "error in the stream": (events({"error": {"message": "GPU gone", "code": 502}}), "HTTP 502: GPU gone", "minutes"),
    "a proxy's time limit": (error(504, "Gateway Time-out"), "the endpoint failed (HTTP 504", "some minutes"),
    "redirect": (
        raw(b"", "text/plain", 302, location="http://evil.example/v1"),
        "redirects to http://evil.example/v1",
        "--base-url",
    ),
}


@pytest.mark.parametrize("case", FAILURES)
def test_words_for_a_failure(case: str) -> None:
    reply, words, hint = FAILURES[case]
    with protocol_server(reply) as server:
        said = heard(endpoint(server, limits=limits(retries=1)))
    assert words in said.words.partition(" | ")[0]
    assert hint in said.words.partition(" | ")[2]
    assert said.failed.exit_code == 8
    assert "\x1b" not in said.words


TRIED_AGAIN = ("server error", "overloaded", "broken stream", "broken JSON", "cut connection", "nothing at all")
TRIED_ONCE = (
    "no choices",
    "a stream without choices",
    "wrong key",
    "no credit",
    "prompt too long",
    "web page",
    "garbage event",
    "cut off",
    "refused",
    "redirect",
)


@pytest.mark.parametrize("case", [*TRIED_AGAIN, *TRIED_ONCE])
def test_what_may_pass_is_asked_again_and_what_stays_is_not(case: str) -> None:
    with protocol_server(FAILURES[case][0]) as server:
        said = heard(endpoint(server, limits=limits(retries=2)))
    assert len(server.questions) == (3 if case in TRIED_AGAIN else 1)
    assert len(said.notes) == (2 if case in TRIED_AGAIN else 0)


SENT = ("nothing at all", "empty body", "error in the stream", "no choices", "a proxy's time limit", "web page")
NOT_SENT = ("wrong key", "bad request", "server error", "overloaded", "redirect")


@pytest.mark.parametrize("case", [*SENT, *NOT_SENT])
def test_a_request_counts_unless_the_endpoint_refused_it(case: str) -> None:
    with protocol_server(FAILURES[case][0]) as server:
        cost = heard(endpoint(server, limits=limits(retries=0))).failed.cost
    calls = 1 if case in SENT else 0
    assert (cost.calls, cost.prompt_tokens) == (calls, 9 * calls)  # 33 characters of two messages
    assert cost.estimated == bool(calls)


def test_a_retry_that_succeeds_says_what_happened() -> None:
    flaky = (error(503, "busy"), events(delta(content="ha"), end=False), streamed(REPLY))
    with protocol_server(*flaky) as server:
        said = heard(endpoint(server))
    assert said.text == REPLY
    assert said.notes == [
        "the endpoint failed (HTTP 503); asks again in 0.01 s (1 of 3)",
        "the connection broke off; asks again in 0.02 s (2 of 3)",
    ]
    assert said.answer is not None
    assert said.answer.cost.calls == 2  # the one that broke off was paid for, the refusal was not
    assert said.answer.cost.estimated


def test_a_rate_limit_waits_as_long_as_it_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(asking, "time", SimpleNamespace(sleep=slept.append))
    with protocol_server(error(429, "slow down", retry_after="0.3"), streamed(REPLY)) as server:
        said = heard(endpoint(server))
    assert slept == [0.3]
    assert said.text == REPLY
    assert said.notes == ["the endpoint is rate-limited (HTTP 429); asks again in 0.3 s (1 of 3)"]


@pytest.mark.parametrize("wait", ["3600", "Fri, 31 Dec 2100 23:59:59 GMT"])
def test_a_rate_limit_beyond_the_time_limit_is_not_waited_for(wait: str) -> None:
    with protocol_server(error(429, "slow down", retry_after=wait)) as server:
        said = heard(endpoint(server))
    assert "rate-limited (HTTP 429), and the time limit does not allow to wait" in said.words


@pytest.mark.parametrize("wait", ["nan", "-5", "inf", "soon", ""])
def test_a_senseless_wait_is_not_obeyed(wait: str) -> None:
    with protocol_server(error(429, "slow down", retry_after=wait), streamed(REPLY)) as server:
        assert heard(endpoint(server)).text == REPLY


def test_a_rate_limit_that_stays() -> None:
    with protocol_server(error(429, "slow down")) as server:
        said = heard(endpoint(server, limits=limits(retries=1)))
    assert "rate-limited and stayed so (HTTP 429: slow down)" in said.words


def _overdue(reply: Reply, **changed: float) -> Heard:
    """Ask an endpoint that does not end: who waits for more than the limits allow hangs."""
    with protocol_server(reply) as server:
        return heard(endpoint(server, limits=limits(**changed)))


def test_an_endpoint_that_never_begins() -> None:
    said = _overdue(slow(HANG_S, streamed(REPLY)), first_s=0.15)
    assert "said nothing for 0.15 s" in said.words


def test_an_endpoint_that_falls_silent() -> None:
    said = _overdue(streamed("abc", pause_s=HANG_S), silence_s=0.15)
    assert "fell silent in the middle of its reply, for 0.15 s" in said.words
    assert said.failed.cost.calls == 1  # what came was paid for


def test_an_endpoint_that_drips_for_ever() -> None:
    said = _overdue(streamed("x" * 100_000, pieces=100_000, pause_s=0.02), whole_s=0.3)
    assert "took longer than the 0.3 s allowed" in said.words


def test_headers_that_drip_for_ever() -> None:
    def drip(talk: Talk) -> None:
        for letter in b"HTTP/1.1 200 OK\r\nx-slow: " + b"y" * 50_000:
            talk.handler.wfile.write(bytes([letter]))
            talk.wait(0.02)

    assert "said nothing for 0.2 s" in _overdue(drip, first_s=0.2).words


@pytest.mark.parametrize("piece", [PIECE, b"x" * 10_000, b"data: " + b"y" * 10_000, b"{" + b" " * 10_000], ids=len)
def test_a_reply_without_end_is_cut_off_while_it_comes(piece: bytes) -> None:
    with protocol_server(endless(piece)) as server:
        said = heard(endpoint(server, limits=limits(reply_chars=100_000)))
        assert server.hung_up.wait(CEILING_S), "the endpoint was left writing"
    assert "grew beyond 100,000 characters and was cut off" in said.words
    assert server.sent < 10_000_000
    assert sum(map(len, said.texts)) <= 100_000


def test_ten_megabytes_at_once() -> None:
    with protocol_server(streamed("x" * 10_000_000, pieces=1000)) as server:
        said = heard(endpoint(server))
    assert "grew beyond 1,000,000 characters" in said.words


def test_an_error_without_end() -> None:
    def reply(talk: Talk) -> None:
        talk.handler.send_response(400)
        talk.handler.end_headers()
        endless(b"z" * 10_000)(talk)

    with protocol_server(reply) as server:
        said = heard(endpoint(server))
    assert "HTTP 400" in said.words
    assert len(said.words) < 600


def test_an_unknown_model_is_named_with_its_neighbours() -> None:
    with protocol_server(error(404, "The model `gpt-5-mni` does not exist", "model_not_found")) as server:
        server.models = ("gpt-5-mini", "gpt-5", "whisper-1")
        said = heard(endpoint(server, model="gpt-5-mni"), SCHEMA)
        assert len(server.questions) == 1  # the ladder is not climbed for it
    assert "does not know the model 'gpt-5-mni'" in said.words
    assert "--model gpt-5-mini or --model gpt-5" in said.words


def test_an_unknown_model_at_an_endpoint_without_a_list() -> None:
    with protocol_server(error(404, "model 'x' not found, try pulling it first")) as server:
        said = heard(endpoint(server, model="x"))
    assert "does not know the model 'x': model 'x' not found" in said.words


def test_an_unknown_model_nothing_like_those_there_are() -> None:
    with protocol_server(error(404, "nope")) as server:
        server.models = ("llama-3", "qwen-3")
        said = heard(endpoint(server, model="zzz"))
    assert "it has 2, such as llama-3, qwen-3" in said.words


def test_an_endpoint_given_up_before_it_began_is_told_to_stop() -> None:
    def thinking(talk: Talk) -> None:
        if talk.handler.connection.recv(1) == b"":
            talk.server.hung_up.set()
            talk.leave()

    with protocol_server(thinking) as server:
        assert "said nothing for 0.1 s" in heard(endpoint(server, limits=limits(first_s=0.1))).words
        assert server.hung_up.wait(CEILING_S)


def test_a_local_endpoint_that_wants_a_key_after_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with protocol_server(error(401, "Invalid API Key")) as server:
        assert "wants a key, and none was found (HTTP 401: Invalid API Key)" in heard(endpoint(server)).words


def test_an_endpoint_that_is_down() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, not listening: connections are refused
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        said = heard(Endpoint("m", address, limits=limits()))
    assert f"{address} cannot be reached" in said.words
    assert "refused" in said.words
    assert said.notes == []  # a server that is not running does not start by waiting


def test_an_endpoint_that_does_not_speak_tls() -> None:
    with protocol_server(streamed(REPLY)) as server:
        said = heard(endpoint(server, base_url=server.base_url.replace("http:", "https:")))
    assert "cannot be reached" in said.words


@pytest.mark.parametrize("address", ["localhost:8000", "ftp://x/v1", "http://", "http://[::1", "http://a:99999/v1"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(UsageProblem, match=r"is not the address of an endpoint"):
        heard(Endpoint("m", address))
