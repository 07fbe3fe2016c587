"""``ncu-assist bench``."""

from __future__ import annotations

from pathlib import Path

from commandline import Run
from requirements import require


def test_times_and_verdicts(run: Run, live_project: Path) -> None:
    answer = run("bench", "add_one", "v0", "v1", "--rounds", "20")
    assert answer.code == 0
    assert answer.out.startswith("add_one\nmeasured")
    assert "v1" in answer.out.splitlines()[2]
    assert "v0" in answer.out.splitlines()[2]
    assert "median" in answer.out


def test_json(run: Run, live_project: Path) -> None:
    answer = run("bench", "add_one", "--flush", "none", "--json")
    assert answer.code == 0
    assert answer.json["schema"] == "ncu-assist.bench/1"
    assert answer.json["verdicts"] == []
    assert [v["workloads"][0]["timing"]["samples"] for v in answer.json["versions"]] == [12, 12]


def test_wrong_names(run: Run, live_project: Path) -> None:
    assert "did you mean 'add_one'?" in run("bench", "ad_one").err
    assert "did you mean 'v0'?" in run("bench", "add_one", "v00").err
    assert "did you mean 'w0'?" in run("bench", "add_one", "--workload", "w00").err
    assert run("bench", "add_one", "--flush", "often").code == 2


def test_without_a_gpu(run: Run, recorded: Path) -> None:
    require("torch")
    answer = run("bench", "lightning_decode", "v0")
    assert (answer.code, answer.out) == (6, "")
    assert "GPU" in answer.err
    assert "try: " in answer.err
