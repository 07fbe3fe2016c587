"""Who measured a run, so that nothing of it is in what leaves the machine: the names that its report gives away."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ncu_assist.ncu.compressed import plain_file
from ncu_assist.ncu.session_texts import SessionTexts, session_texts
from ncu_assist.pipeline.bare_report import BareReport
from ncu_assist.record import Launch, Run
from ncu_assist.render.redact import Identity
from ncu_assist.render.redact.runs import redact_run
from ncu_assist.render.redact.text import redact_file
from ncu_assist.store import StoredRun


def said_of(run: Run | None, path: Path | None, folder: Path) -> SessionTexts:
    """Return what names machine and user: from the session of a report, and the command that the run records.

    A compressed report is unpacked into ``folder``.
    """
    found = session_texts(plain_file(path, folder)) if path else SessionTexts()
    command = [run.profile.command] if run and run.profile else []
    return replace(found, commands=(*found.commands, *command))


def identity_of(said: SessionTexts, launches: Iterable[Launch]) -> Identity:
    """Return the names of hosts and users in that, and in the names of launches."""
    texts = [text for one in launches for text in (one.kernel, one.signature, *one.ranges)]
    return Identity.of(said.hosts, said.commands, texts)


def identities_of(runs: Iterable[StoredRun]) -> Identity:
    """Return the names that several runs give away, to be taken out of a page on them."""
    hosts: list[str] = []
    users: list[str] = []
    for stored in runs:
        with tempfile.TemporaryDirectory(prefix="ncu-assist-") as folder:
            said = said_of(stored.run, stored.report_file(Path(folder)), Path(folder))
        identity = identity_of(said, stored.run.launches)
        hosts, users = [*hosts, *identity.hosts], [*users, *identity.users]
    return Identity(_longest_first(hosts), _longest_first(users))


def redacted_run(stored: StoredRun, identity: Identity) -> StoredRun:
    """Return a run with its record redacted; its files are as they were. A report's title is what it is called here."""
    run = redact_run(stored.run, identity)
    if isinstance(stored, BareReport):
        return replace(stored, run=run, title=redact_file(stored.title, identity))
    return replace(stored, run=run)


def _longest_first(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names), key=lambda name: (-len(name), name)))
