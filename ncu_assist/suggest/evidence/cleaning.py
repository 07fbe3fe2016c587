"""Text from kernels and reports before it may leave the machine: without what names a machine or a person."""

from __future__ import annotations

import getpass
import platform
from collections.abc import Iterable
from dataclasses import dataclass

from ncu_assist.record import Run
from ncu_assist.render.escape import one_line, plain
from ncu_assist.render.redact import NOBODY, Identity, redact_text

LONGEST = 600  # characters of a text that stands in one line


@dataclass(frozen=True)
class Cleaner:
    """Redacts texts by the names that it knows."""

    identity: Identity = NOBODY

    def line(self, text: str, limit: int = LONGEST) -> str:
        """Return a text redacted, on one line, cut after ``limit`` characters."""
        return one_line(redact_text(text, self.identity), limit)

    def code(self, text: str) -> tuple[str, ...]:
        """Return the lines of a file redacted one by one, so that their numbers stay; numbered as compilers do."""
        lines = text.removesuffix("\n").split("\n")
        return tuple(plain(redact_text(line.removesuffix("\r"), self.identity)) for line in lines)


def this_machine() -> Identity:
    """Return the names of this host and this user, to be redacted wherever they stand."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user id without a name, a system without a list of them
        user = ""
    return Identity.of([platform.node()], [f"USER={user}"] if user else [])


def cleaner(run: Run, sources: Iterable[str], identity: Identity) -> Cleaner:
    """Return what redacts the texts of a run: names of ``identity`` and those that its command and sources give."""
    found = Identity.of((), [run.profile.command] if run.profile else [], sources)
    hosts = dict.fromkeys((*identity.hosts, *found.hosts))
    users = dict.fromkeys((*identity.users, *found.users))
    return Cleaner(Identity(tuple(sorted(hosts, key=_longest)), tuple(sorted(users, key=_longest))))


def _longest(name: str) -> tuple[int, str]:
    return -len(name), name
