"""Cheats that counters show, of the recorded proof: parent and draft as they were, and a draft without launches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ncu_assist.store import Store, StoredRun
from ncu_assist.store.drafts import RUNS, DraftArchive
from ncu_assist.store.reading import METRICS
from ncu_assist.suggest.proof.judging import counted_cheats

WORKLOAD = "b64_d96"


@pytest.fixture
def pair(repository: Path) -> tuple[StoredRun, StoredRun]:
    """Parent and draft of the recorded proof that was kept."""
    kept = next(one for one in DraftArchive(repository / "reports").drafts() if one.draft.fate == "kept")
    store = Store(kept.folder / RUNS)
    (parent,) = store.runs("lightning_decode", "v6_coalesced_store")
    (draft,) = store.runs("lightning_decode", "v11_coalesced_load")
    return parent, draft


def test_an_honest_draft_shows_none(pair: tuple[StoredRun, StoredRun], repository: Path) -> None:
    assert counted_cheats(pair, pair[0], WORKLOAD, False, repository / "reports") == ()


def test_a_draft_that_launched_nothing_is_told(pair: tuple[StoredRun, StoredRun], repository: Path) -> None:
    parent, draft = pair
    files = {name: fact for name, fact in draft.run.files.items() if name != METRICS}
    silent = StoredRun(replace(draft.run, launches=(), profile=None, files=files), draft.folder)
    found = counted_cheats((parent, silent), parent, WORKLOAD, False, repository / "reports")
    assert [id for id, _ in found] == ["no-kernel"]
