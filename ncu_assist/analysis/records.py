"""The records of the rows below that pages name as they are: plain data, and of a stored run only what it says."""

from __future__ import annotations

from collections.abc import Container
from typing import Protocol

from ncu_assist.frame import Combined, Coverage
from ncu_assist.frame.combined import PER_LAUNCH
from ncu_assist.record import Run
from ncu_assist.store import Damage
from ncu_assist.store.drafts import REFUSAL, Draft, DraftRecord, ModelCost, Proof, Score
from ncu_assist.store.findings import Findings, StoredFinding

__all__ = [
    "PER_LAUNCH",
    "REFUSAL",
    "ArchivedDraft",
    "ArchivedRun",
    "Combined",
    "Coverage",
    "Damage",
    "Draft",
    "DraftRecord",
    "Findings",
    "ModelCost",
    "Proof",
    "Score",
    "StoredFinding",
    "TracedRun",
]


class ArchivedRun(Protocol):
    """A run in the archive as a page sees it: its record and its name, and no way to read its files."""

    @property
    def run(self) -> Run: ...
    @property
    def reference(self) -> str: ...


class TracedFacts(Protocol):
    """What tells from which run something comes."""

    @property
    def digest(self) -> str: ...
    @property
    def created(self) -> str: ...


class TracedRun(Protocol):
    """A run in the archive, or what the index knows of it."""

    @property
    def run(self) -> TracedFacts: ...
    @property
    def reference(self) -> str: ...


class ArchivedDraft(Protocol):
    """A draft in the archive as a page sees it, with the names of its files."""

    @property
    def draft(self) -> Draft: ...
    @property
    def reference(self) -> str: ...
    @property
    def files(self) -> Container[str]: ...
