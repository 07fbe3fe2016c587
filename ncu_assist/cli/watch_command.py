"""``ncu-assist watch``: from a saved file to its verdict and diagnosis, again and again."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import click

from ncu_assist.cli import completing, options
from ncu_assist.cli.console import say, write, write_pages
from ncu_assist.errors import EnvironmentProblem, UsageProblem

if TYPE_CHECKING:
    from rich.live import Live

    from ncu_assist.analysis.ladder import Attempt
    from ncu_assist.pipeline.watching import FolderWatch

KEYS = "p profile now · k keep as the next version · o page · q quit"
WAITING = "waiting for a file to be saved"
# What a terminal sends for F1, an arrow, Alt with a letter: ESC, and what follows it.
SEQUENCE = re.compile(r"\x1b+(?:\[\[?[0-?]*[ -/]*[@-Z\\-~]|O[0-9;]*[@-~]|[^\x1b\[O])")
SEQUENCE_S = 0.2  # a sequence that is not whole after so long is the key ESC


class View(Protocol):
    """Where edits are shown; it is a Reporter, too."""

    def note(self, text: str) -> None: ...

    def status(self, text: str) -> None: ...

    def show(self, attempt: Attempt) -> None: ...


class Lines:
    """What stays: a line or two a step, as JSON or as text, for pipes and editors."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json

    def note(self, text: str) -> None:
        say(text)

    def status(self, text: str) -> None:
        """A live line is for terminals."""

    def show(self, attempt: Attempt) -> None:
        from ncu_assist.render.json.versions import attempt_json
        from ncu_assist.render.terminal.versions import attempt_lines

        if self._as_json:
            click.echo(json.dumps(attempt_json(attempt), allow_nan=False))
        else:
            write("\n".join(attempt_lines(attempt)))
        sys.stdout.flush()


class Screen:
    """The last edits, redrawn in place, what happens now, and the keys."""

    def __init__(self, live: Live, kernel: str) -> None:
        self._live, self._kernel = live, kernel
        self._attempts: dict[int, Attempt] = {}
        self._status = WAITING

    def note(self, text: str) -> None:
        from rich.text import Text

        from ncu_assist.render.escape import plain

        self._live.console.print(Text(plain(text)))

    def status(self, text: str) -> None:
        from ncu_assist.render.terminal.versions import watch_view

        self._status = text
        self._live.update(watch_view(self._kernel, list(self._attempts.values()), text, KEYS), refresh=True)

    def show(self, attempt: Attempt) -> None:
        self._attempts[attempt.number] = attempt
        self.status(attempt.state if attempt.state in ("measuring", "profiling") else WAITING)


@click.command("watch")
@click.argument("kernel", shell_complete=completing.kernels)
@click.option("--against", metavar="VERSION", help="Compare with this version instead of the parent, e.g. v7.")
@options.one_workload
@options.rounds
@click.option("--set", "section_set", metavar="NAME", default="full", show_default=True, help="ncu section set.")
@click.option("--no-profile", is_flag=True, help="Only time each edit; the key p profiles the last one.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line, for editors.")
def command(
    kernel: str,
    against: str | None,
    workload: str | None,
    rounds: int | None,
    section_set: str,
    no_profile: bool,
    as_json: bool,
) -> int:
    """After each save of a version of KERNEL, say whether it is faster: build, check and time it, then profile it.

    Each edit is timed in one bench with its parent and the fastest version. It runs in its own process, so a fault in
    one edit cannot affect the numbers of another. A later save stops the current work. The runs of the last edit and of
    each kept edit are archived. On a terminal, keys profile, keep, open the page, and quit. Without a terminal, each
    step prints a line.
    """
    from ncu_assist.pipeline.watching import FolderWatch

    is_screen = not as_json and sys.stdout.isatty() and sys.stdin.isatty()
    project = options.current_project()
    with (
        _end_of_session() as ended,
        _view(is_screen, kernel, as_json) as view,
        FolderWatch(
            project,
            kernel,
            view,
            against=against,
            workload=workload,
            rounds=rounds,
            section_set=section_set,
            profiles=not no_profile,
        ) as watch,
        _keys(is_screen, ended) as keys,
    ):
        view.status(WAITING)
        if not is_screen:
            say(f"watching {watch.folder}; Ctrl-C stops it")
        while not ended.is_set():
            key = keys.next()
            if key == "q":
                return 0
            if key is not None:
                _act(key, watch, view, keys)
            elif watch.is_changed():
                _measure(watch, view, keys)
        raise KeyboardInterrupt


def _measure(watch: FolderWatch, view: View, keys: Keys) -> None:
    try:
        version = watch.take()
    except UsageProblem as problem:  # half of an edit, or a mistake in kernel.toml
        view.note(problem.message)
        return
    if version is not None:
        watch.measure(version, lambda: watch.is_edited() or keys.is_quit(), view.show)


def _act(key: str, watch: FolderWatch, view: View, keys: Keys) -> None:
    last = watch.attempts[-1] if watch.attempts else None
    if key not in "pko":
        view.status(WAITING)
    elif last is None or last.run is None:
        view.status(f"{KEYS}: {_why_nothing(last)}")
    elif key == "o":
        _page(watch, view)
    else:
        try:
            _again_or_keep(key, last, watch, view, keys)
        except (UsageProblem, EnvironmentProblem) as problem:
            view.note(f"{last.version.partition('_')[0]}: {problem.message}")


def _why_nothing(last: Attempt | None) -> str:
    """Say why there is nothing that a key could act on."""
    if last is None:
        return "there is no edit yet"
    name = last.version.partition("_")[0]
    if last.state == "failed":
        return f"the last edit of {name} failed, so there is nothing to profile, keep or show"
    return f"the last edit of {name} was not measured to the end"


def _again_or_keep(key: str, last: Attempt, watch: FolderWatch, view: View, keys: Keys) -> None:
    if key == "p":
        watch.again(lambda: watch.is_edited() or keys.is_quit(), view.show)
    else:
        path = watch.keep(last)
        view.note(f"kept as {path.name}; {last.version} also has the edit; git restore undoes it there")


def _page(watch: FolderWatch, view: View) -> None:
    from ncu_assist.render.table import RUN_PAGE

    stored = watch.archive()
    if stored is None:
        view.note("the file has changed since; the next verdict will have its page")
        return
    write_pages(watch.project, [stored])
    page = stored.folder / RUN_PAGE
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin":
        click.launch(str(page))
    view.note(os.path.relpath(page, Path.cwd()))


class Keys:
    """What is pressed on a terminal; without one nothing ever is."""

    def __init__(self, handle: int | None, ended: threading.Event) -> None:
        self._handle, self._ended = handle, ended
        self._waiting = ""
        self._begun, self._begun_at = "", 0.0  # a sequence for a key such as F1 of which more will come

    def is_quit(self) -> bool:
        """Tell whether q was pressed, or the session has ended; other keys wait until what runs has ended."""
        self._waiting += self._read(0)
        return self._ended.is_set() or "q" in self._waiting

    def next(self) -> str | None:
        """Return the key that is pressed within a moment, None for none."""
        from ncu_assist.pipeline.watching import POLL_S

        self._waiting += self._read(0 if self._waiting else POLL_S)
        key, self._waiting = self._waiting[:1], self._waiting[1:]
        return key or None

    def _read(self, seconds: float) -> str:
        """Return the letters that were pressed; what arrows and function keys send is no letter."""
        if self._handle is None:
            time.sleep(seconds)
            return ""
        if self._begun and time.monotonic() - self._begun_at > SEQUENCE_S:
            self._begun = ""
        if not select.select([self._handle], [], [], seconds)[0]:
            return ""
        try:
            read = os.read(self._handle, 1024).decode("ascii", "replace")
        except OSError:  # the terminal is gone
            read = ""
        if not read:  # nothing more comes: hung up
            return "q"
        letters = SEQUENCE.sub("", self._begun + read)
        letters, self._begun = letters.partition("\x1b")[0], "".join(letters.partition("\x1b")[1:])
        self._begun_at = time.monotonic()
        return letters.lower()


@contextlib.contextmanager
def _keys(is_screen: bool, ended: threading.Event) -> Iterator[Keys]:
    """Hear each key as it is pressed, and leave the terminal as it was."""
    if not is_screen:
        yield Keys(None, ended)
        return
    import termios
    import tty

    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    try:
        tty.setcbreak(handle)
        yield Keys(handle, ended)
    finally:
        with contextlib.suppress(termios.error):  # it is gone
            termios.tcsetattr(handle, termios.TCSADRAIN, before)


@contextlib.contextmanager
def _end_of_session() -> Iterator[threading.Event]:
    """Set an event by SIGTERM, and by SIGHUP of a connection that dropped.

    An exception, as Ctrl-C raises, could meet a module half imported, whose lock nobody gives back then.
    """
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    heard = [number for number in numbers if before[number] not in (signal.SIG_IGN, None)]  # ignored under nohup
    was_terminal = [handle for handle in (1, 2) if os.isatty(handle)]
    ended = threading.Event()

    def end(_number: int, _frame: object) -> None:
        for handle in was_terminal:
            if not os.isatty(handle):  # what is written to a terminal that is gone would be an error more
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, handle)
                os.close(nowhere)
        ended.set()

    for number in heard:
        signal.signal(number, end)
    try:
        yield ended
    finally:
        for number in heard:
            signal.signal(number, before[number])


@contextlib.contextmanager
def _view(is_screen: bool, kernel: str, as_json: bool) -> Iterator[View]:
    if not is_screen:
        yield Lines(as_json)
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(), auto_refresh=False) as live:
        yield Screen(live, kernel)
