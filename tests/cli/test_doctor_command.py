"""``ncu-assist doctor``."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Run, without_ncu

NEEDED = ("driver", "GPU", "ncu", "counters", "nvcc", "torch", "ninja")


def test_each_lack_has_one_fix(run: Run, no_gpu: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without_ncu(monkeypatch, tmp_path)
    answer = run("doctor")
    assert answer.code == 6
    assert "✗ ncu" in answer.out
    assert "✗ this machine cannot measure; show, diff and recorded runs work without" in answer.out
    assert answer.out.count("try: ") == answer.out.count("✗ ") - 1 + answer.out.count("\n- ")
    assert max(map(len, answer.out.splitlines())) <= 80


def test_json(run: Run, no_gpu: None) -> None:
    answer = run("doctor", "--json").json
    assert answer["schema"] == "ncu-assist.doctor/1"
    assert answer["can_measure"] is False
    names = [c["name"] for c in answer["conditions"]]
    assert set(NEEDED) <= set(names)
    assert all(c["fix"] for c in answer["conditions"] if c["state"] == "missing")
