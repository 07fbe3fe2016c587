"""``ncu-assist check``."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Run, measure_here
from kernel_folder import write_kernel
from pipeline.measured import RIGHT, WORKLOADS, WRONG
from requirements import require


def test_right_and_wrong_versions(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("torch")
    write_kernel(tmp_path, {"v0_right.py": RIGHT, "v1_wrong.py": WRONG}, WORKLOADS)
    measure_here(monkeypatch, tmp_path)
    answer = run("check", "add_one", "--workload", "w1", "--json")
    assert answer.code == 5
    assert answer.json["schema"] == "ncu-assist.check/1"
    checks = {v["version"]: v["workloads"][0]["check"] for v in answer.json["versions"]}
    assert checks["v0_right"]["passed"] is True
    assert checks["v1_wrong"]["passed"] is False
    assert "1000 of 1000 elements are wrong" in checks["v1_wrong"]["reason"]
    only = run("check", "add_one", "v0")
    assert only.code == 0
    assert "passed" in only.out


def test_a_version_that_does_not_compile(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("nvcc", "ninja")
    write_kernel(tmp_path, {"v1_typo.cu": 'extern "C" int add_one() { return nonsense; }'})
    measure_here(monkeypatch, tmp_path)
    answer = run("check", "add_one")
    assert answer.code == 5
    assert '"nonsense" is undefined' in answer.err
    assert "v1_typo: failed: build: it does not compile" in answer.out


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["ad_one"], "did you mean 'add_one'?"),
        (["add_one", "v5"], "did you mean 'v0'?"),
        (["add_one", "--workload", "al"], "did you mean 'all'?"),
    ],
)
def test_wrong_names(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], hint: str) -> None:
    write_kernel(tmp_path)
    monkeypatch.chdir(tmp_path)
    answer = run("check", *words)
    assert (answer.code, answer.out) == (2, "")
    assert hint in answer.err


def test_without_a_gpu(run: Run, recorded: Path) -> None:
    require("torch")
    answer = run("check", "lightning_decode", "v0")
    assert (answer.code, answer.out) == (6, "")
    assert "try: " in answer.err
