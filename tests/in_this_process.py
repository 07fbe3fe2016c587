"""The measuring process without a process of its own: torch is loaded once for all tests of a worker, not once a child.

What a child's end, silence and signals come to is held against real ones in tests/harness.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from unittest import mock

from fakes import fake_ncu

from ncu_assist.executors.local import Local
from ncu_assist.process import Completed, module_argv

HARNESS = module_argv("ncu_assist.harness")


class Here(Local):
    """Runs the harness in this process, also where the fake ncu would run it, and every other program as ever."""

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout_s: float | None = None,
        on_line: Callable[[str], None] | None = None,
        is_stuck: Callable[[], bool] | None = None,
    ) -> Completed:
        env = dict(os.environ if env is None else env)
        command = list(argv[argv.index("--") + 1 :] if "--" in argv else argv)
        if command[:-1] != HARNESS:
            return super().run(argv, env=env, cwd=cwd, timeout_s=timeout_s, on_line=on_line, is_stuck=is_stuck)
        if command == list(argv):
            return _harness(command, env, cwd, on_line)
        with mock.patch.dict(os.environ, env, clear=True):
            is_run = fake_ncu.runs(command)
        if is_run:
            env["FAKE_NCU_RAN"] = str(_harness(command, env, cwd, on_line).exit_code)
            del env["FAKE_NCU_RUN"]
        return super().run(argv, env=env, cwd=cwd, timeout_s=timeout_s, on_line=on_line, is_stuck=is_stuck)


def _harness(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path | None, on_line: Callable[[str], None] | None
) -> Completed:
    from ncu_assist.harness.__main__ import main

    out, err = _Lines(on_line or (lambda line: None)), io.StringIO()
    with _as_a_child(env, cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(Path(argv[-1]))
        except Exception:
            traceback.print_exc()
            code = 1
    return Completed(tuple(argv), code, out.getvalue(), err.getvalue(), 0.0, False)


class _Lines(io.StringIO):
    """Tells of each line as soon as it has its end."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        super().__init__()
        self._on_line, self._begun = on_line, ""

    def write(self, text: str) -> int:
        *whole, self._begun = (self._begun + text).split("\n")
        for line in whole:
            self._on_line(line)
        return super().write(text)


@contextlib.contextmanager
def _as_a_child(env: Mapping[str, str], cwd: Path | None) -> Iterator[None]:
    """Put back what a child changes for itself."""
    handler, path = signal.getsignal(signal.SIGINT), list(sys.path)
    with mock.patch.dict(os.environ, env, clear=True), contextlib.chdir(cwd or Path.cwd()):
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, handler)
            sys.path[:] = path
