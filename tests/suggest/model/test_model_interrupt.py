"""Ctrl-C, and callers that fail: the connection is shut at once, so that the endpoint stops writing."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass

import pytest
from patience import CEILING_S, press_ctrl_c
from suggest.asking import QUESTION, endpoint
from suggest.protocol_server import Talk, delta, endless, protocol_server

from ncu_assist.suggest.model import ask
from ncu_assist.suggest.model.client import ModelClient
from ncu_assist.suggest.model.endpoint import Scrubber

PIECE = b"data: " + json.dumps(delta(content="x")).encode() + b"\n\n"


def test_ctrl_c_while_the_reply_comes() -> None:
    def interrupt(text: str) -> None:
        raise KeyboardInterrupt

    with protocol_server(endless(PIECE)) as server:
        with pytest.raises(KeyboardInterrupt):
            ask(endpoint(server), QUESTION, interrupt)
        assert server.hung_up.wait(CEILING_S)


def test_ctrl_c_while_nothing_comes() -> None:
    def silent(talk: Talk) -> None:
        press_ctrl_c()  # the question is here: who asked waits for the reply
        if talk.handler.connection.recv(1) == b"":
            talk.server.hung_up.set()
            talk.leave()

    with protocol_server(silent) as server:
        with pytest.raises(KeyboardInterrupt):
            ask(endpoint(server), QUESTION, lambda text: None)
        assert server.hung_up.wait(CEILING_S)


def test_ctrl_c_while_the_reading_thread_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, start = threading.Event(), threading.Thread.start

    def silent(talk: Talk) -> None:
        asked.set()
        if talk.handler.connection.recv(1) == b"":
            talk.server.hung_up.set()
            talk.leave()

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        if thread.name == "model reply":
            assert asked.wait(CEILING_S)
            raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with protocol_server(silent) as server:
        with pytest.raises(KeyboardInterrupt):
            ask(endpoint(server), QUESTION, lambda text: None)
        assert server.hung_up.wait(CEILING_S)


def test_a_caller_that_fails_is_not_taken_for_the_endpoint() -> None:
    def broken(text: str) -> None:
        raise BrokenPipeError("stdout is gone")

    with protocol_server(endless(PIECE)) as server:
        with pytest.raises(BrokenPipeError, match="stdout is gone"):
            ask(endpoint(server), QUESTION, broken)
        assert server.hung_up.wait(CEILING_S)
        assert len(server.questions) == 1


def test_the_client_is_loaded_for_a_question_alone() -> None:
    code = (
        "import sys, ncu_assist.suggest.model; print(sorted({'openai', 'httpx', 'httpx2', 'rich'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_connection_hung_up_is_reset_when_it_is_closed() -> None:
    """An endpoint that waits for room in a full window hears of a reset, not of an end."""
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_connection(listening.getsockname()) as ours:
        theirs, _ = listening.accept()
        ModelClient(library=None, address="", streams=[_Stream(ours)], scrubber=Scrubber(None)).hang_up()  # type: ignore[arg-type]
        ours.close()
        with theirs, pytest.raises(OSError, match=r"reset|Broken pipe"):
            theirs.send(b"more")


@dataclass
class _Stream:
    socket: socket.socket

    def get_extra_info(self, name: str) -> socket.socket:
        assert name == "socket"
        return self.socket
