"""``ncu-assist check --sanitize``: versions under a compute-sanitizer that says what the real one said."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from commandline import Run, measure_here
from fakes.fake_sanitizer import install
from kernel_folder import write_kernel
from pipeline.measured import RIGHT, WORKLOADS
from requirements import require

SAID = Path(__file__).parents[1] / "data" / "sanitizer"
RACE = "v1_race-racecheck.txt", "v1_race-racecheck-hazard.txt"
PLACE = "race on shared memory at v1_race.cu:10 and v1_race.cu:12: write and read (in planted_race, "


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two right versions, measured on the CPU; the fake is the first on PATH and finds a race in the second."""
    require("torch")
    write_kernel(tmp_path, {"v0_right.py": RIGHT, "v1_race.py": RIGHT}, WORKLOADS)
    monkeypatch.setenv("PATH", f"{install(tmp_path / 'bin').parent}:{os.environ['PATH']}")
    for name in RACE:
        shutil.copy(SAID / name, tmp_path / "bin" / name)
    measure_here(monkeypatch, tmp_path)
    return tmp_path


@pytest.mark.slow
def test_what_a_tool_finds_fails_the_version_with_line_and_kernel(run: Run, project: Path) -> None:
    answer = run("check", "add_one", "--json", "--sanitize", "memcheck,racecheck")
    assert answer.code == 5
    right, other = answer.json["versions"]
    assert (right["failure"], [one["tool"] for one in right["sanitizer"]]) == (None, ["memcheck", "racecheck"])
    assert right["sanitizer"][0]["workloads"] == ["w0", "w1"]
    (found,) = other["sanitizer"][1]["findings"]
    sentence = f"{PLACE}thread (224, 0, 0), block (4, 0, 0), 33,660 times)"
    assert (found["id"], found["sentence"]) == ("race", sentence)
    assert other["failure"] == f"racecheck: {sentence}"
    assert f"compute-sanitizer, racecheck: {sentence}" in other["notes"]
    (log,) = project.glob(".ncu-assist/measure/*/sanitizer/v1_race/racecheck.txt")
    assert (SAID / RACE[0]).read_text().splitlines()[1] in log.read_text()
    assert "v0_right: memcheck, racecheck: nothing found on w0, w1" in answer.err
