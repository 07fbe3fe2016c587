"""The key is found where it should be, refused where others could have it, and stands in no text at all."""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
from suggest.asking import QUESTION, SCHEMA, endpoint, heard, limits
from suggest.protocol_server import KEY, Reply, delta, error, events, protocol_server, raw, streamed

from ncu_assist.errors import ModelProblem
from ncu_assist.suggest.model import Endpoint, ask
from ncu_assist.suggest.model.asking import cache_file
from ncu_assist.suggest.model.endpoint import Key, Scrubber, default_key_file, find_key, shown

OTHER = "sk-file-zyxwvutsrqponmlk"
LONG = "blah " * 50
ECHOES: dict[str, Reply] = {
    "error": error(401, f"Incorrect API key provided: {KEY}"),
    "error, where words are cut short": error(400, LONG[:190] + KEY),
    "error, where all is cut short": error(400, "b" * 290 + KEY),
    "error code": error(400, "no", KEY),
    "error, spelled otherwise": raw(f'{{"error": "\\u{ord(KEY[0]):04x}{KEY[1:]}"}}'.encode(), "application/json", 400),
    "error in the stream": events({"error": {"message": KEY}}),
    "error as text": raw(KEY.encode(), "text/plain", 400),
    "error as list": raw(f'[{{"loc": "{KEY}"}}]'.encode(), "application/json", 422),
    "web page": raw(f"<title>{'t' * 70}{KEY}</title>".encode(), "text/html"),
    "no events": raw(f"Authorization: Bearer {KEY}\n".encode()),
    "garbage event": events(f"Bearer {KEY}"),
    "unknown model": error(404, f"model not found for {KEY}"),
    "redirect": raw(b"", "text/plain", 307, location=f"http://elsewhere.example/?key={KEY}"),
    "refusal": events(delta(refusal=f"not with {KEY}"), delta("stop")),
    "reply": streamed(f"your key is {KEY}, is it not?", pieces=1),
    "reply in pieces": streamed(f"{KEY[:9]}{KEY} and {KEY}", pieces=23),
}


@pytest.mark.parametrize("echo", ECHOES)
@pytest.mark.parametrize("schema", [None, SCHEMA])
def test_an_endpoint_that_echoes_the_key(
    echo: str, schema: dict[str, object] | None, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("openai", "httpx", "httpx2", "httpcore", "httpcore2"):
        caplog.set_level(logging.DEBUG, name)
    with protocol_server(ECHOES[echo]) as server:
        server.models = (f"m{KEY}",)
        said = heard(endpoint(server, limits=limits(retries=1)), schema)
        assert server.questions[0].headers["authorization"] == f"Bearer {KEY}"
    trace = "".join(traceback.format_exception(said.problem)) if said.problem else ""
    streams = capfd.readouterr()
    memory = cache_file().read_text() if cache_file().exists() else ""
    everything = [repr(said), "".join(said.texts), trace, caplog.text, streams.out, streams.err, memory]
    if echo != "redirect":  # at DEBUG, the transport logs the headers that came back, and this one comes in a header
        assert KEY not in "".join(everything)
    assert KEY not in "".join(everything[:3] + everything[4:])
    assert KEY[:12] not in "".join(everything[:3])
    assert said.problem is None or all(KEY not in f"{e}{e!r}{vars(e)}" for e in _chain(said.problem))


def _chain(error: BaseException) -> list[BaseException]:
    found = [error]
    while (before := found[-1].__cause__ or found[-1].__context__) is not None:
        found.append(before)
    return found


def test_a_reply_that_only_resembles_the_key_is_shown_whole() -> None:
    text = f"sk-test-{KEY[:20]} sk-test sk-{KEY[:-1]}"
    with protocol_server(streamed(text, pieces=40)) as server:
        said = heard(endpoint(server))
    assert said.text == text
    assert "".join(said.texts) == text


def test_a_redirect_takes_the_key_nowhere() -> None:
    with protocol_server(streamed("stolen")) as thief:
        for status in (301, 302, 307, 308):
            with protocol_server(raw(b"", "text/plain", status, location=thief.base_url)) as server:
                assert f"redirects to {thief.base_url}" in heard(endpoint(server)).words
        assert thief.asked == []


def test_the_key_of_a_named_file_goes_before_the_environment(tmp_path: Path) -> None:
    path = _key_file(tmp_path / "key", f"{OTHER}\n")
    with protocol_server(streamed("ok")) as server:
        heard(endpoint(server, key_file=path))
        assert server.questions[0].headers["authorization"] == f"Bearer {OTHER}"


def test_the_order_of_where_a_key_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    path = _key_file(default_key_file(os.environ), OTHER)
    monkeypatch.setenv("NCU_ASSIST_API_KEY", "own-key-1234567")
    origins = []
    for name in ("NCU_ASSIST_API_KEY", "OPENAI_API_KEY", "HOME"):
        key = find_key(None)
        origins.append(key.origin if key else "")
        monkeypatch.delenv(name)
    assert origins == ["NCU_ASSIST_API_KEY", "OPENAI_API_KEY", f"the file {path}"]
    path.unlink()
    assert find_key(None) is None


def test_the_default_file_without_a_folder_for_settings(tmp_path: Path) -> None:
    assert default_key_file({"XDG_CONFIG_HOME": "relative"}) == tmp_path / ".config" / "ncu-assist" / "key"
    assert default_key_file({}) == tmp_path / ".config" / "ncu-assist" / "key"


def test_a_user_without_a_home_has_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert find_key(None, {}) is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o666])
def test_a_file_that_others_may_open_is_refused(tmp_path: Path, mode: int) -> None:
    path = _key_file(tmp_path / "key", OTHER)
    path.chmod(mode)
    with pytest.raises(ModelProblem, match=f"open to others \\(mode 0{mode:o}\\)") as caught:
        find_key(path)
    assert caught.value.hint == f"chmod 600 {path}"


def test_a_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _key_file(tmp_path / "key", OTHER)
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    with pytest.raises(ModelProblem, match="belongs to another user"):
        find_key(path)


def _pipe(path: Path) -> None:
    os.mkfifo(path, 0o600)


NO_KEYS: dict[str, tuple[Callable[[Path], object], str]] = {
    "absent": (lambda path: None, "cannot be opened: No such file"),
    "folder": (lambda path: path.mkdir(), "not a regular file"),
    "pipe": (_pipe, "not a regular file"),
    "empty": (lambda path: _key_file(path, " \n"), "it is empty"),
    "two lines": (lambda path: _key_file(path, f"{OTHER}\n{OTHER}"), "blanks, line breaks"),
    "not ASCII": (lambda path: _key_file(path, f"{OTHER}é"), "beyond ASCII"),
    "large": (lambda path: _key_file(path, OTHER * 1000), "larger than 4096 bytes"),
}


@pytest.mark.parametrize("case", NO_KEYS)
def test_a_file_without_a_key(tmp_path: Path, case: str) -> None:
    make, words = NO_KEYS[case]
    make(tmp_path / "key")
    with pytest.raises(ModelProblem, match=words) as caught:
        find_key(tmp_path / "key")
    assert OTHER not in "".join(traceback.format_exception(caught.value))


def test_no_key_for_an_endpoint_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    for address in (None, "https://models.example/v1", "http://10.0.0.7:8000/v1"):
        said = heard(Endpoint("m", address))
        assert "there is no key" in said.words
        assert "chmod 600" in said.words


def test_a_key_that_travels_unencrypted_is_said() -> None:
    notes: list[str] = []
    where = Endpoint("m", "http://user:secret@192.0.2.1:1/v1", limits=limits(whole_s=0.2))  # an address for documents
    with pytest.raises(ModelProblem) as caught:
        ask(where, QUESTION, notes.append, None, notes.append)
    assert notes[0] == "the key goes to http://192.0.2.1:1/v1 unencrypted: the address begins with http"
    assert "secret" not in f"{caught.value.message}{notes}"


def test_an_address_is_shown_without_what_is_secret_in_it() -> None:
    assert shown("https://user:pass@host:8/v1/?key=abc#d") == "https://host:8/v1"


def test_a_key_shows_itself_in_no_text() -> None:
    key = Key(KEY, "here")
    assert KEY not in f"{key} {key!r} {[key]}"


def test_a_placeholder_is_no_secret() -> None:
    assert Scrubber(Key("none", "here")).message("none of these") == "none of these"


def test_what_may_be_the_beginning_of_the_key_is_held_back_no_longer_than_needed() -> None:
    scrubber = Scrubber(Key(KEY, "here"))
    assert scrubber.feed(f"a {KEY[:5]}") == "a "
    assert scrubber.feed("!") == f"{KEY[:5]}!"
    assert scrubber.rest() == ""


def _key_file(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    path.chmod(0o600)
    return path
