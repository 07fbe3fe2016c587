"""The run under compute-sanitizer: what it says is counted, and a run that came to no end is no clean one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import sanitized  # noqa: E402

from ncu_assist.backends.base import BuildOutcome  # noqa: E402
from ncu_assist.spec_file import read_kernel  # noqa: E402

CLEAN = "========= COMPUTE-SANITIZER\ncalled small\n========= ERROR SUMMARY: 0 errors\n"
RACE = (
    "========= Error: Race reported between Write access at f(float*)+0x40 and Read access at f(float*)+0x90\n"
    "called small\n========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)\n"
)


@pytest.mark.parametrize(("said", "count"), [(CLEAN, 0), (RACE, 2), ("called small\n", None)])
def test_the_summary_is_counted(said: str, count: int | None) -> None:
    assert sanitized.findings_of(said) == count


@pytest.mark.parametrize(
    ("said", "code", "line"),
    [
        (CLEAN, 0, "0 findings"),
        (RACE, 3, "2 findings"),
        ("========= ERROR SUMMARY: 0 errors\n", 5, "no result"),  # it called nothing
        ("called small\n", 5, "no result"),
    ],
)
def test_what_comes_of_a_run(
    said: str, code: int, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a compute-sanitizer that only says something, and versions that are built already."""
    tool = tmp_path / "compute-sanitizer"
    tool.write_text(f"#!/bin/sh\ncat <<'END'\n{said}END\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.chdir(ROOT)
    last = [v for v in read_kernel(ROOT / "kernels" / "add_relu").versions if v.path.suffix == ".cu"][-1]
    built = BuildOutcome(last.name, tmp_path / "last.so", "", True, 0.0)
    monkeypatch.setattr(sanitized, "build_versions", lambda kernel, versions, work: {v.name: built for v in versions})
    assert sanitized.main("add_relu", ["memcheck"], ["small"], last.short, str(tmp_path / "logs")) == code
    assert line in capsys.readouterr().out
    assert [path.read_text() for path in (tmp_path / "logs").iterdir()] == [said]
