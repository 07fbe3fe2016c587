"""The fixtures of measured.py and an archive of gated.py, for every test here."""

from __future__ import annotations

from pathlib import Path

import pytest
from gated import Archive
from measured import job, notes

__all__ = ["archive", "job", "notes"]


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    """An empty archive of add_one, in whose folder the test runs."""
    made = Archive(tmp_path)
    monkeypatch.chdir(tmp_path)
    return made
