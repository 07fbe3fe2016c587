"""Any other program under the fake ncu, and reports from anywhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_ncu import REPORT, install
from measured import Notes

from ncu_assist.errors import DamagedData, EnvironmentProblem, StageFailed, UsageProblem
from ncu_assist.ncu.command import ProfileOptions
from ncu_assist.pipeline.importing import RunNames, default_names, import_report
from ncu_assist.pipeline.ncu_stage import Capture, NcuStage
from ncu_assist.pipeline.programs import dry_run, profile_program
from ncu_assist.project import Project, Settings
from ncu_assist.store import Store
from ncu_assist.store.folders import is_folder_name

ROOT = Path(__file__).parents[2]
OPTIONS = ProfileOptions(nvtx_include=None, max_launches=20)
NAMES = RunNames("train", "v1")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("PATH", f"{install(tmp_path / 'bin').parent}:{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_NCU_ARGV", str(tmp_path / "argv"))
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


@pytest.mark.slow
def test_a_program_becomes_a_run(project: Project, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    door = project.root / "door"
    os.mkfifo(door)
    monkeypatch.setenv("FAKE_NCU_HOLD", str(door))

    def status(text: str) -> None:
        notes.lines.append(text)
        if door.exists() and "transpose_naive" in text:  # the log is read while it grows
            door.write_text("go on\n")
            door.unlink()

    monkeypatch.setattr(notes, "status", status)
    stored = profile_program(project, NAMES, ["./train", "--epochs", "3"], OPTIONS, notes)
    run = stored.run
    assert (run.kernel, run.version, run.source, run.source_sha256, run.verified) == ("train", "v1", "live", None, True)
    assert [one.kernel for one in run.launches] == ["transpose_naive", "transpose_shared", "transpose_naive"]
    assert run.profile is not None
    assert (run.profile.launches_logged, run.profile.command) == (3, "./train --epochs 3")
    assert run.device is not None
    assert run.device.name == "NVIDIA H200"
    assert set(stored.metrics()["launch"]) == {0, 1, 2}
    said = stored.findings()
    assert said is not None
    assert {one.launch for one in said.judged} == {None, 0, 1, 2}
    assert Store(project.reports).verify() == []
    assert not door.exists()
    (cost,) = notes.notes
    assert cost.startswith("at most 20 launches under ncu")


@pytest.mark.slow
def test_it_runs_in_the_folder_one_stands_in(project: Project, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    below = project.root / "scripts"
    below.mkdir()
    monkeypatch.chdir(below)
    monkeypatch.setenv("FAKE_NCU_RUN", "1")
    code = "import pathlib; pathlib.Path('here').touch()"
    stored = profile_program(project, NAMES, [sys.executable, "-c", code], OPTIONS, notes)
    assert (below / "here").exists()
    assert stored.folder.is_relative_to(project.reports)
    assert dry_run(project, ["./train"], OPTIONS).startswith(f"cd {below}\n")


@pytest.mark.slow
def test_a_program_may_be_silent_for_long(project: Project, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NCU_RUN", "1")
    quick = Project(project.root, Settings(version_timeout_s=1e-6))
    argv = [sys.executable, "-c", "pass"]
    assert profile_program(quick, NAMES, argv, OPTIONS, notes).run.launches


@pytest.mark.slow
def test_a_program_that_never_ends(project: Project, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NCU_MODE", "hang")
    with pytest.raises(StageFailed):
        profile_program(Project(project.root, Settings(profile_timeout_s=1.0)), NAMES, ["./train"], OPTIONS, notes)
    assert not project.reports.exists()


@pytest.mark.slow
def test_the_filter_and_the_limit_reach_ncu(project: Project, notes: Notes) -> None:
    options = ProfileOptions("basic", nvtx_include=None, kernel_filter="regex:gemm", max_launches=3)
    profile_program(project, NAMES, ["./train"], options, notes)
    argv = json.loads((project.root / "argv").read_text())["argv"]
    assert argv[argv.index("--kernel-name") + 1] == "regex:gemm"
    assert argv[argv.index("--launch-count") + 1] == "3"
    assert argv[argv.index("--set") + 1] == "basic"
    assert notes.notes == ["stopped after 3 launches; --max-launches N profiles more"]


@pytest.mark.parametrize("names", [RunNames("a/b", "v1"), RunNames("a", "..")])
def test_names_are_looked_at_before_anything_runs(project: Project, notes: Notes, names: RunNames) -> None:
    with pytest.raises(UsageProblem, match="cannot be the name"):
        profile_program(project, names, ["./train"], OPTIONS, notes)
    assert not (project.root / "argv").exists()


def test_a_section_set_that_does_not_exist(project: Project, notes: Notes) -> None:
    with pytest.raises(UsageProblem, match="no section set 'ful'"):
        profile_program(project, NAMES, ["./train"], ProfileOptions("ful", nvtx_include=None), notes)
    assert not (project.root / "argv").exists()


@pytest.mark.parametrize("mode", ["no-kernels", "application", "crash"])
def test_a_failure_leaves_nothing_in_the_archive(
    project: Project, notes: Notes, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("FAKE_NCU_MODE", mode)
    with pytest.raises(StageFailed):
        profile_program(project, NAMES, ["./train"], OPTIONS, notes)
    assert not project.reports.exists()


@pytest.mark.slow
def test_a_report_is_archived_as_unverified(tmp_path: Path) -> None:
    project = Project(tmp_path)
    stored = import_report(project, REPORT, RunNames("transpose", "v1"))
    assert (stored.run.source, stored.run.verified, stored.run.profile) == ("imported", False, None)
    assert stored.run.toolchain.ncu is not None
    assert set(stored.run.files) == {"code.json.zst", "findings.json", "metrics.parquet", "report.ncu-rep.zst"}
    assert Store(project.reports).verify() == []
    again = stored.report_bytes()
    assert again is not None
    assert again.startswith(b"NVR")


@pytest.mark.slow
def test_an_import_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = tmp_path / "large.ncu-rep"
    subprocess.run([sys.executable, ROOT / "benchmarks" / "large_report.py", REPORT, "300", large], check=True)
    said: list[str] = []
    import_report(Project(tmp_path), large, RunNames("transpose", "v1"), said.append)
    assert said[0] == "reading large.ncu-rep, 277 MB"
    assert re.match(r"reading large.ncu-rep, 277 MB: launch \d+ of 300 · [\d.]+ [MG]B/s", said[1])
    assert said[-1] == "packing large.ncu-rep and its 300 launches"


def test_reports_that_cannot_be_imported(tmp_path: Path) -> None:
    cut = tmp_path / "cut.ncu-rep.zst"
    cut.write_bytes(REPORT.read_bytes()[:-100])
    with pytest.raises(DamagedData) as told:
        import_report(Project(tmp_path), cut, NAMES)
    assert told.value.hint.startswith("get the file again")
    with pytest.raises(UsageProblem, match=r"there is no report \S*nothere.ncu-rep"):
        import_report(Project(tmp_path), tmp_path / "nothere.ncu-rep", NAMES)
    assert not (tmp_path / "reports").exists()


@pytest.mark.parametrize(
    ("file", "version"),
    [
        ("gemm_v2.ncu-rep", "gemm_v2"),
        ("gemm_2025.3.1.ncu-rep.zst", "gemm_2025.3.1"),
        ("gemm.ncu-repz", "gemm"),
        ("gemm.nsight-cuprof-report", "gemm"),
        ("my report (1).ncu-rep", "my_report__1_"),
        (".ncu-rep", "report"),
        ("größe.ncu-rep", "gr__e"),
        ("a" * 200 + ".ncu-rep", "a" * 100),
    ],
)
def test_names_of_a_report(file: str, version: str) -> None:
    names = default_names(Path("some.where") / file, None, None)
    assert names == RunNames("imported", version)
    assert is_folder_name(names.version)
    assert default_names(Path(file), "gemm", "v2") == RunNames("gemm", "v2")


@pytest.mark.slow
def test_what_a_failing_program_finished_is_kept(
    project: Project, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NCU_RUN", "1")
    with pytest.raises(StageFailed, match="error code"):
        profile_program(project, NAMES, [sys.executable, "-c", "import sys; sys.exit(3)"], OPTIONS, notes)
    kept = Store(project.reports).runs("train", "v1")[0]
    assert len(kept.run.launches) == 3
    assert kept.run.notes[0].startswith("incomplete: ")
    assert kept.reference in notes.notes[1]


@pytest.mark.slow
def test_repeats_before_one_that_the_machine_prevents_are_kept(
    project: Project, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NCU_RUN", "1")
    run, done = NcuStage.run, []

    def busy_at_the_second(stage: NcuStage, *how: Any) -> Capture:
        if done:
            raise EnvironmentProblem("another profiler took the counters")
        done.append(run(stage, *how))
        return done[0]

    monkeypatch.setattr(NcuStage, "run", busy_at_the_second)
    with pytest.raises(EnvironmentProblem, match="another profiler"):
        profile_program(project, NAMES, [sys.executable, "-c", ""], OPTIONS, notes, repeats=3)
    kept = Store(project.reports).runs("train", "v1")[0]
    assert len(kept.run.launches) == 3
    assert kept.run.notes[0] == "incomplete: another profiler took the counters"
