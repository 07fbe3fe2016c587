"""Runs commands for tools: each in a process of its own, in the project, and one at a time on the GPU."""

from __future__ import annotations

import json
import re
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import anyio
import anyio.to_thread

from ncu_assist import process
from ncu_assist.errors import UsageProblem
from ncu_assist.process import Completed
from ncu_assist.project import Project
from ncu_assist.render.escape import one_line, plain

# What names a run, a kernel or a version: no option, no path but below the project.
NAME = re.compile(r"[A-Za-z0-9_@][\w@.:-]*(/[A-Za-z0-9_@][\w@.:-]*)?", re.ASCII)
TELL_S = 0.5  # between looks for something to tell
SILENCE_S = 10.0  # after which a client hears that work goes on
LONGEST_ERROR = 1_500  # characters
ANSWER_LIMIT = 200_000_000  # characters: more than any command prints of a 2 GB report


class CallContext(Protocol):
    """Who called a tool: told how far the work is."""

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None: ...


@dataclass(frozen=True)
class CommandAnswer:
    """What a command came to: its JSON object, its exit code, and what it said on stderr."""

    json: dict[str, Any]
    exit_code: int
    said: tuple[str, ...]


@dataclass
class CommandCaller:
    """Runs commands in ``project``; reports may be read below its root and below ``allowed``."""

    project: Project
    allowed: tuple[Path, ...] = ()
    gpu: anyio.Lock = field(default_factory=anyio.Lock)

    def checked(self, reference: str) -> str:
        """Return a reference that may be read: a name, or the whole path of a file in an allowed folder.

        Raises UsageProblem for a file elsewhere, links followed, and for what could be taken for an option.
        """
        path = (self.project.root / reference).resolve() if reference.isprintable() else None
        roots = [self.project.root.resolve(), *(one.resolve() for one in self.allowed)]
        inside = path is not None and any(path.is_relative_to(root) for root in roots)
        if inside and path is not None and path.is_file():
            return str(path)
        if NAME.fullmatch(reference) and ".." not in reference and inside:
            return reference
        if inside:
            raise UsageProblem(f"'{one_line(reference)}' is neither a reference nor a file", "the tool kernels")
        raise UsageProblem(
            f"'{one_line(reference)}' lies outside the project",
            "ask the person to start ncu-assist mcp with --allow and that folder",
        )

    def kernel(self, name: str) -> str:
        """Return the name of a kernel of the project; raises UsageProblem for any other word: it may be a program."""
        if not NAME.fullmatch(name) or "/" in name or not (self.project.kernels / name).is_dir():
            raise UsageProblem(f"there is no kernel '{one_line(name)}'", "the tool kernels")
        return name

    def version(self, name: str) -> str:
        """Return the name of a version; raises UsageProblem for what cannot be one."""
        if not NAME.fullmatch(name) or "/" in name:
            raise UsageProblem(f"'{one_line(name)}' is no version", "the tool kernels")
        return name

    async def ask(self, context: CallContext, *words: str) -> CommandAnswer:
        """Run a command and return its answer; raises UsageProblem where it has none, in its own words.

        Where the caller is cancelled, the command and all that it started are ended first.
        """
        lines: list[str] = []
        said: list[str] = []
        stop, argv = threading.Event(), [sys.executable, "-m", "ncu_assist", *words]
        run = partial(
            process.run,
            argv,
            cwd=self.project.root,
            on_line=lines.append,
            on_error_line=said.append,
            is_stuck=stop.is_set,
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_tell, context, said, stop)
            done = await anyio.to_thread.run_sync(run)
            tasks.cancel_scope.cancel()
        return _answer(words[0], done, lines, said)

    async def ask_gpu(self, context: CallContext, *words: str) -> CommandAnswer:
        """Run a command that may use the GPU, after those that were called before it."""
        if self.gpu.locked():
            await context.report_progress(0, None, "waiting: another call uses the GPU")
        async with self.gpu:
            return await self.ask(context, *words)

    @contextmanager
    def file_with(self, text: str, suffix: str) -> Iterator[Path]:
        """Write a text to a file of the project's cache for the length of a with block."""
        self.project.work.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=suffix, dir=self.project.work) as stream:
            stream.write(text)
            stream.flush()
            yield Path(stream.name)


async def _tell(context: CallContext, said: Sequence[str], stop: threading.Event) -> None:
    """Report what a command says while it works, and that it works; ends the command when it is cancelled."""
    told, started = 0, anyio.current_time()
    last = started
    try:
        while True:
            await anyio.sleep(TELL_S)
            now = anyio.current_time()
            if told < len(said) or now - last > SILENCE_S:
                message = plain(said[-1]) if told < len(said) else "still at work"
                told, last = len(said), now
                await context.report_progress(now - started, None, message)
    finally:
        stop.set()


def _answer(command: str, done: Completed, lines: Sequence[str], said: Sequence[str]) -> CommandAnswer:
    if done.exit_code < 0:
        raise UsageProblem(f"`ncu-assist {command}` was ended by signal {-done.exit_code}", "call the tool again")
    text = "\n".join(lines)
    try:
        if len(text) > ANSWER_LIMIT:
            raise UsageProblem(f"`ncu-assist {command}` answered with {len(text):,} characters", "choose a launch")
        answer = json.loads(text)
    except ValueError:
        words = "\n".join(said).strip() or f"`ncu-assist {command}` ended with exit code {done.exit_code}"
        raise UsageProblem(plain(words.removeprefix("error: "))[-LONGEST_ERROR:]) from None
    return CommandAnswer(answer, done.exit_code, tuple(plain(line) for line in said))
