"""``ncu-assist check --sanitize``: versions under a compute-sanitizer that says what the real one said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from commandline import Run, measure_here
from fakes.fake_sanitizer import install
from kernel_folder import write_kernel
from pipeline.measured import RIGHT, WORKLOADS
from requirements import require

RACE = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at add_one(const float *, float *, long)+0x90 in v1_other.cu:12
=========     and Read access at add_one(const float *, float *, long)+0x110 in v1_other.cu:15 [255 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two right versions, measured on the CPU; the fake is the first on PATH and finds a race in the second."""
    require("torch")
    write_kernel(tmp_path, {"v0_right.py": RIGHT, "v1_other.py": RIGHT}, WORKLOADS)
    monkeypatch.setenv("PATH", f"{install(tmp_path / 'bin').parent}:{os.environ['PATH']}")
    (tmp_path / "bin" / "v1_other-racecheck.txt").write_text(RACE)
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
    sentence = "race on shared memory at v1_other.cu:12 and v1_other.cu:15: write and read (in add_one, 255 times)"
    assert (found["id"], found["sentence"]) == ("race", sentence)
    assert other["failure"] == f"racecheck: {sentence}"
    assert f"compute-sanitizer, racecheck: {sentence}" in other["notes"]
    (log,) = project.glob(".ncu-assist/measure/*/sanitizer/v1_other/racecheck.txt")
    assert RACE.splitlines()[1] in log.read_text()
    assert "v0_right: memcheck, racecheck: nothing found on w0, w1" in answer.err
