"""The two sides of an exam as forks of a process that has torch loaded, which takes three seconds to load.

They are processes all the same, with a group, pipes, an environment and an end of their own. A side in a sandbox
cannot be forked into it: it starts as ever.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import select
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

import pytest

from ncu_assist import process
from ncu_assist.process import module_argv

MODULE = "ncu_assist.harness.exam"
SIDE = module_argv(MODULE)
LONGEST = 1 << 20  # bytes of a request


class Child:
    """A forked child with what ``process.run`` uses of a ``subprocess.Popen``."""

    def __init__(self, words: BinaryIO, out: int, err: int) -> None:
        self._words = words
        self.pid = int(words.readline())
        self.stdout = os.fdopen(out, encoding="utf-8", errors="replace")
        self.stderr = os.fdopen(err, encoding="utf-8", errors="replace")
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._words], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(MODULE, timeout or 0.0)
            self.returncode = int(self._words.readline())
            self._words.close()
        return self.returncode


class Nursery:
    """The process that forks, seen from a test."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._turn = threading.Lock()
        argv = [sys.executable, __file__, str(theirs.fileno())]
        self._process = subprocess.Popen(argv, pass_fds=[theirs.fileno()])
        theirs.close()

    def start(self, argv: list[str], cwd: Path | None, env: dict[str, str] | None) -> Child:
        (words, told), (out, to_out), (err, to_err) = os.pipe(), os.pipe(), os.pipe()
        asked = {
            "argv": argv[len(SIDE) :],
            "cwd": str(cwd or Path.cwd()),
            "env": dict(os.environ) if env is None else env,
        }
        with self._turn:
            socket.send_fds(self._ours, [json.dumps(asked).encode()], [told, to_out, to_err])
        for given in (told, to_out, to_err):
            os.close(given)
        return Child(os.fdopen(words, "rb", buffering=0), out, err)

    def close(self) -> None:
        self._ours.close()
        self._process.wait()


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    one = Nursery()
    yield one
    one.close()


@pytest.fixture(autouse=True)
def torch_loaded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the sides of exams, but on a GPU, whose driver is not for forks."""
    if request.node.get_closest_marker("gpu"):
        return

    first = threading.Lock()  # both sides are started at once, by a thread each; pytest makes a fixture for one

    def popen(argv: list[str], **how: Any) -> Any:
        if argv[: len(SIDE)] == SIDE:
            with first:
                ours = request.getfixturevalue("nursery")
            return ours.start(argv, how["cwd"], how["env"])
        return subprocess.Popen(argv, **how)

    known = {name: getattr(subprocess, name) for name in ("DEVNULL", "PIPE", "TimeoutExpired")}
    monkeypatch.setattr(process, "subprocess", SimpleNamespace(Popen=popen, **known))


def _serve(asking: socket.socket) -> None:
    import torch  # noqa: F401

    while True:
        request, (told, out, err), *_ = socket.recv_fds(asking, LONGEST, 3)
        if not request:
            return
        if os.fork() == 0:
            _keep(json.loads(request), told, out, err)
        for given in (told, out, err):
            os.close(given)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _keep(asked: dict[str, Any], told: int, out: int, err: int) -> None:
    """Fork once more, and say which process that is and how it ends."""
    child = os.fork()
    if child == 0:
        os.close(told)
        os.setsid()
        for number, given in enumerate((os.open(os.devnull, os.O_RDONLY), out, err)):
            os.dup2(given, number)
        os.closerange(3, 256)
        _be(asked)
    os.close(out)
    os.close(err)
    os.write(told, b"%d\n" % child)
    os.write(told, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os._exit(0)


def _be(asked: dict[str, Any]) -> None:
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.path[0] = asked["cwd"]
    sys.argv = [MODULE, *asked["argv"]]
    code = 1
    try:
        runpy.run_module(MODULE, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as asking:
        _serve(asking)
