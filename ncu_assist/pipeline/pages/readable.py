"""An archive as its pages see it: without the runs whose files were changed, of no machine, and of nobody.

The names of who measured, which a report gives away, are found here to be taken out.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath

from ncu_assist.ncu.compressed import plain_file
from ncu_assist.ncu.report_file import SessionTexts, session_texts
from ncu_assist.pipeline.opened_reports import BareReport
from ncu_assist.record import Launch
from ncu_assist.render.redact import Identity, redact_file
from ncu_assist.render.redact.frames import redact_run
from ncu_assist.sources import header_comment
from ncu_assist.store import Damage, Store, StoredRun, machine_hash
from ncu_assist.store.index import RunHead, own_source

MOST_OF_A_COMMENT = 20_000  # bytes of a source that are looked at for the comment at its top


def said_of(stored: StoredRun | None, path: Path | None, folder: Path) -> SessionTexts:
    """Return what names machine and user: from the session of a report, and the command that the run records.

    A compressed report is unpacked into ``folder``. Of one that was dropped the run says it.
    """
    facts = stored.report_facts() if stored and path is None else None
    found = session_texts(plain_file(path, folder)) if path else facts.said if facts else SessionTexts()
    run = stored.run if stored else None
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
            said = said_of(stored, stored.report_file(Path(folder)), Path(folder))
        identity = identity_of(said, stored.run.launches)
        hosts, users = [*hosts, *identity.hosts], [*users, *identity.users]
    return Identity(longest_first(hosts), longest_first(users))


def redacted_run(stored: StoredRun, identity: Identity) -> StoredRun:
    """Return a run with its record redacted; its files are as they were. A report's title is what it is called here."""
    run = redact_run(stored.run, identity)
    if isinstance(stored, BareReport):
        return replace(stored, run=run, title=redact_file(stored.title, identity))
    return replace(stored, run=run)


def longest_first(names: Iterable[str]) -> tuple[str, ...]:
    """Return names in the order in which they are redacted: one may be part of another."""
    return tuple(sorted(set(names), key=lambda name: (-len(name), name)))


class PageStore(Store):
    """An archive in which what is live, and so goes before recorded runs, does not depend on this machine."""

    def listed(self, kernel: str | None = None, version: str | None = None) -> tuple[list[RunHead], list[Damage]]:
        """Return what can be read, newest first, as ``of_no_machine`` does, and what cannot."""
        heads, damages = super().listed(kernel, version)
        here = machine_hash()
        return [one._replace(machine=here) if one.source == "live" else one for one in heads], damages

    def opened(self, head: RunHead) -> StoredRun:
        """Return the run of an entry as ``of_no_machine`` does."""
        return of_no_machine(super().opened(head))


def of_no_machine(stored: StoredRun) -> StoredRun:
    """Return a run that counts as measured here if it was measured live anywhere.

    A page goes elsewhere: what it says of a run must not depend on where it was written.
    """
    if stored.run.source != "live":
        return stored
    return replace(stored, run=replace(stored.run, machine=machine_hash()))


def own_comment(stored: StoredRun) -> str:
    """Return the comment at the top of a version as it was archived; empty for a foreign program."""
    name = own_source(stored.run)
    return top_comment(stored.read(name), PurePosixPath(name).suffix) if name else ""


def top_comment(source: bytes, suffix: str) -> str:
    """Return the comment at the top of a source, as far as it stands near the top."""
    return header_comment(source[:MOST_OF_A_COMMENT], suffix)
