"""Machines for proofs."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.commandline import without_ncu
from torch_loaded import nursery as nursery
from torch_loaded import torch_loaded as torch_loaded


@pytest.fixture
def no_ncu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No ncu here."""
    without_ncu(monkeypatch, tmp_path / "nothing")
