"""What stands around the content of every page: title, crumbs, sections, and the stored runs it was made of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from ncu_assist import __version__
from ncu_assist.analysis.records import ArchivedRun

DIGITS_SHOWN = 12  # of a hash: enough to tell any two runs of an archive apart


@dataclass(frozen=True)
class Link:
    """A text that leads somewhere; an empty or unsafe ``href`` makes it text only."""

    text: str
    href: str = ""


@dataclass(frozen=True)
class Origin:
    """A stored run that the page shows; ``digest`` is that of its record, which holds the hashes of its files."""

    reference: str
    digest: str
    created: str
    href: str = ""

    @property
    def short(self) -> str:
        return self.digest[:DIGITS_SHOWN]


@dataclass(frozen=True)
class Provenance:
    """What a page was made of and by what; ``digest`` is over the digests of ``count`` runs, listed or not."""

    origins: tuple[Origin, ...]
    count: int
    digest: str
    tool: str = __version__


@dataclass(frozen=True)
class Head:
    """The frame of a page. ``sections`` link to ids in it (``#times``) and make up its navigation.

    ``recorded`` is a sentence for the banner of what was not measured on this machine; empty for none.
    """

    title: str
    subtitle: str
    crumbs: tuple[Link, ...]
    sections: tuple[Link, ...]
    provenance: Provenance
    recorded: str = ""
    warnings: tuple[str, ...] = ()


def provenance(shown: Iterable[ArchivedRun], of: Iterable[ArchivedRun] | None = None) -> Provenance:
    """Return the provenance of a page that shows some runs, each listed once, in the order of their references.

    ``of`` are all runs that the page depends on, where those are more than can be listed.
    """
    named = {stored.reference: stored for stored in shown}
    origins = tuple(Origin(r, s.run.digest, s.run.created) for r, s in sorted(named.items()))
    every = sorted({stored.run.digest for stored in (named.values() if of is None else of)})
    return Provenance(origins, len(every), hashlib.sha256("\n".join(every).encode()).hexdigest())
