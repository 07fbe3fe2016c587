"""A program that runs the reader's child process for a test, a hundred a second: it forks where Python would start.

Each line of its stdin is the arguments of a reader as JSON, each of its stdout how that ended. The fork takes the same
limits as the real child, and a crash in it is its own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

LIMIT_S = 300  # of a single reading, which takes 0.05 s


class ReaderServer:
    """The server seen from the test: ``run`` is what ``process.run`` is to the reader."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, arguments: Sequence[str]) -> tuple[int, str, bool]:
        """Return exit code, stderr and whether it took too long."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps(list(arguments)) + "\n")
        self._child.stdin.flush()
        code, words = json.loads(self._child.stdout.readline())
        return code, words, code == -signal.SIGALRM

    def close(self) -> None:
        self._child.communicate()


def _serve() -> None:
    import ncu_report  # noqa: F401  loaded once for all forks

    from ncu_assist.ncu import reader

    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "stderr"
        for line in sys.stdin:
            child = os.fork()
            if child == 0:
                _read(reader.main, json.loads(line), said)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            sys.stdout.write(json.dumps((code, said.read_text(errors="replace"))) + "\n")
            sys.stdout.flush()


def _read(main, arguments: list[str], said: Path) -> None:  # type: ignore[no-untyped-def]
    sys.stderr = said.open("w")
    os.dup2(sys.stderr.fileno(), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # where the reader is slow it says how far it is: no answer
    signal.alarm(LIMIT_S)
    code = 1
    try:
        code = main(arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
