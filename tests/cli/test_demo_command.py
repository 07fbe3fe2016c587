"""``ncu-assist demo``: four commands answered from recorded runs, in a folder of their own."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from commandline import Run, files

from ncu_assist.pipeline import new_kernel

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_gpu: None) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_history_diff_page_and_prompt_are_shown_in_an_empty_folder(run: Run, folder: Path) -> None:
    answer = run("demo")
    assert answer.code == 0, answer.err
    asked = [line for line in answer.out.splitlines() if line.startswith("$ ncu-assist ")]
    assert [line.split()[2] for line in asked] == ["history", "diff", "report", "suggest"]
    assert "recorded on NVIDIA H200" in answer.out
    assert answer.out.endswith("in that folder:\n  ncu-assist profile softmax\n")
    assert "v6 is 1.32x faster than v3 on c4k" in answer.out
    made = files(folder / "ncu-assist-demo")
    assert {"reports/softmax/index.html", "prompt.md"} <= set(made)
    assert "softmax" in (folder / "ncu-assist-demo" / "prompt.md").read_text()
    assert max(map(len, answer.out.splitlines())) <= 80


def test_json_names_what_can_be_typed(run: Run, folder: Path) -> None:
    answer = run("demo", "here", "--json").json
    assert (answer["schema"], answer["files"]) == ("ncu-assist.demo/1", ["here"])
    assert answer["left"][0] == "ncu-assist history softmax"
    assert not [name for name in files(folder) if name.endswith(".html")]


def test_only_who_asks_for_it_has_it_measured(run: Run, folder: Path) -> None:
    assert run("demo", "here", "--measure", "--json").json["left"][:2] == [
        "ncu-assist profile softmax",
        "ncu-assist history softmax",
    ]


def test_nothing_is_overwritten(run: Run, folder: Path) -> None:
    (folder / "here").mkdir()
    answer = run("demo", "here")
    assert (answer.code, answer.out) == (2, "")
    assert "here already exists" in answer.err
    assert "try: ncu-assist demo here_2" in answer.err


def test_a_folder_that_cannot_be_written(run: Run, folder: Path) -> None:
    (folder / "file").write_text("")
    answer = run("demo", "file/here")
    assert (answer.code, answer.out) == (6, "")
    assert "cannot write file/here" in answer.err


def test_a_package_without_a_demo_says_so(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_kernel, "DEMO_KERNEL", "nowhere")
    answer = run("demo")
    assert (answer.code, answer.out) == (6, "")
    assert "this package was built without the demo" in answer.err
    assert not files(folder)


@pytest.mark.slow
def test_the_wheel_carries_it_and_no_page(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    made = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(made, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size <= 6_000_000
    names = zipfile.ZipFile(wheel).namelist()
    inside = [name for name in names if name.startswith("ncu_assist/demo/")]
    assert {name.split("/")[2] for name in inside} == {"kernels", "reports"}
    assert not [name for name in inside if name.endswith((".html", ".pyc"))]
    assert sum(name.endswith("/run.json") for name in inside) == 10
