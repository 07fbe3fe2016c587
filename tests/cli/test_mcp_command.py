"""``ncu-assist mcp``: what it says where it cannot start. What it serves is tested in tests/agents."""

from __future__ import annotations

import sys

import pytest
from commandline import Run


def test_without_the_package_it_says_how_to_get_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "mcp" or name.startswith("ncu_assist.agen")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    answer = run("mcp")
    assert answer.code == 6
    assert "pip install 'ncu-assist[mcp]'" in answer.err


def test_a_folder_that_is_none(run: Run) -> None:
    answer = run("mcp", "--allow", "no/such/folder")
    assert answer.code == 2
    assert "does not exist" in answer.err
