"""What keeping an archive in order came to, or would: packed, pruned, merged; and what a query of it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ncu_assist.store import Damage
from ncu_assist.store.index import RunHead


@dataclass
class Packed:
    """``runs`` loose runs of ``files`` files went into ``packs`` packs, together with those of ``merged`` packs before.

    ``left`` stayed as they were, and why. Bytes are of files before, and of the packs.
    """

    runs: int = 0
    files: int = 0
    packs: int = 0
    merged: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    left: list[Damage] = field(default_factory=list)


@dataclass(frozen=True)
class PrunePlan:
    """The runs that go, each with the bytes of its files, and why each of the others is ``kept``, by reference."""

    going: tuple[tuple[RunHead, int], ...]
    kept: Mapping[str, str]


@dataclass
class Merged:
    """What was taken of another archive; ``same`` are runs that were here, ``conflicts`` what differs and stayed."""

    runs: int = 0
    same: int = 0
    baselines: int = 0
    drafts: int = 0
    conflicts: list[str] = field(default_factory=list)
    damaged: list[Damage] = field(default_factory=list)


@dataclass(frozen=True)
class QueryResult:
    """The rows of a query, a value a column; ``more``: there are more than were asked for."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool = False
