"""Where text goes: data to stdout, chatter and progress to stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from ncu_assist.render.escape import plain

if TYPE_CHECKING:
    from rich.status import Status

    from ncu_assist.store import Damage

QUIET_TERMINAL_STEP_S = 10.0  # without a terminal, a live line would be noise: one line in ten seconds at most


def write(text: str) -> None:
    """Write a result to stdout."""
    click.echo(text.rstrip("\n"))


def write_json(value: dict[str, Any]) -> None:
    """Write one JSON object to stdout. NaN and infinity are refused: what is absent is null."""
    click.echo(json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False))


class Progress:
    """Reports to stderr: ``note`` leaves a line, ``status`` replaces the live one."""

    def __init__(self, live: Status | None) -> None:
        self._live = live
        self._last = time.monotonic()

    def note(self, text: str) -> None:
        click.echo(plain(text), err=True)

    def status(self, text: str) -> None:
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(plain(text)))
        elif time.monotonic() - self._last > QUIET_TERMINAL_STEP_S:
            self._last = time.monotonic()
            self.note(text)


def note_damages(damages: Iterable[Damage]) -> None:
    """Write to stderr what of the archive was left out of a result, and how to look at all of it."""
    for damage in damages:
        click.echo(plain(f"left out: reports/{damage.path}: {damage.problem}; try: ncu-assist verify"), err=True)


@contextmanager
def progress() -> Iterator[Progress]:
    """Show progress on stderr while the block runs; a spinner with one live line where stderr is a terminal."""
    if not sys.stderr.isatty():
        yield Progress(None)
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as live:
        yield Progress(live)
