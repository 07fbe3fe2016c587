"""``ncu-assist tune``: the verdict first, a table of combinations, JSON, and what is said where nothing is to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commandline import Run, measure_here
from kernel_folder import write_kernel
from pipeline.measured import RIGHT, WORKLOADS
from requirements import require
from schemas import held

TURNS = """\
# tune: TURNS=100,20000
import torch

TURNS = 20000


def add_one(x, y):
    for _ in range(TURNS):
        torch.add(x, 1.0, out=y)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    require("torch")
    made = write_kernel(tmp_path, {"v0_naive.py": RIGHT, "v1_turns.py": TURNS}, WORKLOADS)
    measure_here(monkeypatch, tmp_path, rounds=40)  # of twelve, one that a busy machine held up would leave it unclear
    return made


@pytest.mark.slow
def test_the_verdict_then_every_combination(run: Run, folder: Path) -> None:
    answer = run("tune", "add_one", "v1")
    assert answer.code == 0
    said, table = answer.out.split("\n\n")[:2]
    assert said.splitlines()[:2] == ["add_one/v1 on w0", "fastest: TURNS=100"]
    assert re.search(r"it is \S+x faster than the file's values \(99 %", " ".join(said.split()))
    title, first, second = table.splitlines()[:3]
    assert title.split() == ["values", "median", "of", "the", "file's", "rounds"]
    assert first.startswith("TURNS=100 ")
    assert second.endswith("the file's values")
    assert answer.out.splitlines()[-1] == "next: the same command with --keep writes these values into the file"
    assert max(map(len, answer.out.splitlines())) <= 80
    assert "TURNS = 20000" in (folder / "v1_turns.py").read_text()


@pytest.mark.slow
def test_json_and_keep(run: Run, folder: Path) -> None:
    said = held(run("tune", "add_one", "v1", "--keep", "--json").json)
    assert said["winner"] == {"TURNS": 100}
    assert said["verdict"]["verdict"] == "faster"
    assert said["verdict"]["baseline"] == "v1 with TURNS=20000"  # the copy's names are nowhere else
    assert said["verdict"]["candidate"] == "v1 with TURNS=100"
    assert [one["values"] for one in said["combinations"]] == [{"TURNS": 100}, {"TURNS": 20_000}]
    assert said["kept"].endswith("v1_turns.py")
    assert "TURNS = 100\n" in (folder / "v1_turns.py").read_text()
    alone = run("tune", "add_one", "v1", "--values", "TURNS=100")
    assert alone.code == 0
    assert "only the file's values could be timed" in alone.out
    wrong = run("tune", "add_one", "v1", "--values", "ABSENT=1,2")
    assert (wrong.code, wrong.out) == (2, "")
    assert "no constant ABSENT" in wrong.err


def test_without_a_gpu_it_is_refused_before_anything_is_built(run: Run, recorded: Path) -> None:
    answer = run("tune", "lightning_decode", "v9", "--values", "ROW_GROUPS=0,4")
    assert (answer.code, answer.out) == (6, "")
    assert "build" not in answer.err
    assert not list(recorded.rglob("*.so"))
    assert not list(recorded.rglob("build/**/*.log"))
