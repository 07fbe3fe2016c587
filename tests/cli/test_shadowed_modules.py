"""Whose folder has a random.py or a profile.py, as people who write kernels have, is served as anywhere else."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import SMALL_REPORT, Run, measure_here, run
from kernel_folder import write_kernel
from pipeline.measured import RIGHT, WORKLOADS
from requirements import require

from ncu_assist.executors import EXECUTORS
from ncu_assist.executors.local import Local

__all__ = ["run"]
# Modules that our children import, and torch: a program that finds the user's in their place ends with this.
NAMES = ("ast", "cProfile", "contextlib", "json", "ncu_report", "profile", "random", "re", "statistics", "tempfile")


def shadow(folder: Path) -> None:
    for name in NAMES:
        (folder / f"{name}.py").write_text("raise SystemExit('this is not the module that you look for')\n")


@pytest.mark.parametrize("words", [["show", "--lines"], ["report", "-o", "-"], ["export", "--table", "instances"]])
def test_a_report_is_read_in_any_folder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shadow(tmp_path)
    answer = run(words[0], str(SMALL_REPORT), *words[1:])
    assert answer.code == 0, answer.err


@pytest.mark.slow
def test_a_kernel_is_measured_in_any_folder_and_imports_from_its_project(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("torch")
    write_kernel(tmp_path, {"v0_right.py": f"import helpers_of_mine\n{RIGHT}"}, WORKLOADS)
    (tmp_path / "helpers_of_mine.py").write_text("")
    shadow(tmp_path)
    measure_here(monkeypatch, tmp_path)
    monkeypatch.setitem(EXECUTORS, "local", Local())
    answer = run("check", "add_one")
    assert answer.code == 0, answer.err
