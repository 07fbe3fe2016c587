"""Which version builds on which in the archive: as its source says now where that was measured, else as archived."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path, PurePosixPath

from ncu_assist.pipeline.pages.readable import own_source
from ncu_assist.project import Project
from ncu_assist.sources import HEADER_COMMENT, header_comment, source_sha256
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.matching import live_first
from ncu_assist.versions import Descent, Lineage, descent

MOST_OF_A_COMMENT = 20_000  # bytes of a source that are looked at for the comment at its top


def lineage_of(store: Store, kernel: str, versions: Sequence[str]) -> Lineage:
    """Return what builds on what of versions of the archive, in this order; sources are read when they are asked for.

    Kernels lie beside the archive. Raises DamagedData, once asked, for an archived source that was changed.
    """
    folder = Project(store.reports.parent).kernels / kernel

    def said(version: str) -> Descent:
        newest = next(iter(live_first(store.runs(kernel, version))), None)
        return _descent(newest, folder) if newest else Descent()

    return Lineage(versions, cache(said))


def _descent(stored: StoredRun, folder: Path) -> Descent:
    name = own_source(stored)
    if name is None:
        return Descent()  # a foreign program
    suffix = PurePosixPath(name).suffix
    now = folder / PurePosixPath(name).name
    if suffix in HEADER_COMMENT and now.is_file() and source_sha256(now) == stored.run.source_sha256:
        return descent(header_comment(now.read_bytes(), suffix))
    return descent(header_comment(stored.read(name)[:MOST_OF_A_COMMENT], suffix))
