"""json_schema, json_object, fenced blocks: the first that an endpoint takes, remembered for the next question."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from suggest.asking import FENCED, REPLY, SCHEMA, endpoint, heard
from suggest.protocol_server import Reply, error, only, protocol_server, streamed

from ncu_assist.suggest.model import Message, ReplyForm, ask, expected_form
from ncu_assist.suggest.model.asking import MOST_ENTRIES, cache_file

NOT_SUPPORTED = error(400, "response_format json_schema is not supported", "unsupported_parameter")
REFUSALS: dict[str, Reply] = {
    "named": NOT_SUPPORTED,
    "unnamed 400": error(400, "Bad Request"),
    "404": error(404, "No endpoints found that can handle the requested parameters."),
    "422": error(422, "Unprocessable"),
    "a 500 that names it": error(500, "Failed to parse grammar"),
    "model and field in one": error(400, "model m does not exist for response_format of type json_schema"),
}


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize(("taken", "asked"), [("json_schema", 1), ("json_object", 2), ("fences", 3)])
def test_each_form(refusal: str, taken: ReplyForm, asked: int) -> None:
    with protocol_server(only([taken], REPLY, REFUSALS[refusal])) as server:
        said = heard(endpoint(server), SCHEMA)
        assert len(server.questions) == asked
        assert said.answer is not None
        assert (said.answer.form, said.text) == (taken, REPLY)
        assert len(said.notes) == asked - 1
        assert said.answer.cost.calls == 1  # a refusal costs nothing
        assert expected_form(endpoint(server)) == taken


def test_what_worked_is_where_the_next_question_begins() -> None:
    with protocol_server(only(["json_object"], REPLY, NOT_SUPPORTED)) as server:
        heard(endpoint(server), SCHEMA)
        heard(endpoint(server), SCHEMA)
        heard(endpoint(server, model="other"), SCHEMA)  # another model may differ
        rungs = [asked.rung for asked in server.questions]
    assert rungs == ["json_schema", "json_object", "json_object", "json_schema", "json_object"]


def test_prose_where_json_was_asked_for_asks_for_a_simpler_form() -> None:
    with protocol_server(streamed("Sure! I would tile it."), streamed('{"change": '), streamed(FENCED)) as server:
        said = heard(endpoint(server), SCHEMA)
    assert said.answer is not None
    assert (said.text, said.answer.form) == (FENCED, "fences")
    assert said.answer.cost.calls == 3  # these were paid for
    assert said.notes[0] == "the reply is not what json_schema asks for; asks for json_object instead"


def test_an_empty_reply_asks_for_a_simpler_form_too() -> None:
    with protocol_server(streamed(""), streamed(REPLY)) as server:
        said = heard(endpoint(server), SCHEMA)
    assert said.answer is not None
    assert said.answer.form == "json_object"


def test_fences_from_an_endpoint_that_ignores_the_form_are_taken_as_such() -> None:
    with protocol_server(streamed(FENCED)) as server:
        said = heard(endpoint(server), SCHEMA)
        assert len(server.questions) == 1
        assert expected_form(endpoint(server)) == "fences"
    assert said.answer is not None
    assert said.answer.form == "fences"


def test_the_messages_may_depend_on_the_form() -> None:
    with protocol_server(only(["fences"], REPLY, NOT_SUPPORTED)) as server:
        ask(endpoint(server), lambda form: [Message("user", f"as {form}")], lambda text: None, SCHEMA)
        said = [asked.body["messages"][0]["content"] for asked in server.questions]
    assert said == ["as json_schema", "as json_object", "as fences"]


def test_without_a_schema_no_form_is_asked_for_and_none_remembered() -> None:
    with protocol_server(streamed("prose")) as server:
        assert heard(endpoint(server)).text == "prose"
        assert server.questions[0].rung == "fences"
        assert expected_form(endpoint(server)) == "json_schema"


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b'{"%s": 3}', b'{"%s": {"at": "x"}}', b"null"]
)
def test_a_damaged_memory_is_no_memory(damage: bytes) -> None:
    with protocol_server(streamed(REPLY)) as server:
        cache_file().parent.mkdir(parents=True)
        cache_file().write_bytes(damage.replace(b"%s", f"{server.base_url} m".encode()))
        assert heard(endpoint(server), SCHEMA).text == REPLY
        assert server.questions[0].rung == "json_schema"
    assert json.loads(cache_file().read_bytes())


@pytest.mark.parametrize(
    "entry", [{"reply_form": "xml"}, {"reply_form": ["fences"]}, {"reply_form": "fences", "usage": 3}, {"tokens": {}}]
)
def test_an_entry_that_makes_no_sense(entry: dict[str, object]) -> None:
    with protocol_server(streamed(REPLY)) as server:
        cache_file().parent.mkdir(parents=True)
        cache_file().write_text(json.dumps({f"{server.base_url} m": {"at": time.time(), **entry}}))
        assert expected_form(endpoint(server)) == "json_schema"


def test_what_was_found_out_long_ago_is_found_out_anew() -> None:
    with protocol_server(streamed(FENCED)) as server:
        heard(endpoint(server), SCHEMA)
        entries = json.loads(cache_file().read_text())
        for entry in entries.values():
            entry["at"] -= 40 * 24 * 3600
        cache_file().write_text(json.dumps(entries))
        assert expected_form(endpoint(server)) == "json_schema"


def test_a_memory_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with protocol_server(streamed(REPLY)) as server:
        assert heard(endpoint(server), SCHEMA).text == REPLY


def test_the_memory_stays_small() -> None:
    cache_file().parent.mkdir(parents=True)
    entries = {f"http://h{n}/v1 m": {"reply_form": "fences", "at": float(n)} for n in range(3 * MOST_ENTRIES)}
    cache_file().write_text(json.dumps(entries))
    with protocol_server(streamed(REPLY)) as server:
        heard(endpoint(server), SCHEMA)
        kept = json.loads(cache_file().read_text())
        assert len(kept) == MOST_ENTRIES
        assert f"{server.base_url} m" in kept
