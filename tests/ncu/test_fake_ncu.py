"""The fake ncu behaves as the real one: the tests of the pipeline lean on it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ncu_assist import process
from ncu_assist.errors import DamagedData
from ncu_assist.ncu.command import ProfileOptions, profile_argv
from ncu_assist.ncu.failures import read_log
from ncu_assist.ncu.report import read_report


def profile(ncu: Path, folder: Path, timeout_s: float | None = None, **env: str) -> process.Completed:
    argv = profile_argv(
        ncu, ProfileOptions(), folder / "r.ncu-rep", folder / "ncu.log", ["sh", "-c", "echo ran; exit 4"]
    )
    return process.run(argv, env={**os.environ, **env}, timeout_s=timeout_s)


def test_a_run_gives_a_report_that_matches_its_log(fake_ncu: Path, tmp_path: Path) -> None:
    done = profile(fake_ncu, tmp_path, FAKE_NCU_ARGV=str(tmp_path / "argv"), TMPDIR=str(tmp_path))
    assert done.exit_code == 0
    logged = read_log((tmp_path / "ncu.log").read_text()).profiled
    report = read_report(tmp_path / "r.ncu-rep", expected_launches=len(logged))
    assert [launch.kernel for launch in report.records] == [launch.name for launch in logged]
    recorded = json.loads((tmp_path / "argv").read_text())
    assert recorded["TMPDIR"] == str(tmp_path)
    assert recorded["argv"][:2] == ["--config-file", "off"]


def test_a_truncated_report_is_damaged(fake_ncu: Path, tmp_path: Path) -> None:
    assert profile(fake_ncu, tmp_path, FAKE_NCU_MODE="truncated").exit_code == 0
    with pytest.raises(DamagedData):
        read_report(tmp_path / "r.ncu-rep")


def test_a_failure_leaves_its_words_and_no_report(fake_ncu: Path, tmp_path: Path) -> None:
    assert profile(fake_ncu, tmp_path, FAKE_NCU_MODE="permission").exit_code == 1
    assert "ERR_NVGPUCTRPERM" in (tmp_path / "ncu.log").read_text()
    assert not (tmp_path / "r.ncu-rep").exists()
    assert profile(fake_ncu, tmp_path, FAKE_NCU_MODE="permission", FAKE_NCU_FAIL_IF="no such text").exit_code == 0


def test_crash_hang_and_a_failing_application(fake_ncu: Path, tmp_path: Path) -> None:
    assert profile(fake_ncu, tmp_path, FAKE_NCU_MODE="crash").exit_code == -11
    assert len(read_log((tmp_path / "ncu.log").read_text()).unfinished) == 1
    assert profile(fake_ncu, tmp_path, timeout_s=0.5, FAKE_NCU_MODE="hang").timed_out
    done = profile(fake_ncu, tmp_path, FAKE_NCU_RUN="1")
    assert (done.exit_code, done.stdout) == (4, "ran\n")
